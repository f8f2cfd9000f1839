"""Which contract is meant where none is named."""

from __future__ import annotations

import os

from dsec.errors import FileProblem
from dsec_cli.words import say

HERE = ("dsandbox.yaml", "agent-train-sandbox.yaml", "ds_config.yaml")
"""Contracts that are found without being named, in this order."""


def contract_here(folder: str = ".") -> str:
    """The contract of a folder; raises FileProblem when it has none."""
    for name in HERE:
        if os.path.isfile(os.path.join(folder, name)):
            return name if folder == "." else os.path.join(folder, name)
    place = say("here") if folder == "." else say("in {folder}", folder=folder)
    raise FileProblem(
        say("no contract {place} ({here})", place=place, here=", ".join(HERE)),
        hint="name one, or write one with: dsec init",
    )
