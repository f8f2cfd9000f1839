"""What differs between two snapshots, the likeliest causes first."""

from __future__ import annotations

from dsec_cli.snapshot.capture import parts
from dsec_cli.snapshot.hardcoded import search
from dsec_cli.snapshot.manifest import ABSENT, PARTIAL
from dsec_cli.snapshot.section import Difference, Pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.snapshot.manifest import Section
    from dsec_cli.snapshot.section import Part
    from dsec_cli.snapshot.shelf import View

GPU_TYPE = "GPU type"


def compare(
    before: View, after: View, *, only: Iterable[str] = (), live: bool = False
) -> tuple[Difference, ...]:
    """All differences in the order of their weight; `live`: the newer is this machine as it is now.

    `only` names the sections that are looked at; none named: all.
    """
    wanted = frozenset(only)
    found: list[Difference] = []
    for part in parts():
        if not wanted or part.name in wanted:
            found += _section(part, before, after, live=live)
    if any(one.section == "hardware" and one.subject == GPU_TYPE for one in found):
        found += _suspects(before, after, wanted)
    return tuple(sorted(found, key=_rank))


def _rank(one: Difference) -> tuple[bool, int, str, str, int]:
    return not one.cause, -one.weight, one.section, one.subject, one.line


def _section(part: Part, before: View, after: View, *, live: bool) -> Iterator[Difference]:
    same = before.manifest.section(part.name), after.manifest.section(part.name)
    if same[0] == same[1] and before.store is after.store and not _hides(same[0], before, after):
        return
    pair = Pair(before.side(part.name), after.side(part.name), live)
    one, two = pair.before, pair.after
    if (one.status == ABSENT) != (two.status == ABSENT):
        told = [f"{side.status}: {side.reason}" if side.reason else side.status for side in (one, two)]
        if not live or two.status != ABSENT:
            subject = f"the whole section ({part.title})"
            yield Difference(part.name, "unknown", subject, told[0], told[1], 1)
        return
    yield from part.compare(pair)


def _hides(section: Section | None, before: View, after: View) -> bool:
    """Whether what is not in a section may differ between two snapshots that have the same of it."""
    return section is not None and section.status == PARTIAL and before.manifest != after.manifest


def _suspects(before: View, after: View, wanted: frozenset[str]) -> Iterator[Difference]:
    """Lines of the code that do not bear another GPU type, also where the code is the same."""
    if wanted and "code" not in wanted:
        return
    for view in (after, before):
        side = view.side("code")
        if side.status != ABSENT:
            yield from search(side)
            return


def same(differences: Iterable[Difference]) -> bool:
    """Whether nothing differs; what cannot be compared is no difference."""
    return all(one.kind == "unknown" for one in differences)
