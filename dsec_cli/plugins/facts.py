"""All that is known of a plugin when its checks are asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from dsec_cli.plugins.package import OUTSIDE, chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.constants import Judged
    from dsec_cli.plugins.hosting import Host
    from dsec_cli.plugins.package import Package, Reach, Unit
    from dsec_cli.plugins.uses import Use


@dataclass(slots=True)
class Facts:
    """The package, what is reached, what is used, and the libraries around it."""

    package: Package
    load: Reach
    called: Reach
    uses: list[Use]
    judged: list[tuple[Use, Judged]]
    host: Host | None
    unresolved_lookups: list[tuple[Use, str, str]] = field(default_factory=list)
    """(use, code, why) of names that are looked up and could not be followed."""
    notes: list[str] = field(default_factory=list)

    def plugin(self) -> Unit:
        """The plugin itself."""
        return self.package.units[0]

    def tier(self, unit: int, node: int | str) -> str:
        """When a node runs, as far as is known."""
        if (unit, node) in self.load:
            return "load"
        if (unit, node) in self.called or self._unwalked(unit, node):
            return "reachable"
        return "linked"

    def _unwalked(self, unit: int, node: int | str) -> bool:
        """Whether ways to a node were not looked for, so that there may be one."""
        if unit != OUTSIDE:
            return self.package.units[unit].analysis.swept
        swept = (one for one in self.package.units if one.analysis.swept)
        return any(node in one.imported() for one in swept)

    def way(self, unit: int, node: int | str, ip: int = 0, last: str = "") -> tuple[str, ...]:
        """The nearest way to an instruction of a node, in words."""
        at = (unit, node)
        found = self.load if at in self.load else self.called
        label = self.package.units[unit].label(node) if unit != OUTSIDE else str(node)
        words = list(chain(self.package, found, at)) if at in found else [label]
        if ip and isinstance(node, int) and ip != node:
            words[-1] = f"{words[-1]}{ip - node:+#x}"
        return tuple([*words, last] if last else words)

    def file(self, unit: int) -> str:
        """How a finding names a library of the package: "" for the plugin itself."""
        return self.package.units[unit].name if unit > 0 else ""
