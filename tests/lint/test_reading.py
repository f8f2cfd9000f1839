"""What was read of a text already is not read again."""

from dsec_cli.commands.opened import open_contract
from dsec_cli.commands.pipeline import errors_of
from dsec_cli.contract.build import build_all
from dsec_cli.dag.cycles import order_steps
from dsec_cli.dag.graph import step_graph
from dsec_cli.lint import linter
from dsec_cli.lint.linter import lint
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

TEXT = """name: x
steps:
  - {id: A, run: 'true', timeout: 1x}
  - {id: B, run: 'true', timeout: 1m, needs: [C]}
---
name: y
"""


def test_findings_are_the_same_with_what_was_read_before():
    text = SourceText.from_bytes("dsandbox.yaml", TEXT.encode())
    tree = parse(text)
    found = lint(text, reading=(tree, build_all(tree, text.name)))
    assert found == lint(text)
    assert found


def test_a_contract_that_is_open_is_linted_without_reading_it_again(tmp_path, monkeypatch):
    (tmp_path / "dsandbox.yaml").write_text(TEXT)
    opened = open_contract(str(tmp_path / "dsandbox.yaml"))
    monkeypatch.setattr(linter, "parse", None)
    monkeypatch.setattr(linter, "build_all", None)
    graph = step_graph(opened.contract)
    codes = {one.code for one in errors_of(opened, graph, order_steps(graph))}
    assert {"DS102", "DS501"} <= codes
