"""GPU types: names, true memory and relative speed, so that `80GB` is not taken at its word.

Lint, planner and inventory share this table. Type matching is hard (an A100 is never a V100);
what may stand in for what is said only by `resolve`, with aliases and `>=` forms.
On the lint fast path: plain tuples, nothing imported.
"""

from __future__ import annotations

from dsec.record import Record

MIB = 2**20
GIB = 2**30


class Card(Record):
    """One GPU type as it is sold."""

    type: str
    """Canonical name: family, form where it matters, size."""
    family: str
    names: tuple[str, ...]
    """As the driver prints it, most common first."""
    gb: int
    """Nominal size, in GB."""
    mib: int | None
    """Total that `nvidia-smi` prints, in MiB; None where no reading was at hand."""
    source: str
    """Of `mib`: `capture` (recorded output), `printed` (public nvidia-smi tables),
    `vendor` (the data sheet's GiB), `` (unknown)."""
    speed: int
    """Dense FP16 rate with FP32 accumulation, vendor figure, in thousandths of a B200's."""
    nvlink: bool
    """NVLink exists for the type (a bridge or switch still has to be there)."""


CARDS: tuple[Card, ...] = (
    Card("a10", "a10", ("NVIDIA A10",), 24, 23028, "printed", 56, False),
    Card("a100-pcie-40gb", "a100", ("NVIDIA A100-PCIE-40GB",), 40, 40960, "printed", 139, True),
    Card("a100-pcie-80gb", "a100", ("NVIDIA A100 80GB PCIe",), 80, 81920, "printed", 139, True),
    Card("a100-sxm-40gb", "a100", ("NVIDIA A100-SXM4-40GB",), 40, 40960, "printed", 139, True),
    Card("a100-sxm-80gb", "a100", ("NVIDIA A100-SXM4-80GB",), 80, 81920, "capture", 139, True),
    Card("a10g", "a10g", ("NVIDIA A10G",), 24, 23028, "printed", 31, False),
    # With ECC off A40 and A6000 show 49,140 MiB; the A40 ships with it on.
    Card("a40", "a40", ("NVIDIA A40",), 48, 46068, "printed", 67, True),
    Card("a6000", "a6000", ("NVIDIA RTX A6000",), 48, 49140, "printed", 69, True),
    Card("a800-pcie-80gb", "a800", ("NVIDIA A800 80GB PCIe",), 80, 81920, "printed", 139, True),
    Card("a800-sxm-80gb", "a800", ("NVIDIA A800-SXM4-80GB",), 80, 81920, "printed", 139, True),
    Card("b200", "b200", ("NVIDIA B200",), 180, 183359, "printed", 1000, True),
    Card("gb10", "gb10", ("NVIDIA GB10",), 128, None, "", 44, False),
    Card("gh200-96gb", "gh200", ("NVIDIA GH200 480GB", "GH200 120GB"), 96, 97871, "printed", 440, True),
    Card("gtx-1660ti", "gtx-1660ti", ("NVIDIA GeForce GTX 1660 Ti",), 6, 5912, "capture", 5, False),
    Card("h100-nvl-94gb", "h100", ("NVIDIA H100 NVL",), 94, 95830, "printed", 371, True),
    Card("h100-pcie-80gb", "h100", ("NVIDIA H100 PCIe",), 80, 81559, "printed", 336, True),
    Card("h100-sxm-80gb", "h100", ("NVIDIA H100 80GB HBM3",), 80, 81559, "capture", 440, True),
    Card("h20-96gb", "h20", ("NVIDIA H20",), 96, 97871, "printed", 66, True),
    Card("h200-sxm-141gb", "h200", ("NVIDIA H200",), 141, 143771, "capture", 440, True),
    Card("h800-sxm-80gb", "h800", ("NVIDIA H800",), 80, 81559, "printed", 440, True),
    Card("l4", "l4", ("NVIDIA L4",), 24, 23034, "printed", 54, False),
    Card("l40", "l40", ("NVIDIA L40",), 48, 46068, "printed", 80, False),
    Card("l40s", "l40s", ("NVIDIA L40S",), 48, 46068, "capture", 161, False),
    Card("mi300x", "mi300x", ("AMD Instinct MI300X",), 192, None, "", 581, False),
    Card("p100", "p100", ("Tesla P100-PCIE-16GB", "Tesla P100-SXM2-16GB"), 16, 16384, "vendor", 9, False),
    Card("p2000", "p2000", ("Quadro P2000",), 5, 5120, "capture", 1, False),
    Card("rtx-2080s", "rtx-2080s", ("NVIDIA GeForce RTX 2080 SUPER",), 8, 8192, "capture", 20, True),
    Card("rtx-2080ti", "rtx-2080ti", ("NVIDIA GeForce RTX 2080 Ti",), 11, 11264, "vendor", 24, True),
    Card(
        "rtx-3070ti-laptop",
        "rtx-3070ti-laptop",
        ("NVIDIA GeForce RTX 3070 Ti Laptop GPU",),
        8,
        8192,
        "vendor",
        15,
        False,
    ),
    Card("rtx-3090", "rtx-3090", ("NVIDIA GeForce RTX 3090",), 24, 24576, "capture", 32, True),
    Card(
        "rtx-4000-sff-ada",
        "rtx-4000-sff-ada",
        ("NVIDIA RTX 4000 SFF Ada Generation",),
        20,
        20475,
        "capture",
        34,
        False,
    ),
    Card("rtx-4080s", "rtx-4080s", ("NVIDIA GeForce RTX 4080 SUPER",), 16, 16376, "capture", 46, False),
    Card("rtx-4090", "rtx-4090", ("NVIDIA GeForce RTX 4090",), 24, 24564, "printed", 73, False),
    Card("rtx-5090", "rtx-5090", ("NVIDIA GeForce RTX 5090",), 32, 32607, "printed", 93, False),
    Card(
        "rtx-6000-ada", "rtx-6000-ada", ("NVIDIA RTX 6000 Ada Generation",), 48, 49140, "printed", 81, False
    ),
    Card("t4", "t4", ("Tesla T4", "NVIDIA T4"), 16, 15360, "printed", 29, False),
    Card(
        "v100-16gb", "v100", ("Tesla V100-SXM2-16GB", "Tesla V100-PCIE-16GB"), 16, 16384, "vendor", 56, True
    ),
    Card("v100-pcie-32gb", "v100", ("Tesla V100-PCIE-32GB",), 32, 32768, "printed", 50, False),
    Card("v100-sxm-32gb", "v100", ("Tesla V100-SXM2-32GB",), 32, 32768, "printed", 56, True),
)

