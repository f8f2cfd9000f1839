"""Marks what the configuration says does not count in some files (`per-file-ignores`)."""

from __future__ import annotations

from dsec_cli.commands.choosing import NEVER_SILENT
from dsec_cli.commands.configuration_keys import Ignored
from dsec_cli.commands.matching import meant
from dsec_cli.diagnostics import Silenced
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.commands.configuring import Configured
    from dsec_cli.diagnostics import Diagnostic

KEY = "per-file-ignores"


def silenced(
    diagnostics: Iterable[Diagnostic], file: str, configured: Configured, *, today: str
) -> tuple[Diagnostic, ...]:
    """The diagnostics of one file, those that an entry means marked with its reason."""
    holding = [
        one
        for one in entries(configured)
        if not _over(one, today) and meant(file, one.files, folder=configured.folder)
    ]
    return tuple(_marked(one, holding) for one in diagnostics)


def entries(configured: Configured) -> tuple[Ignored, ...]:
    """The entries of a configuration."""
    found = configured.values.get(KEY, ())
    assert isinstance(found, tuple), f"{KEY} is checked to be a list"
    return found


def expired(configured: Configured, *, today: str) -> tuple[str, ...]:
    """A note for each entry whose last day is over: what it silenced counts again."""
    return tuple(
        say(
            "{place}: this entry of per-file-ignores ended on {day}; what it silenced counts again",
            place=f"{configured.file}:{one.line}",
            day=one.until,
        )
        for one in entries(configured)
        if _over(one, today)
    )


def _over(one: Ignored, today: str) -> bool:
    return one.until != "" and one.until < today


def _marked(one: Diagnostic, holding: list[Ignored]) -> Diagnostic:
    if one.silenced is not None or one.code in NEVER_SILENT:
        return one
    for entry in holding:
        if one.code.startswith(tuple(code.upper() for code in entry.codes)):
            return one._replace(silenced=Silenced("config", entry.reason))
    return one
