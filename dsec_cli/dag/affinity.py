"""Steps that must be near each other, and the NVLink group or NUMA node that they get.

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
    from dsec.inventory import Device, Inventory
    from dsec.plan import Demand
    from dsec_cli.contract.values import Contract, Link
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.source.tree import Path

_NUMBERED, _NODE = "link-group-", "numa-"
NOTHING = Terms()


class Unjoined(Record):
    """Steps that no group of the inventory can hold together."""

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
        want = _number(label, _NUMBERED)
        groups = sorted({slot.group for slot in table if slot.group}) if want is None else [want + 1]
        fit = [group for group in groups if all(_fits(settled[at], group, table) for at in members)]
        if not fit:
            path = link.path if link is not None else graph.steps[members[0]].demand.path
            return Unjoined(path, _named(graph, members), _why(label, groups=groups, table=table))
        group = min(fit, key=lambda one: (uses.get(one, 0), one))
        uses[group] = uses.get(group, 0) + 1
        for at in members:
            settled[at] = _in(settled[at], group)
    return settled


def near(graph: StepGraph, demands: Sequence[Demand], inventory: Inventory) -> list[Demand] | Unjoined:
    """The demands with the NUMA nodes that Steps of one label are to be met from."""
    settled = list(demands)
    labels: dict[str, list[int]] = {}
    for at, step in enumerate(graph.steps):
        if step.demand.numa_affinity and demands[at].gpu_count:
            labels.setdefault(step.demand.numa_affinity, []).append(at)
    table = slots(inventory) if labels else []
    nodes = sorted({slot.device.numa for slot in table if slot.device.numa is not None})
    uses: dict[int, int] = {}
    for label, members in labels.items() if nodes else ():
        want = _number(label, _NODE)
        may = nodes if want is None else [want]
        fit = [node for node in may if all(choose(_on(settled[at], node), table) for at in members)]
        if not fit:
            there = "; ".join(f"NUMA {node}: {_node_text(node, table)}" for node in nodes)
            text = f"the NUMA node of {label} (numa_affinity): none can hold what they ask for; {there}"
            return Unjoined(graph.steps[members[0]].demand.path, _named(graph, members), text)
        node = min(fit, key=lambda one: (uses.get(one, 0), one))
        uses[node] = uses.get(node, 0) + 1
        for at in members:
            settled[at] = _on(settled[at], node)
    return settled


def unkept(graph: StepGraph, inventory: Inventory) -> list[str]:
    """Labels that decide nothing, because the inventory does not say what they ask about."""
    notes = []
    if len(inventory.devices) > 1 and not any(device.links for device in inventory.devices):
        labels = sorted({step.demand.nvlink_affinity or "" for step in graph.steps} - {""})
        notes += [
            f"nvlink_affinity {label} is not kept: how GPUs are linked is not known" for label in labels
        ]
    if all(device.numa is None for device in inventory.devices):
        labels = sorted({step.demand.numa_affinity or "" for step in graph.steps} - {""})
        notes += [f"numa_affinity {label} is not kept: NUMA nodes are not known" for label in labels]
    return notes


def _on(demand: Demand, node: int) -> Demand:
    return demand._replace(terms=(demand.terms or NOTHING)._replace(numa=node))


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
            numbered = [label for label in dict.fromkeys(labels) if _number(label, _NUMBERED) is not None]
            yield members, numbered or [next(filter(None, labels), "")], first


def _number(label: str, before: str) -> int | None:
    """N of `link-group-N` or `numa-N`; None: the label is a name."""
    digits = label.removeprefix(before)
    return int(digits) if digits != label and digits.isdecimal() and len(digits) < 6 else None


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
    title = f"{_NUMBERED}{group - 1}" if group else "without NVLink"
    return f"{title}: {_devices_text([slot.device for slot in table if slot.group == group])}"


def _node_text(node: int, table: Sequence[Slot]) -> str:
    return _devices_text([slot.device for slot in table if slot.device.numa == node])


def _devices_text(devices: Sequence[Device]) -> str:
    """`2 x rtx-3090 (GPU 0,1)`."""
    kinds: dict[str, int] = {}
    for device in devices:
        kind = device.type or device.model or "GPU"
        kinds[kind] = kinds.get(kind, 0) + 1
    what = ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items()))
    return f"{what} (GPU {','.join(str(device.index) for device in devices)})"
