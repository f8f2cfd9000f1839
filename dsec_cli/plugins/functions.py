"""Functions of an image: from unwind data, symbols, relocations and what the code itself calls.

Where there is no unwind data (hand-written assembly, musl), code is found by following what is called,
pointed at or exported; gaps that nothing leads to are looked at byte by byte by `gaps`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import ChainMap
from dataclasses import dataclass, field

from dsec_cli.plugins.bytesearch import find_all
from dsec_cli.plugins.unwind import function_ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.plugins.decoding import Door, Flow
    from dsec_cli.plugins.elf import Image, Segment
    from dsec_cli.plugins.symbols import Bindings, Symbol

_STUB = b"\xff\x25"
"""A jump through memory, by its distance."""
_FUNCTIONS = (2, 10)
_LOOK = 4096
_NEAR = 1 << 16
_LEADS = (b"\xf3\x0f\x1e\xfa", b"\xf2", b"\xf3\x0f\x1e\xfa\xf2")
"""What a linkage stub may begin with: endbr64, bnd."""


@dataclass(slots=True)
class Function:
    """A stretch of code with one start."""

    start: int
    end: int
    flow: Flow
    known: bool
    """Whether its size came from unwind data or a symbol; else it was found by following calls."""


@dataclass(slots=True)
class Functions:
    """All functions of an image by start, and its linkage stubs."""

    by_start: dict[int, Function] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    stubs: dict[int, int] = field(default_factory=dict)
    """Address of a linkage stub to the slot that it jumps through."""
    unwind: int = 0
    """How many came from unwind data."""
    pairs: list[int] | None = None
    """Where bytes stand that would be a gate into the kernel; None: not looked for yet."""
    overlaps: dict[int, int] = field(default_factory=dict)
    """Start of code that begins inside an instruction of other code, to where it is reached from."""

    def holding(self, address: int) -> Function | None:
        """The function whose code holds an address."""
        at = bisect_right(self.starts, address) - 1
        if at < 0:
            return None
        found = self.by_start[self.starts[at]]
        return found if address < found.end else None


def find_functions(
    image: Image, symbols: tuple[Symbol, ...], bindings: Bindings, door: Door, roots: tuple[int, ...]
) -> Functions:
    """Every function that anything leads to, decoded."""
    found = Functions()
    texts = tuple(one for one in image.loads if one.executable)
    ranges = function_ranges(image)
    starts = [start for start, _ in ranges]
    find_stubs(image, texts, bindings, found, starts, lambda at: ranges[at][1])
    spans = _Spans(image, texts, ranges, door)
    found.unwind = len(spans.unwind)
    leads = {one.value for one in symbols if not one.imported and one.kind in (*_FUNCTIONS, 0)}
    leads.update(bindings.resolvers.values())
    leads.update(roots)
    pointed = {one for one in _pointed(symbols, bindings) - leads if spans.plausible(one)}
    _askew(spans, pointed, (*spans.unwind, *(lead for lead in leads if spans.is_code(lead))), door, found)
    known = {*spans.unwind, *(lead for lead in leads if spans.is_code(lead)), *found.stubs, *pointed}
    _decode(spans, known, door, found)
    return found


def _pointed(symbols: tuple[Symbol, ...], bindings: Bindings) -> set[int]:
    """What pointers in data lead to, as the loader sets them."""
    found = set(bindings.relative.values())
    for slot, behind in bindings.shifted.items():
        symbol = symbols[bindings.named[slot]]
        if not symbol.imported:
            found.add(symbol.value + behind)
    return found


def _askew(spans: _Spans, pointed: set[int], starts: tuple[int, ...], door: Door, found: Functions) -> None:
    """Note pointers that lead into the middle of an instruction of the code before."""
    ordered = sorted({*starts, *found.stubs})
    for target in pointed:
        at = bisect_right(ordered, target) - 1
        start = ordered[at] if at >= 0 else target
        if not target - _NEAR < start < target:
            continue
        end, sure = spans.limit(start)
        flow = door.flow(bytes(spans.image.take(start, end - start)), start, whole=sure)
        at = bisect_left(flow.ips, target)
        if target < flow.end and (at == len(flow.ips) or flow.ips[at] != target):
            found.overlaps.setdefault(target, start)


class _Spans:
    """Where a function that starts at an address can end."""

    def __init__(
        self,
        image: Image,
        texts: tuple[Segment, ...],
        ranges: list[tuple[int, int]],
        door: Door,
    ) -> None:
        self.image = image
        self.texts = texts
        inside = [pair for pair in ranges if any(one.vaddr <= pair[0] < one.end for one in texts)]
        self.unwind = dict(inside)
        self._starts = sorted(self.unwind)
        self._door = door

    def is_code(self, address: int) -> bool:
        """Whether an address lies in an executable segment, inside the file."""
        return any(one.vaddr <= address < one.end for one in self.texts)

    def plausible(self, address: int) -> bool:
        """Whether what a pointer leads to reads as code: pointers lead to data among code, too."""
        if not self.is_code(address):
            return False
        end, sure = self.limit(address)
        if sure:
            return True
        code = bytes(self.image.take(address, min(end - address, _LOOK)))
        flow = self._door.flow(code, address, whole=False, valid=True)
        ended = flow.end < address + len(code) or flow.returns
        return ended and not flow.invalid and all(self.is_code(target) for _, target, _ in flow.branches)

    def beyond(self, end: int) -> int:
        """Where the next code with unwind data begins, or the segment ends."""
        at = bisect_left(self._starts, end)
        segment = self.image.load_of(end)
        if segment is None:
            return end
        return min(segment.end, self._starts[at]) if at < len(self._starts) else segment.end

    def limit(self, start: int) -> tuple[int, bool]:
        """The furthest that a function can reach, and whether unwind data says so."""
        at = bisect_right(self._starts, start)
        if at:
            end = self.unwind[self._starts[at - 1]]
            if start < end:
                return end, True
        segment = self.image.load_of(start)
        end = segment.end if segment is not None else start
        return (min(end, self._starts[at]) if at < len(self._starts) else end), False


def find_stubs(
    image: Image,
    texts: tuple[Segment, ...],
    bindings: Bindings,
    found: Functions,
    starts: list[int],
    end_of: Callable[[int], int],
) -> None:
    """Note every linkage stub: a jump through a pointer that the loader sets.

    `starts`: of functions with unwind data, ascending; `end_of` gives where one ends, by its place there.
    Some linkers (lld, gold) give their stubs no unwind data. Such a jump in a function is its last call,
    and no stub; but all stubs of the linker may lie in one stretch of unwind data, which begins with a stub.
    """
    slots = ChainMap[int, int](bindings.named, bindings.resolvers, bindings.relative)
    for segment in texts:
        shift = segment.vaddr - segment.offset
        for at in find_all(image, _STUB, segment.offset, segment.offset + segment.filesz - 4):
            slot = at + shift + 6 + int.from_bytes(image.data[at + 2 : at + 6], "little", signed=True)
            if slot in slots and (at % 8 == 0 or _lead(image, at)):
                stub = at + shift - _lead(image, at)
                before = bisect_right(starts, stub) - 1
                apart = before < 0 or starts[before] == stub or end_of(before) <= stub
                if apart or _begins_linkage(image, starts[before]):
                    found.stubs[stub] = slot


def _begins_linkage(image: Image, start: int) -> bool:
    """Whether code begins as the linker's stubs do: with a push or a jump through memory."""
    code = bytes(image.take(start, min(16, image.left(start))))
    for lead in _LEADS:
        code = code.removeprefix(lead)
    return code[:2] in (b"\xff\x35", b"\xff\x25") or code[:1] == b"\x68"


