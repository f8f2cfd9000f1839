"""Reads what `nvidia-smi` prints for people and programs: -L, -q, the table, and --query-gpu as CSV."""

from __future__ import annotations

from dsec import cards
from dsec.devices.seen import CUT, Instance, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LOG = "NVSMI LOG"
_TOTAL, _RESERVED = "FB Memory Usage/Total", "FB Memory Usage/Reserved"


def mib(text: str | None) -> int | None:
    """`81559 MiB`, `81559MiB` in bytes; N/A, absent and 0 are unknown."""
    number, unit, rest = (text or "").strip().partition("MiB")
    bare = number.strip()
    if unit != "MiB" or rest or not bare.isdecimal() or len(bare) > 12:
        return None
    return int(bare) * cards.MIB or None


def listed(text: str) -> list[Seen]:
    """GPUs and MIG instances of `nvidia-smi -L`."""
    found: list[Seen] = []
    for line in text.splitlines():
        bare = line.strip()
        head, mark, rest = bare.partition(" (UUID: ")
        uuid = rest.removesuffix(")") if mark else ""
        if bare.startswith("GPU ") and ": " in head and head[4:].split(":")[0].isdecimal():
            found.append(Seen(len(found), head.split(": ", 1)[1], uuid))
        elif bare.startswith("MIG ") and " Device " in head and found:
            one = Instance(bare.partition("(UUID: ")[2].removesuffix(")"), head.split()[1])
            found[-1] = found[-1]._replace(instances=(*(found[-1].instances or ()), one))
    return found


def queried(text: str) -> list[Seen]:
    """GPUs of `nvidia-smi -q`."""
    if _LOG not in text:
        return []
    found: list[Seen] = []
    for head, pairs in _blocks(text):
        values = dict(pairs)
        mig = values.get("MIG Mode/Current") == "Enabled"
        found.append(
            Seen(
                len(found),
                values.get("Product Name", ""),
                values.get("GPU UUID", ""),
                head,
                mib(values.get(_TOTAL)),
                mib(values.get(_RESERVED)) or 0,
                tuple(_queried_instances(pairs)) if mig else None,
            )
        )
    return found


