"""Devices that belong together: one machine, one type, NVLink, a PCIe switch, a NUMA node.

Groups are buddies: a demand gets the smallest group that still has enough free devices, level by level,
so that larger groups stay whole for who needs them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from dsec.core.placement import Slot
    from dsec.inventory import Device
    from dsec.plan import Terms

LEVELS = ("node", "type", "nvlink", "switch", "numa")
"""How a group is narrowed: one machine (always), then one type, NVLink, one PCIe switch, one NUMA node."""
NODE, TYPE, NVLINK, SWITCH, NUMA = range(len(LEVELS))
_SWITCHED = ("PIX", "PXB")


def is_nvlink(link: str) -> bool:
    """`NV4`, `NV12`: bonded NVLinks, as `nvidia-smi topo -m` names them."""
    return link.startswith("NV") and link[2:].isdecimal()


def islands_of(devices: Sequence[Device]) -> list[tuple[int, ...]]:
    """Per device one group number for each of LEVELS; a number is used at one level only."""
    many = len(devices)
    groups = (
        _labels([device.node for device in devices]),
        _labels([device.type for device in devices]),
        _components(devices, is_nvlink),
        _components(devices, _SWITCHED.__contains__),
        [
            at if node is None else first
            for at, (node, first) in enumerate(
                zip(
                    [device.numa for device in devices],
                    _labels([(device.node, device.numa) for device in devices]),
                    strict=True,
                )
            )
        ],
    )
    numbered = [[level * many + one for one in group] for level, group in enumerate(groups)]
    return list(zip(*numbered, strict=True)) if devices else []


def _labels(values: Iterable[object]) -> list[int]:
    """Per value, where it stands first."""
    first: dict[object, int] = {}
    return [first.setdefault(value, at) for at, value in enumerate(values)]


def _components(devices: Sequence[Device], joins: Callable[[str], bool]) -> list[int]:
    """Per device, the lowest position in its connected group."""
    at_uuid = {device.uuid: at for at, device in enumerate(devices)}
    group = list(range(len(devices)))

    def root(at: int) -> int:
        while group[at] != at:
            group[at] = group[group[at]]
            at = group[at]
        return at

    for at, device in enumerate(devices):
        for other, link in device.links:
            if joins(link) and other in at_uuid:
                low, high = sorted((root(at), root(at_uuid[other])))
                group[high] = low
    return [root(at) for at in range(len(devices))]


def link_groups(islands: Sequence[tuple[int, ...]]) -> list[int]:
    """Per device, its NVLink group counted from 1 in order of the devices; 0: it has no NVLink to another."""
    members: dict[int, int] = {}
    for one in islands:
        members[one[NVLINK]] = members.get(one[NVLINK], 0) + 1
    numbers: dict[int, int] = {}
    for one in islands:
        if members[one[NVLINK]] > 1:
            numbers.setdefault(one[NVLINK], len(numbers) + 1)
    return [numbers.get(one[NVLINK], 0) for one in islands]


def peers_of(devices: Sequence[Device], islands: Sequence[tuple[int, ...]]) -> list[frozenset[str] | None]:
    """Per device, whom it has NVLinks to; None where every two of its group are so joined."""
    found = [frozenset(other for other, link in device.links if is_nvlink(link)) for device in devices]
    size: dict[int, int] = {}
    for one in islands:
        size[one[NVLINK]] = size.get(one[NVLINK], 0) + 1
    known = {device.uuid for device in devices}
    partly = {
        one[NVLINK]
        for one, peers in zip(islands, found, strict=True)
        if len(peers & known) + 1 < size[one[NVLINK]]
    }
    return [peers if one[NVLINK] in partly else None for one, peers in zip(islands, found, strict=True)]


def sizes(idle: Iterable[Slot]) -> dict[int, int]:
    """How many of the slots each NVLink group, switch and node has; groups of two levels differ in number."""
    counts: dict[int, int] = {}
    for slot in idle:
        for group in slot.islands[NVLINK:]:
            counts[group] = counts.get(group, 0) + 1
    return counts


def together(
    free: list[Slot],
    count: int,
    terms: Terms | None,
    *,
    quickest: bool = False,
    taken: Container[Slot] = frozenset(),
) -> list[Slot] | None:
    """Of `free`, the best group that has at least `count`; None: none has that is joined as it must be.

    No more of the `taken` ones, which others use already, are in it than are needed: how devices are
    joined decides among groups that share equally few.
    """
    idle = [slot for slot in free if slot not in taken]
    for shared in range(count + 1):
        whole = count - shared
        if len(idle) >= whole:
            found = _joined(free if shared else idle, count, terms, quickest, _Sharing(whole, taken))
            if found is not None or len(idle) == len(free):
                return found
    return None


class _Sharing:
    """How many devices of a group must be idle, and which are not."""

    __slots__ = ("taken", "whole")

    def __init__(self, whole: int, taken: Container[Slot]) -> None:
        self.whole = whole
        self.taken = taken

    def allows(self, group: Sequence[Slot]) -> bool:
        return sum(slot not in self.taken for slot in group) >= self.whole


def _joined(
    free: list[Slot], count: int, terms: Terms | None, quickest: bool, sharing: _Sharing
) -> list[Slot] | None:
    pools = parts(free, NODE, count, sharing)
    strict = terms is not None and terms.strict and terms.within
    if terms is not None and strict:
        level = LEVELS.index(terms.within)
        pools = [part for pool in pools for part in parts(pool, level, count, sharing)]
    if quickest and pools:
        best = max(_pace(pool, count, sharing) for pool in pools)
        pools = [[slot for slot in pool if slot.device.speed >= best] for pool in pools]
        pools = [pool for pool in pools if len(pool) >= count and sharing.allows(pool)]
    if not pools:
        return None
    found = min(pools, key=_group_fit)
    wished = [LEVELS.index(terms.within)] if terms is not None and terms.within else []
    for level in (TYPE, *wished, NVLINK, SWITCH, NUMA):
        enough = parts(found, level, count, sharing)
        if enough:
            found = min(enough, key=_group_fit)
    return found


def _pace(pool: Sequence[Slot], count: int, sharing: _Sharing) -> int:
    """The speed of the slowest of the `count` quickest, of which so many must be idle."""
    speeds = sorted(((slot.device.speed, slot not in sharing.taken) for slot in pool), reverse=True)
    idle = [speed for speed, whole in speeds if whole]
    rest = sorted((*idle[sharing.whole :], *(speed for speed, whole in speeds if not whole)), reverse=True)
    return min((*idle[: sharing.whole], *rest[: count - sharing.whole]))


def parts(free: Sequence[Slot], level: int, count: int, sharing: _Sharing | None = None) -> list[list[Slot]]:
    """The groups of a level that have at least `count` free devices.

    Of an NVLink group where some pairs have no link, devices that all have one to each other are taken.
    """
    groups: dict[int, list[Slot]] = {}
    for slot in free:
        groups.setdefault(slot.islands[level], []).append(slot)
    enough = [group for group in groups.values() if len(group) >= count]
    if sharing is not None and sharing.whole:
        enough = [group for group in enough if sharing.allows(group)]
    if level == NVLINK:
        meshes = [group if group[0].peers is None else _near_mesh(group, count, sharing) for group in enough]
        return [group for group in meshes if group]
    return enough


def _near_mesh(group: Sequence[Slot], count: int, sharing: _Sharing | None) -> list[Slot]:
    """A mesh of the group, of one NUMA node if one has it."""
    for part in [*sorted(parts(group, NUMA, count, sharing), key=len), group]:
        found = _mesh(part, count, sharing or _Sharing(0, ()))
        if found:
            return found
    return []


_MOST_LOOKS = 50_000
"""Devices looked at in search of a mesh: boxes that people have need fewer than a hundred."""


def _mesh(group: Sequence[Slot], count: int, sharing: _Sharing) -> list[Slot]:
    """The first `count` of the group that are all linked to each other; none when there are not so many.

    Links may be described so that finding out takes exponential time: a group where none is found within
    _MOST_LOOKS counts as one without. Sets of devices are the bits of a number, by place in the group.
    """
    peers = _peers_within(group)
    taken = sum([1 << at for at, slot in enumerate(group) if slot in sharing.taken])
    spare = count - sharing.whole
    chosen: list[int] = []
    rests = [_core(peers, count) & ~(0 if spare else taken)]
    for _ in range(_MOST_LOOKS):
        rest = rests[-1]
        if rest.bit_count() < count - len(chosen):  # too few are left with whom these could be joined
            rests.pop()
            if not rests:
                return []
            chosen.pop()
            continue
        at = (rest & -rest).bit_length() - 1
        rests[-1] &= rest - 1
        chosen.append(at)
        if len(chosen) == count:
            return [group[one] for one in chosen]
        used = sum([taken >> one & 1 for one in chosen])
        rests.append(rests[-1] & peers[at] & ~(taken if used == spare else 0))
    return []


def _peers_within(group: Sequence[Slot]) -> list[int]:
    """Per device of a group, the others of it that it is linked to, whichever of the two says so."""
    place = {slot.device.uuid: at for at, slot in enumerate(group)}
    peers = [0] * len(group)
    for at, slot in enumerate(group):
        for other in sorted({place[one] for one in slot.peers or () if one in place} - {at}):
            peers[at] |= 1 << other
            peers[other] |= 1 << at
    return peers


def _members(mask: int) -> list[int]:
    found = []
    while mask:
        found.append((mask & -mask).bit_length() - 1)
        mask &= mask - 1
    return found


def _core(peers: Sequence[int], count: int) -> int:
    """The devices that are left when those with fewer than `count - 1` peers go, one after the other."""
    core = (1 << len(peers)) - 1
    weak = [at for at, mask in enumerate(peers) if mask.bit_count() < count - 1]
    while weak:
        at = weak.pop()
        if core >> at & 1:
            core &= ~(1 << at)
            weak += [one for one in _members(peers[at] & core) if (peers[one] & core).bit_count() < count - 1]
    return core


def _group_fit(group: Sequence[Slot]) -> tuple[int, int, tuple[int, int, int], int]:
    """No neighbours, then the smallest group, then the devices of the least worth, then the lowest index."""
    first = group[0]
    return (sum([slot.foreign for slot in group]), len(group), first.worth, first.device.index)
