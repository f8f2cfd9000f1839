"""Files made to hurt: bounded time, bounded values, a finding instead of a crash."""

from __future__ import annotations

import gc
import sys
import time

import pytest
from tree_invariants import check, walk

from dsec_cli.source import builder, plain, yaml
from dsec_cli.source.resolve import follow, plain_value
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Alias, Mapping, Node, Sequence, Tree
from dsec_cli.source.yaml import parse

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
MERGE_BOMB = "m0: &m0 {k0: 1}\n" + "".join(
    f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}], k{n}: 1}}\n" for n in range(1, 12)
)
CHAIN = "c0: &c0 [x]\n" + "".join(f"c{n}: &c{n} [*c{n - 1}]\n" for n in range(1, 2000))

FILES: dict[str, tuple[bytes, set[str]]] = {
    "empty": (b"", set()),
    "only a mark": (b"\xef\xbb\xbf", set()),
    "only a utf-16 mark": (b"\xff\xfe", set()),
    "utf-16": ("a: 中\n".encode("utf-16"), set()),
    "utf-16 without mark": ("a: b\n".encode("utf-16-le"), {"DS002"}),
    "odd utf-16": (b"\xff\xfea\0:\0b", {"DS001"}),
    "invalid utf-8": (b"a: \xc3\x28\nb: 1\n", {"DS001"}),
    "utf-8 surrogate": (b"a: \xed\xa0\x80\n", {"DS001"}),
    "latin-1": ("a: café\n".encode("latin-1"), {"DS001"}),
    "nul": (b"a: 1\nb: \0\n", {"DS002"}),
    "all nul": (b"\0" * 5000, {"DS002"}),
    "c1": ("a: '\x80\x9f'\n".encode(), {"DS002"}),
    "delete": (b"a: \x7f\n", {"DS002"}),
    "line separators": ("a: 1 # \u2028\nb: '\u2029\x85'\n".encode(), {"DS005"}),
    "alias bomb": (BOMB.encode(), {"DS010"}),
    "merge bomb": (MERGE_BOMB.encode(), {"DS004", "DS010"}),
    "alias chain": (CHAIN.encode(), {"DS010"}),
    "recursive alias": (b"&a [*a, {b: *a}]\n", {"DS008"}),
    "recursive merge": (b"a: &a {<<: *a, b: 1}\n", {"DS008"}),
    "recursive key": (b"&a {*a : 1}\n", {"DS008"}),
    "deep flow": (b"[" * 5000 + b"]" * 5000, {"DS010"}),
    "deep flow, open": (b"{a: " * 5000, {"DS010"}),
    "deep templates": (b"{{" * 5000, {"DS010"}),
    "deep block": ("".join(f"{' ' * n}k:\n" for n in range(1500)).encode(), {"DS010"}),
    "deep list": (b"- " * 3000, {"DS010"}),
    "long line": (b"a: " + b"x" * 2_000_000, set()),
    "long quoted line": (b'a: "' + b"x" * 2_000_000 + b'"', set()),
    "long key": (b"k" * 5000 + b": 1\n", {"DS002"}),
    "many comments": (b"# x\n" * 50_000, set()),
    "many documents": (b"---\n" * 20_000, set()),
    "many entries": ("".join(f"k{n}: {n}\n" for n in range(20_000)).encode(), set()),
    "many duplicates": (b"k: 1\n" * 2000, {"DS003"}),
    "many odd characters": ("a: \u200b\u2028\n" * 2000).encode()
    and (("# \u2028\n" * 20_000).encode(), {"DS005"}),
    "huge integer": (b"a: " + b"9" * 6000, set()),
    "huge exponent": (b"a: 1e999999999\n", set()),
    "odd keys": (b"? [a, b]\n: 1\n? {c: d}\n: 2\n~: 3\ntrue: 4\n1.5: 5\n", set()),
    "custom tags": (b"a: !x 1\nb: !<tag:e,2000:y> {c: d}\n", set()),
    "python tags": (b"a: !!python/object/apply:os.system [id]\n", set()),
    "dates": (b"a: 2024-99-99\nb: 99:99:99\n", set()),
    "jinja": (b"{% for x in y %}\n- {{ x }}\n{% endfor %}\n", {"DS009"}),
    "every line broken": ("".join(f"k{n}: }}\n" for n in range(3000)).encode(), {"DS002"}),
    "quotes": ("".join(f"k{n}: \"'\n" for n in range(500)).encode(), {"DS002"}),
    "brackets": (b"]}" * 2000, {"DS002"}),
    "tabs": (b"\ta: 1\n" * 2000, {"DS002", "DS003"}),
    "binary": (bytes(range(256)) * 20, {"DS001", "DS002"}),
    "elf": (b"\x7fELF\x02\x01\x01" + bytes(64), {"DS002"}),
    "json": (b'{"a": [1, 2, {"b": null}], "c": "\\u00e9"}', set()),
}


