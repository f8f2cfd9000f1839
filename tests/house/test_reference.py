"""The page of the commands is the option table's, the schema of the configuration its table's."""

from __future__ import annotations

from dsec_cli import reference
from dsec_cli.options import COMMANDS


def test_what_is_generated_is_fresh() -> None:
    for path, text in reference.outputs().items():
        assert path.read_text("utf-8") == text, "run make generate"


def test_every_option_and_argument_is_on_it() -> None:
    text = reference.page()
    for name, _, _, arguments, options, _, _ in COMMANDS:
        assert f"## dsec {name}\n" in text
        assert all(f"`{argument[0]}`" in text for argument in arguments)
        assert all(f"--{option[0]}" in text for option in options)
