"""What is known of packages: their releases, and what those that were read require."""

from __future__ import annotations

from bisect import bisect_left

from dsec.record import Record
from dsec_cli.packages import markers
from dsec_cli.packages.ranges import EVERYTHING, MOST, NOTHING, intersect, of, point, without

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dsec_cli.packages.ranges import Cut, Ranges

PYTHON = "python"
"""What a row is `on` that tells for which Python a release is."""


class Row(Record):
    """Releases of one package that hold another one to a range."""

    package: str
    versions: tuple[str, ...]
    """Exactly these; empty: all that lie `within`."""
    within: str
    on: str
    needs: str
    when: str
    """Environment marker; "": always."""
    source: str
    why: str = ""
    extras: tuple[str, ...] = ()
    """Extras of the other package that are wanted."""


class Facts(Record):
    """What is known of one package."""

    name: str
    releases: tuple[str, ...]
    """Final ones, in ascending order; empty: not known."""
    read: frozenset[str]
    """Releases all of whose requirements are in the rows."""
    rows: tuple[Row, ...]


class Need(Record):
    """What one version wants of another package."""

    ranges: Ranges
    text: str
    sources: tuple[str, ...]
    why: str = ""
    """What goes wrong otherwise, where a row tells it."""


class Shelf:
    """Facts by package, fetched once each; `installed` ones come before them."""

    def __init__(
        self,
        fetch: Callable[[str], Facts | None],
        *,
        known: Mapping[str, str] = markers.LINUX,
        installed: Mapping[str, Facts] | None = None,
    ) -> None:
        self.known = known
        self.installed = installed or {}
        self.wants: dict[tuple[str, Ranges, bool], dict[str, Need]] = {}
        """What `conflicts.wants` has found already."""
        self._fetch = fetch
        self._facts: dict[str, Facts | None] = {}
        self._needs: dict[tuple[str, str], dict[str, Need]] = {}
        self._ranges: dict[str, Ranges] = {}
        self._holding: dict[str, bool] = {}
        self._points: dict[str, Cut | None] = {}
        self._candidates: dict[tuple[str, Ranges], tuple[str, ...]] = {}

    def facts(self, name: str) -> Facts | None:
        """What is known of the package; None: nothing."""
        if name not in self._facts:
            self._facts[name] = self._fetch(name)
        return self._facts[name]

    def python(self) -> str:
        """The range of the Python that packages are for, `==3.11.4` or `==3.11.*`; "": not known."""
        full, short = self.known.get("python_full_version"), self.known.get("python_version")
        return f"=={full}" if full else f"=={short}.*" if short else ""

    def needs(self, name: str, version: str) -> dict[str, Need]:
        """What this version wants, by package; what may hold or not is left out."""
        key = (name, version)
        if key not in self._needs:
            rows = [row for row in self._rows(name, version) if self.applies(row)]
            self._needs[key] = self._joined(rows, version)
        return self._needs[key]

    def ranges(self, wanted: str) -> Ranges:
        """`ranges.of`, once for each text."""
        found = self._ranges.get(wanted)
        if found is None:
            found = self._ranges[wanted] = of(wanted)
        return found

    def holds(self, ranges: Ranges, version: str) -> bool:
        """`ranges.holds`, with each version taken apart once."""
        at = self._place(version)
        return any(low <= at < high for low, high in ranges)

    def applies(self, row: Row) -> bool:
        """Whether the row's marker is known to hold."""
        if row.when not in self._holding:
            self._holding[row.when] = markers.judge(row.when, self.known) is True
        return self._holding[row.when]

    def _rows(self, name: str, version: str) -> list[Row]:
        here = self.installed.get(name)
        own = here is not None and here.releases == (version,)
        found = list(here.rows) if here is not None and own else []
        facts = self.facts(name)
        for row in facts.rows if facts is not None else ():
            told = (
                version in row.versions and not own
                if row.versions
                else self.holds(self.ranges(row.within), version)
            )
            if told:
                found.append(row)
        return found

    def candidates(self, name: str, ranges: Ranges) -> tuple[str, ...]:
        """Known releases in the ranges, oldest first; only the installed one if it is among them."""
        key = (name, ranges)
        if key not in self._candidates:
            here, facts = self.installed.get(name), self.facts(name)
            if here is not None and self.holds(ranges, here.releases[0]):
                self._candidates[key] = here.releases
            else:
                self._candidates[key] = () if facts is None else self._within(facts.releases, ranges)
        return self._candidates[key]

    def _within(self, releases: tuple[str, ...], ranges: Ranges) -> tuple[str, ...]:
        found: list[str] = []
        for low, high in ranges:
            start = bisect_left(releases, low, key=self._place)
            found += releases[start : bisect_left(releases, high, start, key=self._place)]
        return tuple(found)

    def _place(self, version: str) -> Cut:
        if version not in self._points:
            self._points[version] = point(version)
        # What is no version is sorted last.
        return self._points[version] or MOST

    def unlisted(self, name: str, ranges: Ranges, *, loose: bool) -> Ranges:
        """The part of the ranges in which there may be releases that are not known.

        `loose`: pre-releases and local builds, which are not listed, are meant as well.
        """
        here = self.installed.get(name)
        if here is not None and self.holds(ranges, here.releases[0]):
            return NOTHING
        facts = self.facts(name)
        if facts is None or loose or not self.candidates(name, ranges):
            return ranges
        return intersect(ranges, _outside(facts))

    def is_read(self, name: str, version: str) -> bool:
        """Whether all that this version wants is known."""
        here = self.installed.get(name)
        if here is not None and here.releases == (version,):
            return True
        facts = self.facts(name)
        return facts is not None and version in facts.read

    def _joined(self, rows: Iterable[Row], version: str) -> dict[str, Need]:
        found: dict[str, Need] = {}
        for row in rows:
            # Where a package URL is the source, it is the metadata of this very release.
            source = f"{row.source}@{version}" if row.source.startswith("pkg:") else row.source
            need = Need(self.ranges(row.needs), row.needs, (source,), row.why)
            before = found.get(row.on)
            if before is not None and before.text != need.text:
                need = Need(
                    intersect(before.ranges, need.ranges),
                    ",".join(text for text in (before.text, need.text) if text),
                    (*before.sources, *need.sources),
                    before.why or need.why,
                )
            found[row.on] = need
        return found


def _outside(facts: Facts) -> Ranges:
    """All before the oldest and after the newest known release."""
    ends = (point(facts.releases[0]), point(facts.releases[-1]))
    if ends[0] is None or ends[1] is None:
        return EVERYTHING
    newest: Cut = (ends[1][0], 1)
    return without(EVERYTHING, ((ends[0], newest),)) if newest < MOST else EVERYTHING
