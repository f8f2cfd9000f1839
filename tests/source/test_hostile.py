"""Files made to hurt: bounded time, bounded values, a finding instead of a crash."""

from __future__ import annotations

import gc
import sys

import pytest
from tree_invariants import check, walk

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.linter import lint
from dsec_cli.source import builder, events
from dsec_cli.source.resolve import follow
from dsec_cli.source.text import MAX_NODES, SourceText, Span
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


@pytest.mark.battery
@pytest.mark.parametrize("name", FILES)
def test_hostile_files(name: str) -> None:
    data, codes = FILES[name]
    source = SourceText.from_bytes(name, data)
    tree = parse(source)
    check(source, tree)
    found = {problem.code for problem in tree.problems}
    assert codes <= found
    assert found <= codes | {"DS005"} or name in ("binary", "merge bomb")


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
    assert nodes <= MAX_NODES
    assert deepest <= builder.MAX_DEPTH


def test_an_alias_over_the_budget_is_unknown_and_told_once() -> None:
    tree = parse(SourceText.from_bytes("a", BOMB.encode()))
    assert [problem.code for problem in tree.problems] == ["DS010"]
    root = tree.documents[0].root
    assert root is not None
    aliases = [node for node, _ in walk(root) if isinstance(node, Alias)]
    assert any(alias.target is None for alias in aliases)
    assert aliases[0].target is not None


def unread(data: bytes, most: int = MAX_NODES) -> bool:
    """Whether nothing of a text is read, which is told once."""
    source = SourceText("a", data, most)
    tree = parse(source)
    check(source, tree)
    told = [(problem.code, problem.span) for problem in tree.problems]
    root = tree.documents[0].root
    if told != [("DS010", (0, 0))]:
        return False
    assert isinstance(root, Alias)
    assert root.target is None
    assert tree.documents[0].gaps == (Span(0, len(source.text)),)
    assert [one.code for one in lint(source) if one.severity is Severity.ERROR] == ["DS010"]
    return True


@pytest.mark.parametrize(
    ("text", "nodes"),
    [
        ("a: [" + "x, " * 97 + "]\n", 100),
        ("a:\n" + "  - x\n" * 97, 100),
        ("a: [" + "{b: [x, y], c: z}, " * 12 + "]\n", 87),
        ("- {b: [x, y], c: z}\n" * 12, 85),
        ("- 'x, y, z, [{}]'\n" * 99, 100),
        ("# x\n" * 97 + "a: b\n", 100),
        ("# x\n" * 97 + "\ta: b\n", 99),
        ("# x\n" * 97 + "a: b\r\n", 99),
        ("- &x y\n" * 99, 100),
        ("- [a, b]\n- !x [a, b]\n" * 16, 97),
    ],
)
def test_a_text_of_too_many_nodes_is_not_read(text: str, nodes: int) -> None:
    """Mappings, lists, keys, values and comments count, each as one, whoever reads them."""
    assert not unread(text.encode(), nodes)
    assert unread(text.encode(), nodes - 2)


def test_too_large_files_are_not_read() -> None:
    assert not unread(b"a: " + b"1" * 317, 10)
    assert unread(b"a: " + b"1" * 318, 10)


def test_files_of_too_many_lines_are_not_read() -> None:
    assert not unread(b"# x\n" + b"\n" * 199 + b"a: b", 100)
    assert unread(b"# x\n" + b"\n" * 200 + b"a: b", 100)


def test_a_text_with_errors_is_not_read_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"a: b\n" * 40 + b"c: }\n" * 15
    source = SourceText.from_bytes("a", text)
    assert sum(one.code == "DS002" for one in parse(source).problems) == 15
    monkeypatch.setattr(events, "MAX_SCALARS", 300)
    tree = parse(source)
    check(source, tree)
    assert sum(one.code == "DS002" for one in tree.problems) == 4
    assert tree.documents[0].gaps[-1].end == len(text)


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
