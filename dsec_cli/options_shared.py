"""Shapes of the grammar, and the rows that several commands share; see `options`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Argument: TypeAlias = tuple[str, str, tuple[str, ...], str]
    Option: TypeAlias = tuple[str, str, str, str, tuple[str, ...], "str | int | None", str]
    Command: TypeAlias = tuple[
        str,
        str,
        tuple[str, ...],
        tuple[Argument, ...],
        tuple[Option, ...],
        tuple[tuple[str, str], ...],
        tuple[tuple[int, str], ...],
    ]

USAGE = (2, "the command line is wrong")
UNKNOWN = (3, "could not find out: a file or a device could not be read")
COLOR: Option = (
    "color",
    "",
    "value",
    "WHEN",
    ("auto", "always", "never"),
    "auto",
    "Colour the text; auto: on a terminal, unless NO_COLOR is set. FORCE_COLOR forces it.",
)
LANG: Option = (
    "lang",
    "",
    "value",
    "LANG",
    ("auto", "en", "zh"),
    None,
    "Language of what people read; without it, or auto: DSEC_LANG, the setting lang, the locale.",
)
JSON: Option = ("json", "", "flag", "", (), None, "Print one JSON document instead of text.")
OUTPUT: Option = (
    "output",
    "o",
    "value",
    "FILE",
    (),
    None,
    "Write to FILE (whole or not at all) instead of standard output.",
)
INVENTORY: Option = (
    "inventory",
    "",
    "value",
    "FILE",
    (),
    None,
    "Take the machines described in FILE (YAML, JSON, nvidia-smi output) or by builtin:NAME, not this one.",
)
SPLIT: Option = (
    "split",
    "",
    "multi",
    "STEP=PARTS",
    (),
    None,
    "Cut a Step with layers into so many parts (without a number: as few as fit, 1: not at all).",
)
JOB: Argument = (
    "JOB",
    "maybe",
    (),
    "Job id, or a run's folder; default: the latest run of the nearest .dsec upwards.",
)
NO_RUN = (3, "there is no such run, or its journal cannot be read")
