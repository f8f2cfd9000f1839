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


class Use:
    """Which entries of a configuration met a file, and which of them silenced something."""

    def __init__(self) -> None:
        self.met: set[Ignored] = set()
        self.used: set[Ignored] = set()


def silenced(
    diagnostics: Iterable[Diagnostic], file: str, configured: Configured, use: Use, *, today: str
) -> tuple[Diagnostic, ...]:
    """The diagnostics of one file, those that an entry means marked with its reason."""
    holding = [
        one
        for one in entries(configured)
        if not _over(one, today) and meant(file, one.files, folder=configured.folder)
    ]
    found = tuple(_marked(one, holding, use) for one in diagnostics)
    if not any(one.code in NEVER_SILENT for one in found):  # else nobody knows what there is
        use.met.update(holding)
    return found


def idle(configured: Configured, use: Use, *, missing: frozenset[str], whole: bool) -> tuple[str, ...]:
    """A note for each entry that silenced nothing, where that can be said.

    That is where none of its rules was `missing`, over the one file that it names; over a pattern it
    is where the run was about `whole` folders, as a few of many files tell nothing about the others.
    """
    return tuple(
        say(
            "{place}: this entry of per-file-ignores silences nothing: remove it",
            place=f"{configured.file}:{one.line}",
        )
        for one in entries(configured)
        if one in use.met
        and one not in use.used
        and (whole or not any(map(_is_pattern, one.files)))
        and not any(code.startswith(_codes(one)) for code in missing)
    )


def _is_pattern(text: str) -> bool:
    """Whether a name may mean several files: of a folder, or by a star, or in any folder below."""
    return "/" not in text or text.endswith("/") or any(sign in text for sign in "*?[")


def _codes(one: Ignored) -> tuple[str, ...]:
    return tuple(code.upper() for code in one.codes)


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


def _marked(one: Diagnostic, holding: list[Ignored], use: Use) -> Diagnostic:
    if one.silenced is not None or one.code in NEVER_SILENT:
        return one
    for entry in holding:
        if one.code.startswith(_codes(entry)):
            use.used.add(entry)
            return one._replace(silenced=Silenced("config", entry.reason))
    return one