def _lead(image: Image, at: int) -> int:
    """Bytes of the stub in front of its jump, which lies at an offset of the file."""
    for lead in sorted(_LEADS, key=len, reverse=True):
        start = at - len(lead)
        if start >= 0 and start % 8 == 0 and image.data[start:at] == lead:
            return len(lead)
    return 0


def _decode(spans: _Spans, known: set[int], door: Door, found: Functions) -> None:
    """Decode all of `known`, then what their branches lead to, until nothing new turns up."""
    waiting = sorted(known)
    while waiting:
        starts = sorted({*found.by_start, *waiting})
        for start in waiting:
            at = bisect_right(starts, start)
            following = starts[at] if at < len(starts) else 1 << 64
            function = _one(spans, start, following, door=door, known=start in known)
            found.by_start[start] = function
        found.starts = sorted(found.by_start)
        waiting = sorted(_led_to(spans, waiting, found))


def _one(spans: _Spans, start: int, following: int, *, door: Door, known: bool) -> Function:
    limit, sure = spans.limit(start)
    end = min(limit, following)
    whole = sure or start in spans.unwind
    flow = door.flow(bytes(spans.image.take(start, end - start)), start, whole=whole)
    beyond = min(spans.beyond(end), following)
    if whole and beyond > end and flow.runs_on():
        # Unwind data that ends before the code does, as that of clone3: what follows is part of it.
        tail = door.flow(bytes(spans.image.take(end, beyond - end)), end, whole=False)
        flow.append(tail)
        end = tail.end
    return Function(start, end if whole else flow.end, flow, known)


def _led_to(spans: _Spans, fresh: list[int], found: Functions) -> set[int]:
    """Starts of code that branches and pointers of `fresh` functions lead to and nobody has decoded."""
    wanted = set()
    for start in fresh:
        flow = found.by_start[start].flow
        targets = {target: True for _, target, _ in flow.branches}
        for _, address, how in flow.refs:
            if how == "lea":
                targets.setdefault(address, False)
        for target, sure in targets.items():
            holder = found.holding(target)
            if holder is None:
                if spans.is_code(target) and (sure or spans.plausible(target)):
                    wanted.add(target)
            elif target != holder.start and not _on_border(spans.image, holder, target):
                wanted.add(target)
                found.overlaps.setdefault(target, start)
    return wanted


def _on_border(image: Image, function: Function, address: int) -> bool:
    """Whether an instruction of the function begins at an address, or does so but for a lock prefix."""
    ips = function.flow.ips
    at = bisect_left(ips, address)
    if at < len(ips) and ips[at] == address:
        return True
    return at > 0 and ips[at - 1] == address - 1 and image.take(address - 1, 1) == b"\xf0"
