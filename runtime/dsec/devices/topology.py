"""The matrix that `nvidia-smi topo -m` prints: tabs or spaces, ANSI codes, NIC rows, absent columns."""

from __future__ import annotations

from dsec.devices.procfs import members
from dsec.record import Record

_CLASSES = ("PIX", "PXB", "PHB", "NODE", "SYS")


class Matrix(Record):
    """GPUs in the matrix's order; all tuples have one item per GPU, and none when there is no matrix."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Link class to each GPU; "" to itself and where the class is not known."""
    cpus: tuple[str, ...]
    """CPU affinity as printed (`0-23,48-71`), "" when it is not."""
    numa: tuple[int | None, ...]


def matrix(text: str) -> Matrix:
    """The matrix in the text; an empty one when there is none."""
    lines = [_plain(line) for line in text.splitlines()]
    header = next((line for line in lines if _is_header(line)), None)
    if header is None:
        return Matrix((), (), (), ())
    names = tuple(word for word in header.split() if _is_gpu(word))
    found = {line.split()[0]: line for line in lines if line is not header and line.split() and _is_row(line)}
    whole = all(len(found.get(name, "").split()) > len(names) for name in names)
    if not whole or len(set(names)) < len(names):
        return Matrix((), (), (), ())
    rest = [_Row(found[name], header, len(names)) for name in names]
    return Matrix(
        names,
        tuple(row.links for row in rest),
        tuple(row.cpu for row in rest),
        tuple(row.numa for row in rest),
    )


def _plain(line: str) -> str:
    """The line without terminal escapes (the header is underlined even in a file) and marks of quotation."""
    parts = line.split("\x1b[")
    kept = [parts[0]]
    for part in parts[1:]:
        end = next((at for at, char in enumerate(part) if char.isalpha()), len(part))
        kept.append(part[end + 1 :])
    return "".join(kept).rstrip().lstrip("> ") if parts[0][:1] == ">" else "".join(kept).rstrip()


def _is_gpu(word: str) -> bool:
    return word.startswith("GPU") and word[3:].isdecimal()


def _is_header(line: str) -> bool:
    words = line.split()
    return bool(words) and words[0] == "GPU0" and (len(words) < 2 or words[1] != "X") and not _is_row(line)


def _is_row(line: str) -> bool:
    words = line.split()
    return len(words) > 1 and _is_gpu(words[0]) and (words[1] == "X" or is_link(words[1]))


def is_link(word: str) -> bool:
    """Whether the word is a link class."""
    return word in _CLASSES or (word.startswith("NV") and word[2:].isdecimal())


class _Row:
    """One GPU's row: its links, then columns that may be absent, empty or N/A."""

    def __init__(self, line: str, header: str, count: int) -> None:
        words = line.split()[1:]
        self.links = tuple(word if is_link(word) else "" for word in words[:count])
        self.cpu, self.numa = self._affinity(words, header)

    def _affinity(self, words: list[str], header: str) -> tuple[str, int | None]:
        """The first range after the links is the CPUs, the next number the NUMA node."""
        at = next(
            (place for place, word in enumerate(words) if word != "X" and not is_link(word)), len(words)
        )
        rest = words[at:]
        known = members(rest[0]) if rest else ()
        if "Affinity" not in header or not (known or rest[:1] == ["N/A"]):
            return "", None
        nodes = members(rest[1]) if len(rest) > 1 and "NUMA" in header else ()
        return rest[0] if known else "", nodes[0] if len(nodes) == 1 else None