_FULL_SPEED = 2_250 * 10**12
"""A B200's dense FP16 rate, to which `Card.speed` relates."""
_NO_SPARSITY = frozenset(("p100", "v100", "p2000", "t4", "gtx-1660ti", "rtx-2080s", "rtx-2080ti"))
"""Families older than Ampere; of the others the printed rate is for sparse matrices, twice the dense one."""
MEMORY_GB_S = {
    "a10": 600,
    "a100-pcie-40gb": 1555,
    "a100-pcie-80gb": 1935,
    "a100-sxm-40gb": 1555,
    "a100-sxm-80gb": 2039,
    "a10g": 600,
    "a40": 696,
    "a6000": 768,
    "a800-pcie-80gb": 1935,
    "a800-sxm-80gb": 2039,
    "b200": 8000,
    "gb10": 273,
    "gh200-96gb": 4000,
    "gtx-1660ti": 288,
    "h100-nvl-94gb": 3938,
    "h100-pcie-80gb": 2039,
    "h100-sxm-80gb": 3352,
    "h20-96gb": 4000,
    "h200-sxm-141gb": 4800,
    "h800-sxm-80gb": 3352,
    "l4": 300,
    "l40": 864,
    "l40s": 864,
    "mi300x": 5325,
    "p100": 732,
    "p2000": 140,
    "rtx-2080s": 496,
    "rtx-2080ti": 616,
    "rtx-3070ti-laptop": 448,
    "rtx-3090": 936,
    "rtx-4000-sff-ada": 280,
    "rtx-4080s": 736,
    "rtx-4090": 1008,
    "rtx-5090": 1792,
    "rtx-6000-ada": 960,
    "t4": 320,
    "v100-16gb": 900,
    "v100-pcie-32gb": 900,
    "v100-sxm-32gb": 900,
}
"""Memory bandwidth by type in GB/s, the vendors' data sheets' figures."""
_ROUNDED = 105
"""Per cent of the printed rate that a demand may state: people round 1979 TFLOPS to 2000."""


def most_flops(row: Card) -> int:
    """The highest FP16 rate that the vendor prints for a card, in FLOP/s."""
    dense = row.speed * _FULL_SPEED // 1000
    return dense if row.family in _NO_SPARSITY else 2 * dense


def gives(row: Card, *, flops: int = 0, memory_rate: int = 0) -> bool:
    """Whether a card's printed rates reach the stated ones: FP16 in FLOP/s, memory in bytes per second."""
    return (
        flops * 100 <= most_flops(row) * _ROUNDED
        and memory_rate * 100 <= MEMORY_GB_S[row.type] * 10**9 * _ROUNDED
    )