def _blocks(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each GPU's bus id, and its lines as (`FB Memory Usage/Total`, value)."""
    head, pairs, above = "", [], []  # type: str, list[tuple[str, str]], list[tuple[int, str]]
    for line in text.splitlines():
        if line.startswith("GPU ") and line.count(":") >= 2:
            if head:
                yield head, pairs
            head, pairs, above = line[4:].strip(), [], []
            continue
        bare = line.strip()
        if not head or not bare:
            continue
        depth = len(line) - len(line.lstrip())
        above = [one for one in above if one[0] < depth]
        key, mark, value = bare.partition(" : ")
        name = "/".join([*(title for _, title in above[-1:]), key.strip()]) if depth > 4 else key.strip()
        pairs.append((name, value.strip()))
        if not mark:
            above.append((depth, bare))
    if head:
        yield head, pairs


def _queried_instances(pairs: list[tuple[str, str]]) -> Iterator[Instance]:
    one: Instance | None = None
    for name, value in pairs:
        if name == "MIG Device":
            if one is not None:
                yield one
            one = Instance()
        elif one is not None:
            if name == "MIG Device/GPU Instance ID":
                one = one._replace(group=value)
            elif name == "Shared/Multiprocessor count" and value.isdecimal():
                one = one._replace(cores=int(value[:6]))
            elif name in ("Shared FB Memory Usage/Total", _TOTAL) and one.total is None:
                one = one._replace(total=mib(value))
            elif name == "Product Name" or "/" not in name:
                yield one
                one = None
    if one is not None:
        yield one


def tabled(text: str) -> list[Seen]:
    """GPUs of the table that `nvidia-smi` prints; a name without room ends with dots."""
    found: list[Seen] = []
    wait = 0
    for line in text.splitlines():
        cells = line.strip().split("|")[1:-1]
        words = cells[0].split() if len(cells) >= 3 else []
        if len(words) > 2 and words[0].isdecimal() and _is_bus(cells[1].split()[:1]):
            name = cells[0].strip()[len(words[0]) :].rpartition(words[-1])[0].strip()
            found.append(Seen(len(found), name, pci=cells[1].split()[0]))
            wait = 2
        elif wait and len(cells) == 3:
            wait -= 1
            total = mib(cells[1].partition("/")[2])
            if total is not None:
                found[-1] = found[-1]._replace(total=total)
            if cells[2].strip() == "Enabled":
                found[-1] = found[-1]._replace(instances=())
        elif len(cells) == 4 and len(words) == 4 and all(word.isdecimal() for word in words):
            _tabled_instance(cells, words, found)
    return found


def _is_bus(words: list[str]) -> bool:
    parts = words[0].split(":") if words else []
    return len(parts) == 3 and all(char in "0123456789abcdefABCDEF." for part in parts for char in part)


def _tabled_instance(cells: list[str], words: list[str], found: list[Seen]) -> None:
    index, total, cores = int(words[0][:6]), mib(cells[1].partition("/")[2]), cells[2].split()[:1]
    if index < len(found) and total is not None:
        number = int(cores[0][:6]) if cores and cores[0].isdecimal() else None
        one = Instance(total=total, group=words[1], cores=number)
        found[index] = found[index]._replace(instances=(*(found[index].instances or ()), one))


def comma_separated(text: str) -> list[Seen]:
    """GPUs of `nvidia-smi --query-gpu=name,memory.total,... --format=csv`, with its header."""
    columns: list[str] = []
    found: list[Seen] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if is_header(line):
            columns, heads = [cell.partition(" [")[0] for cell in cells], cells
        elif columns and len(cells) == len(columns):
            row = dict(zip(columns, cells, strict=True))
            units = any("[MiB]" in head for head in heads)
            found.append(_row(row, len(found), units=units))
    return found


def is_header(line: str) -> bool:
    """Whether a line is the header of `--query-gpu`, with what an inventory needs of it."""
    bare = {cell.strip().partition(" [")[0] for cell in line.split(",")}
    return {"name", "memory.total"} <= bare


_MAKES = ("NVIDIA ", "Tesla ", "GeForce ", "Quadro ", "GRID ", "TITAN ")
"""What names of cards begin with."""


def headless(text: str) -> list[Seen]:
    """GPUs of `--query-gpu=... --format=csv,noheader`: each line has a card's name and sizes of memory.

    Of several sizes the largest is all of it; a number without a unit is a size where nothing else stands.
    """
    found: list[Seen] = []
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        names = [cell for cell in cells if cell.startswith(_MAKES)]
        sizes = [size for cell in cells if cell.endswith("MiB") and (size := mib(cell)) is not None]
        if not sizes and len(cells) == 2 and cells[1].isdecimal():
            sizes = [size for size in (mib(f"{cells[1]} MiB"),) if size is not None]
        if len(names) != 1 or not (sizes or "[N/A]" in cells or "[Not Supported]" in cells):
            return []
        uuid = next((cell for cell in cells if cell.startswith(("GPU-", "MIG-"))), "")
        pci = next((cell for cell in cells if _is_bus([cell])), None)
        found.append(Seen(len(found), names[0], uuid, pci, max(sizes, default=None), None, None))
    return found


def _row(row: dict[str, str], index: int, *, units: bool) -> Seen:
    def size(key: str) -> int | None:
        text = row.get(key, "")
        return mib(f"{text} MiB" if units and text.isdecimal() else text)

    enabled = row.get("mig.mode.current") == "Enabled"
    return Seen(
        index,
        row["name"],
        row.get("uuid", "").partition("[")[0],
        row.get("pci.bus_id", "").partition("[")[0] or None,
        size("memory.total"),
        size("memory.reserved"),
        () if enabled else None,
    )


def is_cut(one: Seen) -> bool:
    """Whether the output had no room for the name."""
    return one.model.endswith(CUT)
