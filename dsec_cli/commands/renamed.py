"""Files that a baseline knows under the name they had before they were moved."""

from __future__ import annotations

import os

from dsec_cli.report.fingerprint import fingerprints, seen_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec_cli.commands.baselining import Known
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.source.text import SourceText

MOST = 50
"""Files of different names that are compared, each with each."""


def renamed(
    known: Iterable[Known],
    diagnostics: tuple[Diagnostic, ...],
    texts: Mapping[str, SourceText],
    *,
    folder: str,
) -> dict[str, str]:
    """New name to old name: of files the baseline does not name, and names under which is nothing now.

    Two belong together where most findings are the same; of several, those of one file name first.
    """
    by_file: dict[str, set[str]] = {}
    for entry in known:
        by_file.setdefault(entry.file, set()).add(entry.fingerprint)
    gone = [name for name in sorted(by_file) if not os.path.lexists(os.path.join(folder, name))]
    if not gone:
        return {}
    own: dict[str, list[Diagnostic]] = {name: [] for name in texts if seen_from(folder, name) not in by_file}
    for one in diagnostics:
        if one.place.file in own:
            own[one.place.file].append(one)
    alike = []
    for name, old in _pairs(sorted(own), gone):
        prints = fingerprints(own[name], texts, folder=folder, called={name: old})
        shared = len(by_file[old].intersection(prints))
        if shared:
            alike.append((-shared, os.path.basename(name) != os.path.basename(old), name, old))
    found: dict[str, str] = {}
    for _, _, name, old in sorted(alike):
        if name not in found and old not in found.values():
            found[name] = old
    return found


def _pairs(new: list[str], gone: list[str]) -> list[tuple[str, str]]:
    """What may be the same file; many are compared only where they have the same name in another folder."""
    few = len(new) <= MOST and len(gone) <= MOST
    by_name: dict[str, list[str]] = {}
    for old in gone:
        by_name.setdefault("" if few else os.path.basename(old), []).append(old)
    return [(name, old) for name in new for old in by_name.get("" if few else os.path.basename(name), ())]
