"""How data can get from one Step to another, by where both were placed and what joins these places.

What is not known is called unknown, and then the way that always works is given. A declared protocol
that the places cannot have is refused with the fact that forbids it.
"""

from __future__ import annotations

from dsec.core.groups import is_nvlink
from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.inventory import Device, Inventory, Node

SHARED, NVLINK, PCIE = "shared-memory", "nvlink-p2p", "pcie"
ROCE, TCP, QUIC = "rdma-over-converged-ethernet", "tcp", "quic"

_PATHS = {
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "the processor's PCIe bridge",
    "NODE": "several PCIe bridges of one NUMA node",
    "SYS": "across NUMA nodes",
}
"""PCIe paths as `nvidia-smi topo -m` names them, the shortest first."""
_OFF = "PCIe"
"""The route where NVLink is there and not used."""
_COHERENT = ("gb10", "gh200")
"""Types that have their memory in common with the host."""


class Way(Record):
    """One way between two ends."""

    protocol: str
    route: str
    bandwidth: str
    reason: str


class Impossible(Record):
    """Why the ends cannot speak the declared protocol."""

    text: str


class Ways:
    """What joins the places of one inventory."""

    def __init__(self, inventory: Inventory, *, nvlink: bool = True, placed: bool = True) -> None:
        """`nvlink`: whether NVLink may be used; `placed`: whether the devices are more than an assumption."""
        self._nvlink = nvlink
        self._placed = placed
        self._devices = {device.uuid: device for device in inventory.devices}
        self._links = {
            (device.uuid, other): link for device in inventory.devices for other, link in device.links
        }
        self._nodes: dict[str, Node] = {node.name: node for node in inventory.nodes or ()}
        self._several = len(self._nodes) > 1

    def way(
        self, source: Iterable[str], target: Iterable[str], declared: str | None = None
    ) -> Way | Impossible:
        """The way between two sets of devices (none: the host's processors)."""
        one = [self._devices[uuid] for uuid in source if uuid in self._devices]
        two = [self._devices[uuid] for uuid in target if uuid in self._devices]
        found = self._found(one, two)
        if not declared:
            return found
        wrong = self._wrong(one, two, declared, found)
        if wrong:
            return Impossible(wrong)
        if declared == found.protocol:
            return found
        return self._as_declared(declared, found, both=bool(one and two))

    def _found(self, one: list[Device], two: list[Device]) -> Way:
        if self._several and not self._on_one_machine(one, two):
            return self._between_machines(one, two)
        if not one and not two:
            return Way(SHARED, "host", "host", "both run on the host's processors")
        if one and two:
            return self._between_devices(one, two)
        if not self._placed:
            return Way(PCIE, "host", "pcie", "a GPU and the host's memory")
        return _to_host((one or two)[0])

    def _on_one_machine(self, one: list[Device], two: list[Device]) -> bool:
        return bool(one and two) and {device.node for device in one} == {device.node for device in two}

    def _between_machines(self, one: list[Device], two: list[Device]) -> Way:
        if not one or not two:
            why = "unknown: a Step without a GPU may be on any of the machines, and tcp reaches each"
            return Way(TCP, "", "unknown", why)
        names = one[0].node or "", two[0].node or ""
        ends = [self._nodes.get(name) for name in names]
        rates = [end.network_bps for end in ends if end is not None and end.network_bps]
        band = f"network {min(rates) // 10**6:,} Mbps" if len(rates) == len(ends) else "network"
        apart = f"{names[0]} and {names[1]} are two machines"
        if all(end is not None and end.rdma for end in ends):
            return Way(ROCE, "network", band, f"{apart}, both with RDMA over Ethernet")
        short = next(
            (name, end) for name, end in zip(names, ends, strict=True) if end is None or not end.rdma
        )
        known = short[1] is not None and short[1].rdma is not None
        fact = f"{short[0]} has no RDMA" if known else f"whether {short[0]} has RDMA is not stated"
        return Way(TCP, "network", band, f"{apart}; {fact}")

    def _between_devices(self, one: list[Device], two: list[Device]) -> Way:
        if not self._placed:
            return Way(SHARED, "", "unknown", "unknown: no inventory says which GPUs there are")
        pairs = [(a, b) for a in one for b in two if a.uuid != b.uuid]
        if not pairs:
            return Way(SHARED, "one device", "device", f"both on {_gpu(one[0])}: nothing leaves it")
        if any(_is_mig(device) for device in (*one, *two)):
            why = "MIG instances have no path to each other: through the host's memory"
            return Way(SHARED, "host", "host", why)
        for a, b in pairs:
            if not self._links.get((a.uuid, b.uuid)):
                why = f"unknown: what links {_gpu(a)} and {_gpu(b)} is not stated; both reach the host"
                return Way(SHARED, "", "unknown", why)
        worst, link = self._worst(pairs)
        where = f"{_gpu(worst[0])} to {_gpu(worst[1])}"
        if not is_nvlink(link):
            across = " across NUMA nodes" if link == "SYS" else ""
            return Way(PCIE, link, f"pcie{across}", f"{where}: {link}, {_PATHS.get(link, 'over PCIe')}")
        if not self._nvlink:
            return Way(PCIE, _OFF, "pcie", f"{where}: {link}, but nvlink_mode is off")
        return Way(NVLINK, link, "nvlink", f"{where}: {link}")

    def _worst(self, pairs: list[tuple[Device, Device]]) -> tuple[tuple[Device, Device], str]:
        """The pair with the longest path; what goes all ways is as slow as that."""
        order = list(_PATHS)

        def badness(pair: tuple[Device, Device]) -> tuple[int, int]:
            link = self._links[pair[0].uuid, pair[1].uuid]
            if is_nvlink(link):
                return (-1, -int(link[2:]))
            return (order.index(link) if link in order else len(order), 0)

        worst = max(pairs, key=badness)
        return worst, self._links[worst[0].uuid, worst[1].uuid]

    def _wrong(self, one: list[Device], two: list[Device], declared: str, found: Way) -> str:
        """Why the protocol is impossible; empty: it is possible, or nothing is known against it."""
        apart = self._several and bool(one and two) and not self._on_one_machine(one, two)
        if apart and declared in (SHARED, NVLINK, PCIE):
            return f"{one[0].node} and {two[0].node} are two machines"
        if declared == NVLINK:
            return self._no_nvlink(one, two, found)
        if declared == PCIE and not one and not two:
            return "neither end has a GPU, and the host's processors share their memory"
        if declared == ROCE:
            names = {device.node for device in (*one, *two)} if self._several else set(self._nodes)
            without = sorted(name for name in names if name and self._lacks_rdma(name))
            return f"{without[0]} has no RDMA" if without else ""
        return ""

    def _lacks_rdma(self, name: str) -> bool:
        node = self._nodes.get(name)
        return node is not None and node.rdma is False

    def _no_nvlink(self, one: list[Device], two: list[Device], found: Way) -> str:
        if not one or not two:
            return "neither end has a GPU" if not one and not two else "one end has no GPU"
        if not self._nvlink:
            return "nvlink_mode is off"
        if found.protocol == NVLINK or found.route in ("", "one device"):
            return ""
        return found.reason

    def _as_declared(self, declared: str, found: Way, *, both: bool) -> Way:
        """What is declared although another way was found, or none for sure."""
        if declared == ROCE:
            known = bool(self._nodes) and all(node.rdma for node in self._nodes.values())
            why = "as declared" if known else "as declared; not verified: RDMA is not stated"
            return Way(ROCE, "network", "network", why)
        if declared in (TCP, QUIC):
            remote = found.route == "network"
            band = found.bandwidth if remote else "host" if not self._several else "network"
            return Way(declared, "network" if remote or self._several else "host", band, "as declared")
        why = f"as declared; {found.reason.replace('unknown: ', 'not verified: ', 1)}"
        if declared == NVLINK:
            return Way(NVLINK, found.route, found.bandwidth, why)
        if declared == SHARED:
            return Way(SHARED, "host", "host", f"as declared; {found.reason.removeprefix('unknown: ')}")
        return Way(PCIE, _OFF if both else "host", "pcie", why)


def _to_host(device: Device) -> Way:
    near = f", NUMA {device.numa}" if device.numa is not None else ""
    if device.type.partition("-")[0] in _COHERENT:
        return Way(SHARED, "host", "host", f"{_gpu(device)} has its memory in common with the host")
    return Way(PCIE, "host", "pcie", f"{_gpu(device)} and the host's memory{near}")


def _gpu(device: Device) -> str:
    return f"GPU {device.index}"


def _is_mig(device: Device) -> bool:
    return device.uuid.startswith("MIG-")
