"""What a new version of a plugin can do that the old one could not, and the reverse."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Scan


@dataclass(frozen=True, slots=True)
class Difference:
    """Sorted names on either side."""

    gained: tuple[str, ...]
    lost: tuple[str, ...]
    calls_gained: tuple[str, ...]
    calls_lost: tuple[str, ...]
    blind_gained: tuple[str, ...]
    """Reason codes by which more is hidden than before, with the number of places."""

    def more(self) -> bool:
        """Whether the new version can do anything that the old one could not, or hides more."""
        return bool(self.gained or self.calls_gained or self.blind_gained)


def differ(old: Scan, new: Scan) -> Difference:
    """Compare permissions with their targets, system calls, and what is hidden."""
    before, after = _permissions(old), _permissions(new)
    calls_before, calls_after = _calls(old), _calls(new)
    hidden_before, hidden_after = _hidden(old), _hidden(new)
    grown = [
        f"{code} ({hidden_before.get(code, 0)} -> {count})"
        for code, count in sorted(hidden_after.items())
        if count > hidden_before.get(code, 0)
    ]
    return Difference(
        tuple(sorted(after - before)),
        tuple(sorted(before - after)),
        tuple(sorted(calls_after - calls_before)),
        tuple(sorted(calls_before - calls_after)),
        tuple(grown),
    )


def _permissions(found: Scan) -> set[str]:
    """Used ones, by target; those that are only linked are marked, for becoming used is news."""
    named = set()
    for need in found.needs:
        mark = " (linked)" if need.tier == "linked" else " (at load)" if need.tier == "load" else ""
        named |= {f"{need.permission}{'=' + target if target else ''}{mark}" for target in need.targets}
    return named


def _calls(found: Scan) -> set[str]:
    return {call.name for call in found.calls or ()}


def _hidden(found: Scan) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found.blind():
        counts[one.code] = counts.get(one.code, 0) + 1
    return counts


def render(found: Difference, old: str, new: str) -> str:
    """The difference as text."""
    lines = [f"{old} -> {new}: {'can do more' if found.more() else 'can do no more'}"]
    for title, names in (
        ("new permissions", found.gained),
        ("permissions that are gone", found.lost),
        ("new system calls", found.calls_gained),
        ("system calls that are gone", found.calls_lost),
        ("hidden more often", found.blind_gained),
    ):
        if names:
            lines += ["", title, *(f"  {name}" for name in names)]
    return "\n".join(lines) + "\n"
