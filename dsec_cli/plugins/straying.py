"""Byte pairs that would enter the kernel if they ran, outside of all code that anything leads to."""

from __future__ import annotations

import re

from dsec_cli.plugins.bytesearch import gate_pairs
from dsec_cli.plugins.elf import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.decoding import Door
    from dsec_cli.plugins.graph import Graph

_BEFORE = 48
_FIRST_NUMBER = re.compile(rb"\xb8(..)\x00\x00|\x48\xc7\xc0(..)\x00\x00|\x31\xc0|\x6a.\x58|\xb0.", re.DOTALL)


def stray_gates(graph: Graph) -> list[int]:
    """Their addresses, ascending."""
    places = graph.functions.pairs
    if places is None:
        texts = (segment for segment in graph.image.loads if segment.executable)
        places = [at for segment in texts for at in gate_pairs(graph.image, segment)]
        graph.functions.pairs = places
    return [at for at in places if graph.functions.holding(at) is None]


def plausible(graph: Graph, door: Door, address: int) -> bool:
    """Whether code that sets a number would run into the gate at an address."""
    segment = graph.image.load_of(address)
    assert segment is not None  # the address was found in it
    start = max(segment.vaddr, address - _BEFORE)
    try:
        raw = bytes(graph.image.take(start, address + 2 - start))
    except Malformed:
        return False
    for match in _FIRST_NUMBER.finditer(raw):
        wide = match[1] or match[2]
        if wide is not None and int.from_bytes(wide, "little") >= 1024:
            continue
        begin = start + match.start()
        flow = door.flow(raw[match.start() :], begin, whole=True)
        if not flow.invalid and any(ip == address for ip, _ in flow.gates) and not flow.returns:
            return True
    return False