LINES: tuple[tuple[str, ...], ...] = (
    ("p100", "v100", "a100", "h100", "h200", "b200"),
    ("t4", "l4", "l40", "l40s"),
    ("rtx-2080s", "rtx-2080ti", "rtx-3090", "rtx-4090", "rtx-5090"),
    ("a10g", "a10", "a40", "a6000", "rtx-6000-ada"),
)
"""What `>=` compares: families in ascending order. A form never leaves its line, so `>=a100` does
not admit an L40S; a family in no line has only itself."""

UNKNOWN_SPEED = 100
"""Stands for a type that is not in the table: a little under an A100, so that estimates stay sane."""

_BY_TYPE = {card.type: card for card in CARDS}
_DROPPED = frozenset(
    ("nvidia", "geforce", "tesla", "quadro", "amd", "instinct", "gpu", "hbm2", "hbm2e", "hbm3", "generation")
)
_MIG = "mig:"


def card(type_: str) -> Card | None:
    """The table's row for a canonical type."""
    return _BY_TYPE.get(type_)


def types() -> tuple[str, ...]:
    """All canonical types, sorted."""
    return tuple(row.type for row in CARDS)


def _words(text: str) -> list[str]:
    """`NVIDIA A100-SXM4-80GB` -> [a100, sxm, 80gb]: the spelling that all aliases share."""
    flat = text.lower()
    for separator in "_ /":
        flat = flat.replace(separator, "-")
    words: list[str] = []
    for word in flat.split("-"):
        plain = _word(word)
        if plain.endswith("ada") and plain[:-3].lstrip("rtx").isdecimal():  # RTX6000Ada
            words += [*(["rtx"] if plain.startswith("rtx") else []), plain[:-3].lstrip("rtx"), "ada"]
        elif plain in ("s", "ti") and words and words[-1][-1:].isdecimal():
            words[-1] += plain
        elif plain == "rtx" or not plain.startswith("rtx"):
            words += [plain] if plain else []
        else:
            words += ["rtx", plain[3:]]
    return words


def _word(word: str) -> str:
    if word in _DROPPED:
        return ""
    if word == "super":
        return "s"
    if word[:3] == "sxm" and word[3:].isdecimal():
        return "sxm"
    for suffix in ("gib", "gi", "g"):
        if word.endswith(suffix) and word[: -len(suffix)].isdecimal():
            return word[: -len(suffix)] + "gb"
    return word


def _tokens(row: Card) -> frozenset[str]:
    """Every word a spelling of this type may use: `v100-sxm-16gb` names the `v100-16gb`."""
    return frozenset(
        (*row.type.split("-"), f"{row.gb}gb", *(word for name in row.names for word in _words(name)))
    )


def _named(text: str) -> tuple[str, ...]:
    """The type whose driver name the text is, `NVIDIA` optional; node labels have `-` for blanks."""
    low = _label(text)
    return tuple(row.type for row in CARDS for name in row.names if _label(name) == low)


def _label(name: str) -> str:
    return name.lower().replace(" ", "-").replace("_", "-").removeprefix("nvidia-")


def _matching(text: str) -> tuple[str, ...]:
    """Types whose family the text names and whose other words all fit."""
    if text in _BY_TYPE:
        return (text,)
    named = _named(text)
    if named:
        return named
    words = _words(text)
    joined = "-".join(words)
    if joined in _BY_TYPE:
        return (joined,)
    if words and words[0][:4].isdecimal():
        words = ["rtx", *words]
    elif words[:1] == ["rtx"] and words[1:2] == ["a6000"]:
        words = words[1:]
    found = []
    for row in CARDS:
        family = row.family.split("-")
        if words[: len(family)] == family and _tokens(row).issuperset(words):
            found.append(row.type)
    return tuple(found)


def _is_mig(text: str) -> bool:
    """`mig:3g.40gb` and `mig:1c.3g.40gb`: the profile is the type of a MIG instance."""
    parts = text[len(_MIG) :].split(".")
    ends = ("g", "gb") if len(parts) == 2 else ("c", "g", "gb")
    if not text.startswith(_MIG) or len(parts) != len(ends):
        return False
    return all(
        part.endswith(end) and part[: -len(end)].isdecimal() for part, end in zip(parts, ends, strict=True)
    )


def resolve(text: str) -> tuple[str, ...]:
    """Canonical types that satisfy `text`, sorted; () when the table knows none.

    `a100` is every A100, `a100-80gb` both forms of that size, `NVIDIA A100-SXM4-80GB` one type,
    `>=a100` that family and every later one of its line (see LINES), never one with less memory
    than the smallest card named.
    """
    bare = text.strip()
    if bare.startswith(">="):
        return _at_least(bare[2:].strip())
    low = bare.lower()
    if _is_mig(low):
        return (low,)
    return _matching(bare)