@pytest.mark.parametrize("name", FILES)
def test_hostile_files(name: str) -> None:
    data, codes = FILES[name]
    began = time.process_time()
    source = SourceText.from_bytes(name, data)
    tree = parse(source)
    took = time.process_time() - began
    check(source, tree)
    found = {problem.code for problem in tree.problems}
    assert codes <= found
    assert found <= codes | {"DS005"} or name in ("binary", "merge bomb")
    # Sixty times what a loaded machine needs: this catches quadratic work, nothing finer.
    assert took < 20


def _size(tree: Tree) -> tuple[int, int]:
    """Nodes met and depth reached by a walk that follows aliases."""
    nodes = deepest = 0
    stack: list[tuple[Node | None, int]] = [(document.root, 0) for document in tree.documents]
    while stack:
        node, depth = stack.pop()
        nodes += 1
        deepest = max(deepest, depth)
        node = follow(node)
        if isinstance(node, Sequence):
            stack.extend((item, depth + 1) for item in node.items)
        elif isinstance(node, Mapping):
            stack.extend((part, depth + 1) for entry in node.entries for part in entry)
    return nodes, deepest


@pytest.mark.parametrize("text", [BOMB, MERGE_BOMB, CHAIN, "[" * 5000])
def test_following_aliases_stays_within_the_budget(text: str) -> None:
    nodes, deepest = _size(parse(SourceText.from_bytes("a", text.encode())))
    assert nodes <= builder.MAX_NODES
    assert deepest <= builder.MAX_DEPTH


def test_an_alias_over_the_budget_is_unknown_and_told_once() -> None:
    tree = parse(SourceText.from_bytes("a", BOMB.encode()))
    assert [problem.code for problem in tree.problems] == ["DS010"]
    root = tree.documents[0].root
    assert root is not None
    aliases = [node for node, _ in walk(root) if isinstance(node, Alias)]
    assert any(alias.target is None for alias in aliases)
    assert aliases[0].target is not None


def test_too_many_nodes_end_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "MAX_NODES", 100)
    monkeypatch.setattr(plain, "MAX_NODES", 100)
    source = SourceText.from_bytes("a", ("a: [" + "x, " * 200 + "]\n").encode())
    tree = parse(source)
    check(source, tree)
    assert [problem.code for problem in tree.problems] == ["DS010"]
    assert tree.documents[0].gaps[-1].end == len(source.text)
    value = plain_value(tree.documents[0].root)
    assert isinstance(value, dict)
    assert value["a"] == ["x"] * 97


def test_too_large_files_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "MAX_BYTES", 10)
    tree = parse(SourceText.from_bytes("a", b"a: 1234567890\n"))
    assert (tree.documents, [problem.code for problem in tree.problems]) == ((), ["DS010"])


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        parse(SourceText.from_bytes("a", b"a: ["))
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_reading_takes_work_in_proportion() -> None:
    def calls(lines: int) -> int:
        """Function calls of one reading: a count, so a busy machine changes nothing."""
        source = SourceText.from_bytes("a", b"- {id: S1, needs: [S2], timeout: 30s} # note\n" * lines)
        count = 0

        def called(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(called)
        try:
            parse(source)
        finally:
            sys.setprofile(None)
        return count

    small, large = calls(250), calls(2000)
    assert large < 8 * small * 1.1, f"250 lines take {small} calls, 2000 lines {large}"
