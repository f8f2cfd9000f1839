"""Steps that must be joined by NVLink, and the group that they get.

A label (`nvlink_affinity`) puts Steps together, and so does a communication that is declared to go
over NVLink. `link-group-N` is the inventory's N-th NVLink group, counted from 0; any other label gets
one that can hold all its Steps, the one with the fewest labels first.
"""

from __future__ import annotations

from dsec.core.links import NVLINK
from dsec.core.placement import choose, slots
from dsec.plan import Terms
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.core.placement import Slot
    from dsec.inventory import Inventory
    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract, Link
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path

_NUMBERED = "link-group-"
NOTHING = Terms()


class Unjoined(Record):
    """Steps that no NVLink group of the inventory can hold together."""

    where: Path
    steps: str
    text: str


def joined(
    graph: StepGraph, contract: Contract, demands: Sequence[Demand], inventory: Inventory
) -> list[Demand] | Unjoined:
    """The demands with the NVLink groups that they are to be met from."""
    settled = list(demands)
    links = [link for link in contract.communication if link.protocol == NVLINK]
    if not links and not any(step.demand.nvlink_affinity for step in graph.steps):
        return settled
    table = slots(inventory)
    if not _known(table) or contract.nvlink_mode == "off":
        return settled  # what is not known forbids nothing; what cannot be is told with the links
    uses: dict[int, int] = {}
    for members, labels, link in _together(graph, links, demands):
        label, *others = labels
        if others and link is not None:
            named = f"{label} and {others[0]} (nvlink_affinity), which are two groups"
            return Unjoined(link.path, _named(graph, members), f"{named}: {groups_text(table)}")
        want = _number(label)
        groups = sorted({slot.group for slot in table if slot.group}) if want is None else [want]
        fit = [group for group in groups if all(_fits(settled[at], group, table) for at in members)]
        if not fit:
            path = link.path if link is not None else graph.steps[members[0]].demand.path
            return Unjoined(path, _named(graph, members), _why(label, groups=groups, table=table))
        group = min(fit, key=lambda one: (uses.get(one, 0), one))
        uses[group] = uses.get(group, 0) + 1
        for at in members:
            settled[at] = _in(settled[at], group)
    return settled


def _known(table: Sequence[Slot]) -> bool:
    """Whether it is stated how devices are linked; one device is linked to nothing."""
    return len(table) > 1 and any(slot.device.links for slot in table)


def _together(
    graph: StepGraph, links: Sequence[Link], demands: Sequence[Demand]
) -> Iterator[tuple[list[int], list[str], Link | None]]:
    """Places of Steps that belong together, their label, and the communication that says so.

    Of several labels those with a number are given, of which there must be one; of others the first.
    """
    home = list(range(len(graph.steps)))

    def root(at: int) -> int:
        while home[at] != at:
            home[at] = home[home[at]]
            at = home[at]
        return at

    labelled: dict[str, int] = {}
    for at, step in enumerate(graph.steps):
        if step.demand.nvlink_affinity and demands[at].gpu_count:
            home[at] = root(labelled.setdefault(step.demand.nvlink_affinity, at))
    said: dict[int, Link] = {}
    for link in links:
        ends = [graph.numbers[name] for name in (link.source, link.target) if name in graph.numbers]
        if len(ends) == 2 and all(demands[at].gpu_count for at in ends):
            low, high = sorted(root(at) for at in ends)
            home[high] = low
            said.setdefault(ends[0], link)
    sets: dict[int, list[int]] = {}
    for at in range(len(home)):
        sets.setdefault(root(at), []).append(at)
    for members in sets.values():
        labels = [graph.steps[at].demand.nvlink_affinity or "" for at in members]
        first = next((said[at] for at in members if at in said), None)
        if any(labels) or first is not None:
            numbered = [label for label in dict.fromkeys(labels) if _number(label) is not None]
            yield members, numbered or [next(filter(None, labels), "")], first


def _number(label: str) -> int | None:
    """The group, counted from 1, that `link-group-N` names."""
    digits = label.removeprefix(_NUMBERED)
    return int(digits) + 1 if digits != label and digits.isdecimal() and len(digits) < 6 else None


def _in(demand: Demand, group: int) -> Demand:
    return demand._replace(terms=(demand.terms or NOTHING)._replace(group=group))


def _fits(demand: Demand, group: int, table: Sequence[Slot]) -> bool:
    return choose(_in(demand, group), table) is not None


def _named(graph: StepGraph, members: Sequence[int]) -> str:
    names = [graph.steps[at].id for at in members]
    return ", ".join(names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"])


def _why(label: str, *, groups: Sequence[int], table: Sequence[Slot]) -> str:
    want = f"{label} (nvlink_affinity)" if label else "an NVLink group (protocol: nvlink-p2p)"
    none = "there is none" if not groups else "none can hold what they ask for"
    return f"{want}: {none}; {groups_text(table)}"


def groups_text(table: Sequence[Slot]) -> str:
    """The NVLink groups of an inventory and the devices that are in none."""
    groups = sorted({slot.group for slot in table}, key=lambda group: (not group, group))
    return "; ".join(_group_text(group, table) for group in groups)


def _group_text(group: int, table: Sequence[Slot]) -> str:
    """`link-group-0: 2 x rtx-3090, GPUs 0,1`."""
    members = [slot.device for slot in table if slot.group == group]
    kinds: dict[str, int] = {}
    for device in members:
        kind = device.type or device.model or "GPU"
        kinds[kind] = kinds.get(kind, 0) + 1
    what = ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items()))
    where = ",".join(str(device.index) for device in members)
    title = f"{_NUMBERED}{group - 1}" if group else "without NVLink"
    return f"{title}: {what} (GPU {where})"