def mig_speed(profile: str, parent: int) -> int:
    """Relative speed of a MIG instance: its slices of the seven that the GPU has."""
    slices = profile.removeprefix(_MIG).split(".")[0]
    share = int(slices[:-1]) if slices[:-1].isdecimal() else 7
    return max(1, parent * share // 7)


def _at_least(text: str) -> tuple[str, ...]:
    named = _matching(text)
    if not named:
        return ()
    rows = [_BY_TYPE[type_] for type_ in named]
    family = rows[0].family
    line = next((line for line in LINES if family in line), (family,))
    later = line[line.index(family) + 1 :]
    floor = min(row.gb for row in rows)
    best = "sxm" if all("sxm" in row.type for row in rows) else ""
    found = [row.type for row in CARDS if row.family in later and row.gb >= floor]
    found += [row.type for row in CARDS if row.family == family and row.gb >= floor and best in row.type]
    return tuple(sorted(found))


def spelt(name: str) -> str:
    """How a type that the table lacks is called, whoever writes it: `GeForce RTX 5060 Ti` -> rtx-5060ti."""
    return "-".join(_words(name)) or name.strip().lower()


def from_model(name: str, memory_bytes: int | None = None) -> str:
    """Type of a device that prints `name`: as in the table, else as `spelt`; "" when the name tells none.

    `memory_bytes` decides between types that print the same name.
    """
    found = _matching(name)
    if not found and any(char.isdecimal() for char in name):  # not "Graphics Device"
        return spelt(name)
    if len(found) > 1 and memory_bytes is not None:
        found = tuple(type_ for type_ in found if _near(_BY_TYPE[type_], memory_bytes))
    return found[0] if len(found) == 1 else ""


def _near(row: Card, memory_bytes: int) -> bool:
    total = total_bytes(row)
    return abs(memory_bytes - total) * 8 < total


def total_bytes(row: Card) -> int:
    """True total memory; nominal GiB where no reading was at hand."""
    return row.gb * GIB if row.mib is None else row.mib * MIB


def class_bytes(nominal_bytes: int) -> int:
    """What a nominal class (`24GB-class`) needs in a plan: 15/16 of its name.

    ECC on GDDR cards takes 1/16 and the driver keeps up to 4 % of decimal GB, so no card of a
    class has its whole name: an L40S leaves 44.4 GiB of "48 GB".
    """
    return nominal_bytes * 15 // 16


def satisfies(memory_bytes: int, row: Card, *, nominal: bool = False) -> bool:
    """Whether one card has the memory: exact bytes against its true total, a class by its name."""
    if nominal:
        return row.gb * 10**9 >= memory_bytes
    return total_bytes(row) >= memory_bytes


def memory_text(memory_bytes: int) -> str:
    """`79.65 GiB (81,559 MiB)`."""
    hundredths = (memory_bytes * 200 + GIB) // (2 * GIB)
    return f"{hundredths // 100}.{hundredths % 100:02d} GiB ({memory_bytes // MIB:,} MiB)"


def has(row: Card) -> str:
    """The arithmetic of a refusal: `h100-sxm-80gb has 79.65 GiB (81,559 MiB)`."""
    if row.mib is None:
        return f"{row.type} has {row.gb} GB by its name (true size unknown)"
    return f"{row.type} has {memory_text(total_bytes(row))}"


def nearest(text: str) -> str:
    """The known type or family most like `text`, or "" when none is close."""
    want = "-".join(_words(text.strip().removeprefix(">=")))
    ranked = sorted(
        (_distance(want, name), name[:1] != want[:1], name)
        for name in {row.family for row in CARDS} | set(_BY_TYPE)
    )
    distance, _, name = ranked[0]
    return name if distance <= min(3, len(want) // 3) else _of_family(want)


_MOST_DASHES = 2
"""Dashes in the name of a type: what has more is a sentence."""


def _of_family(want: str) -> str:
    """The type of the family that `want` begins with whose next words are most like its own; else ""."""
    within = [row for row in CARDS if f"{want}-".startswith(f"{row.family}-")]
    if not within or want.count("-") > _MOST_DASHES:
        return ""
    longest = max(len(row.family) for row in within)
    types = sorted(row.type for row in within if len(row.family) == longest)
    return min(types, key=lambda name: _distance(want, name[: len(want)]))


def _distance(one: str, two: str) -> int:
    """Edit distance (insert, delete, replace)."""
    row = list(range(len(two) + 1))
    for at, left in enumerate(one, 1):
        diagonal, row[0] = row[0], at
        for to, right in enumerate(two, 1):
            diagonal, row[to] = row[to], min(row[to] + 1, row[to - 1] + 1, diagonal + (left != right))
    return row[-1]
