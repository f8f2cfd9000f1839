"""Why a plugin is not installed is said with the step that comes next, not only with how to go around it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from dsec_cli.commands.plugin_install import _line, _refused

ARGS = cast("Any", SimpleNamespace(allow_unsigned=False, allow_rollback=False))


def judged(status: str, why: str) -> Any:
    return SimpleNamespace(
        standing=SimpleNamespace(status=status, why=why, signer=None),
        manifest=SimpleNamespace(
            name="word-count", comment="word-count 1.0.0", version="1.0.0", expires=None
        ),
        before=None,
    )


def scan(*codes: str) -> Any:
    blind = tuple(SimpleNamespace(code=one) for one in codes)
    return SimpleNamespace(verdict=lambda: "incomplete", blind=lambda: blind)


def test_an_unknown_signer_can_be_trusted() -> None:
    said = _refused(judged("unknown-key", "it is signed by X, which you do not trust"), ARGS, None)
    assert "dsec plugin trust KEY --plugins word-count; --allow-unsigned takes it all the same" in said
    assert "trust KEY" not in _refused(judged("unsigned", "it has no manifest"), ARGS, None)


def test_a_missing_disassembler_is_named_and_not_counted_as_a_place() -> None:
    said = _line(scan("no-disassembler"), "entry.so")
    assert said.startswith("no disassembler is installed, so the code of entry.so was not read")
    assert "pip install 'dsec[scan]'" in said
    assert _line(scan("a", "b"), "entry.so").startswith("2 places of entry.so cannot be seen into (hint:")
