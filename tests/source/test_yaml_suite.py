"""The public yaml-test-suite: 402 documents, each read without an exception, most of them exactly."""

from __future__ import annotations

import pytest
from suite_events import suite_events, tree_events
from tree_invariants import check

from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Tree
from dsec_cli.source.yaml import parse

KNOWN_DIFFERENT = {
    "652Z": "`?` at the start of a word in brackets is taken for an indicator",
    "HM87/01": "the same",
    "JEF9/02": "spaces on the last line of a block text without line end",
    "L24T/01": "the same",
    "Y2GN": "a colon inside an anchor's name",
}
"""Legal documents that the C parser reads, but not as YAML 1.2 says."""
FEWEST_EQUAL = 250
FEWEST_REJECTED = 77
MOST_REFUSED = 53
LIMITS = (
    *("2JQS", "2LFX", "4MUZ/00", "4MUZ/01", "4MUZ/02", "58MP", "5MUD", "5T43", "6LVF", "6M2F", "8XYN"),
    *("96NN/00", "96NN/01", "BEC7", "CFD4", "DBG4", "FRK4", "HM87/00", "JR7V", "K3WX", "M2N8/00"),
    *("MUS6/05", "MUS6/06", "NHX8", "NKF9", "R4YG", "S3PD", "SM9W/01", "UKK6/00", "VJP3/01", "W4TN"),
    *("W5VH", "Y79Y/001"),
)
"""Legal documents that the parser refuses, where the message says that it is the parser's limit."""


@pytest.fixture(scope="module")
def cases(yaml_suite: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    found: dict[str, dict[str, bytes]] = {}
    for path, data in yaml_suite.items():
        folder, _, name = path.rpartition("/")
        if name in ("in.yaml", "test.event", "error"):
            found.setdefault(folder, {})[name] = data
    return {name: files for name, files in sorted(found.items()) if "in.yaml" in files}


def _read(name: str, data: bytes) -> Tree:
    source = SourceText.from_bytes(name, data)
    tree = parse(source)
    check(source, tree)
    return tree


def _refused(tree: Tree) -> bool:
    return any(problem.code in ("DS002", "DS009") for problem in tree.problems)


def test_the_suite_is_whole(cases: dict[str, dict[str, bytes]]) -> None:
    assert len(cases) == 402
    assert sum("error" in files for files in cases.values()) == 94


def test_legal_documents(cases: dict[str, dict[str, bytes]]) -> None:
    equal, refused, different = 0, [], []
    for name, files in cases.items():
        if "error" in files:
            continue
        tree = _read(name, files["in.yaml"])
        if _refused(tree):
            refused.append(name)
        elif tree_events(tree) == suite_events(files["test.event"].decode()):
            equal += 1
        else:
            different.append(name)
    assert sorted(different) == sorted(KNOWN_DIFFERENT)
    assert equal >= FEWEST_EQUAL
    assert len(refused) <= MOST_REFUSED


def test_illegal_documents(cases: dict[str, dict[str, bytes]]) -> None:
    trees = [_read(name, files["in.yaml"]) for name, files in cases.items() if "error" in files]
    assert sum(bool(tree.problems) for tree in trees) >= FEWEST_REJECTED


def test_limits_of_the_parser_are_called_so(cases: dict[str, dict[str, bytes]]) -> None:
    read = {name: _read(name, cases[name]["in.yaml"]).problems for name in LIMITS}
    silent = [
        name for name, told in read.items() if not any("parser limitation" in one.message for one in told)
    ]
    assert silent == []


@pytest.mark.parametrize("change", ["crlf", "bom", "half", "tail"])
def test_changed_documents_are_read_too(cases: dict[str, dict[str, bytes]], change: str) -> None:
    for name, files in cases.items():
        data = files["in.yaml"]
        middle = len(data) // 2
        changed = {
            "crlf": data.replace(b"\n", b"\r\n"),
            "bom": b"\xef\xbb\xbf" + data,
            "half": data[:middle],
            "tail": data[middle:],
        }
        _read(name, changed[change])
