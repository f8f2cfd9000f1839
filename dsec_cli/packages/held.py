"""What the packages of a contract are held against: an environment, tables of the user's, an index."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.packages import markers
from dsec_cli.packages.known import Shelf
from dsec_cli.packages.table import source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.packages.alternatives import Alternative
    from dsec_cli.packages.conflicts import Conflict
    from dsec_cli.packages.known import Facts


class Published(Record):
    """What an index offers of one package."""

    name: str
    versions: tuple[str, ...]
    """All that are offered, in ascending order; empty: there is no such package."""
    yanked: Mapping[str, str]
    """Versions that were taken back, with the reason that their publisher gave."""


class Held(Record):
    """All that is known besides the contract and the shipped table."""

    extra: tuple[Facts, ...] = ()
    """Tables of the user's."""
    known: Mapping[str, str] = markers.LINUX
    """What markers may ask for."""
    installed: Mapping[str, Facts] = {}
    where: str = ""
    """The environment, in words."""
    published: Mapping[str, Published] = {}
    disputes: tuple[tuple[Conflict, Alternative | None], ...] = ()
    """What the index has shown to be impossible."""

    def shelf(self) -> Shelf:
        """Facts for any environment of this kind."""
        return Shelf(source(self.extra), known=self.known)

    def shelf_here(self) -> Shelf:
        """Facts for this very environment, where what is installed stays."""
        return Shelf(source(self.extra), known=self.known, installed=self.installed)


NOTHING = Held()
