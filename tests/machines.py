"""Drawn machines, demands and turns of grants and returns, for properties of placement."""

from __future__ import annotations

from hypothesis import strategies as st

from dsec.cards import GIB
from dsec.core.groups import is_nvlink
from dsec.inventory import Device, Inventory
from dsec.plan import Demand, Terms

KINDS = ("a100", "l40s")
LINKS = ("", "NV4", "NV12", "PIX", "NODE", "SYS")


@st.composite
def machines(draw: st.DrawFn) -> Inventory:
    """One machine or two, of up to eight devices: any links, NUMA nodes, sizes, some MIG instances."""
    count = draw(st.integers(1, 8))
    migs = draw(st.sets(st.integers(0, count - 1), max_size=2))
    several = draw(st.booleans())
    ids = [f"{'MIG' if at in migs else 'GPU'}-{at}" for at in range(count)]
    where = [f"n{at * 2 // count}" if several else None for at in range(count)]
    links: dict[int, list[tuple[str, str]]] = {at: [] for at in range(count)}
    for one in range(count):
        for two in range(one + 1, count):
            link = draw(st.sampled_from(LINKS))
            if link and where[one] == where[two] and not {one, two} & migs:
                links[one].append((ids[two], link))
                links[two].append((ids[one], link))
    devices = tuple(
        Device(
            ids[at],
            at,
            "",
            draw(st.sampled_from(KINDS)),
            draw(st.sampled_from([None, 24 * GIB, 80 * GIB])),
            None,
            draw(st.sampled_from([None, 0, 1])),
            None,
            tuple(links[at]),
            draw(st.sampled_from([100, 100, 60])),
            draw(st.sampled_from(["ok", "ok", "ok", "lost"])),
            where[at],
        )
        for at in range(count)
    )
    return Inventory("described:drawn", 8000, 64 * GIB, None, None, devices, (), None, (("seat", 2),))


TERMS = st.none() | st.builds(
    Terms,
    st.sampled_from(["", "exclusive", "mig"]),
    st.sampled_from(["", "nvlink", "switch", "numa"]),
    st.booleans(),
    st.sampled_from([0, 0, 0, 1, 2]),
    st.sampled_from([(), (("seat", 1),), (("seat", 2),)]),
    st.sampled_from([None, None, None, 0, 1]),
)
DEMANDS = st.builds(
    lambda count, gib, kinds, terms: Demand(1000, GIB, count, gib * GIB, kinds, 0, 0, terms),
    st.integers(0, 4),
    st.sampled_from([0, 8, 20, 40]),
    st.sampled_from([(), (), ("a100",), KINDS]),
    TERMS,
)
TURNS = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=30)


def joined(one: Device, two: Device, within: str) -> bool:
    """Whether two devices are directly joined as a strict demand wants it."""
    if within == "numa":
        return one.numa is not None and one.numa == two.numa and one.node == two.node
    link = dict(one.links).get(two.uuid, "")
    return is_nvlink(link) if within == "nvlink" else True
