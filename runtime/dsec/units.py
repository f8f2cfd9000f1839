"""Quantities with units: the only place that reads and writes `24Gi`, `30s` or `5Gbps`.

Every quantity is an exact integer in its base unit, so equal amounts are equal values
(`1Ki == 1024B`) and nothing is lost between text and plan. Decimal prefixes (kB, MB, GB) are
powers of 1000 and binary prefixes (Ki, Mi, Gi) powers of 1024, as IEC 80000-13 has them; a bare
`G` is refused because its readers disagree about it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar, TypeVar

    Q = TypeVar("Q", bound="Quantity")


class Quantity(int):
    """An exact amount in the base unit of its kind; subclasses name the kind."""

    __slots__ = ()
    kind: ClassVar[str] = "quantity"
    base: ClassVar[str] = ""
    units: ClassVar[Mapping[str, int]] = {}
    show: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""

    def __str__(self) -> str:
        """Canonical text: the largest unit in which the amount is whole."""
        for unit in self.show:
            factor = self.units[unit]
            if self % factor == 0 and (abs(self) >= factor or factor == 1):
                return f"{int(self) // factor}{unit}"
        return f"{int(self)}{self.base}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class Bytes(Quantity):
    """An amount of memory or storage, in bytes."""

    __slots__ = ()
    kind = "size"
    base = "B"
    units: ClassVar[Mapping[str, int]] = {
        "B": 1,
        "kB": 10**3,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "TB": 10**12,
        "PB": 10**15,
        "Ki": 2**10,
        "Mi": 2**20,
        "Gi": 2**30,
        "Ti": 2**40,
        "Pi": 2**50,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
        "TiB": 2**40,
        "PiB": 2**50,
    }
    show = ("Pi", "Ti", "Gi", "PB", "TB", "GB", "Mi", "MB", "Ki", "kB", "B")
    example = "24Gi"


class BitsPerSecond(Quantity):
    """A network rate, in bits per second; byte rates are accepted and converted (x 8)."""

    __slots__ = ()
    kind = "bandwidth"
    base = "bps"
    units: ClassVar[Mapping[str, int]] = {
        "bps": 1,
        "kbps": 10**3,
        "Kbps": 10**3,
        "Mbps": 10**6,
        "Gbps": 10**9,
        "Tbps": 10**12,
        "bit/s": 1,
        "kbit/s": 10**3,
        "Mbit/s": 10**6,
        "Gbit/s": 10**9,
        "Tbit/s": 10**12,
        "B/s": 8,
        "kB/s": 8 * 10**3,
        "KB/s": 8 * 10**3,
        "MB/s": 8 * 10**6,
        "GB/s": 8 * 10**9,
        "TB/s": 8 * 10**12,
        "KiB/s": 8 * 2**10,
        "MiB/s": 8 * 2**20,
        "GiB/s": 8 * 2**30,
    }
    show = ("Tbps", "Gbps", "Mbps", "kbps", "bps")
    example = "5Gbps"


class BytesPerSecond(Quantity):
    """A memory or bus rate, in bytes per second."""

    __slots__ = ()
    kind = "byte rate"
    base = "B/s"
    units: ClassVar[Mapping[str, int]] = {
        "B/s": 1,
        "kB/s": 10**3,
        "KB/s": 10**3,
        "MB/s": 10**6,
        "GB/s": 10**9,
        "TB/s": 10**12,
        "KiB/s": 2**10,
        "MiB/s": 2**20,
        "GiB/s": 2**30,
        "TiB/s": 2**40,
    }
    show = ("TB/s", "GB/s", "MB/s", "kB/s", "B/s")
    example = "3.2TB/s"


class FlopsPerSecond(Quantity):
    """Arithmetic throughput, in floating-point operations per second."""

    __slots__ = ()
    kind = "FLOP rate"
    base = "FLOPS"
    units: ClassVar[Mapping[str, int]] = {
        "FLOPS": 1,
        "KFLOPS": 10**3,
        "MFLOPS": 10**6,
        "GFLOPS": 10**9,
        "TFLOPS": 10**12,
        "PFLOPS": 10**15,
        "EFLOPS": 10**18,
    }
    show = ("EFLOPS", "PFLOPS", "TFLOPS", "GFLOPS", "MFLOPS", "KFLOPS", "FLOPS")
    example = "2000TFLOPS"


class Duration(Quantity):
    """A span of time, in nanoseconds; `1h30m` style sums are accepted."""

    __slots__ = ()
    kind = "duration"
    base = "ns"
    units: ClassVar[Mapping[str, int]] = {
        "ns": 1,
        "us": 10**3,
        "µs": 10**3,
        "ms": 10**6,
        "s": 10**9,
        "sec": 10**9,
        "m": 60 * 10**9,
        "min": 60 * 10**9,
        "h": 3600 * 10**9,
        "d": 86400 * 10**9,
    }
    show = ("d", "h", "m", "s", "ms", "us", "ns")
    example = "30s"

    @property
    def seconds(self) -> float:
        """The same span in seconds, for clocks and timers."""
        return self / 1e9

    @property
    def ms(self) -> int:
        """Whole milliseconds, rounded up, for stored forms."""
        return -(-self // 1_000_000)


class MilliCelsius(Quantity):
    """A temperature, in thousandths of a degree Celsius."""

    __slots__ = ()
    kind = "temperature"
    base = "mC"
    units: ClassVar[Mapping[str, int]] = {"mC": 1, "C": 1000, "°C": 1000, "℃": 1000}
    show = ("C", "mC")
    example = "85C"


class RequestsPerDay(Quantity):
    """A request rate, in requests per day (exact for every unit written per s, min, h or day)."""

    __slots__ = ()
    kind = "request rate"
    base = "req/day"
    units: ClassVar[Mapping[str, int]] = {
        "req/s": 86400,
        "req/sec": 86400,
        "req/min": 1440,
        "req/m": 1440,
        "req/h": 24,
        "req/hour": 24,
        "req/day": 1,
        "req/d": 1,
    }
    show = ("req/s", "req/min", "req/h", "req/day")
    example = "100req/min"


KINDS: tuple[type[Quantity], ...] = (
    Bytes,
    BitsPerSecond,
    BytesPerSecond,
    FlopsPerSecond,
    Duration,
    MilliCelsius,
    RequestsPerDay,
)


class UnitProblem(ValueError):
    """Text that is no quantity of the wanted kind; `nearest` is a legal spelling or "".

    The reason is kept as template and arguments too, so that it can be said in another language.
    """

    def __init__(self, template: str, nearest: str = "", /, **args: str) -> None:
        self.reason = template.format_map(args)
        super().__init__(self.reason)
        self.template = template
        self.args_of_reason = args
        self.nearest = nearest


def _split(text: str) -> tuple[str, str]:
    """Leading decimal number and the rest: `3.2 TB/s` -> ("3.2", "TB/s")."""
    at = 0
    if text[:1] in ("+", "-"):
        at = 1
    while at < len(text) and (text[at] in "0123456789" or text[at] == "."):
        at += 1
    return text[:at], text[at:].strip()


def _scaled(number: str, factor: int, kind: type[Quantity]) -> int:
    """`number` x `factor` as an exact integer; raises UnitProblem when it is not one."""
    sign = -1 if number.startswith("-") else 1
    digits = number.lstrip("+-")
    whole, _, fraction = digits.partition(".")
    if "." in fraction or not (whole + fraction) or len(digits) > 30:
        raise UnitProblem("{text!r} is not a decimal number", text=number)
    amount = int((whole + fraction) or "0") * factor
    scale: int = 10 ** len(fraction)
    if amount % scale:
        raise UnitProblem("{text} is finer than one {unit}", text=number, unit=kind.base)
    return sign * (amount // scale)


def _nearest(terms: list[str], kind: type[Quantity]) -> str:
    """The legal spelling that the writer of the terms most likely meant, or ""."""
    from dsec.spelling import unit_meant

    spelt = []
    for term in terms:
        number, unit = _split(term)
        meant = unit if unit in kind.units else unit_meant(kind.kind, unit, kind.units, number=number)
        spelt.append(number + meant if meant else "")
    if not all(spelt):
        return ""
    try:
        amount = sum(_term(kind, term) for term in spelt)
    except UnitProblem:
        return ""
    return "".join(spelt) if _possible(amount, kind) else ""


def _possible(amount: int, kind: type[Quantity]) -> bool:
    return amount < 2**63 and (amount >= 0 or kind is MilliCelsius)


def _term(kind: type[Quantity], text: str) -> int:
    number, unit = _split(text)
    if not number.strip("+-"):
        raise UnitProblem("{text!r} does not start with a number", text=text)
    factor = kind.units.get(unit)
    if factor is None:
        if not unit:
            raise UnitProblem("{text!r} has no unit", text=text)
        raise UnitProblem("{unit!r} is not a unit of {kind}", unit=unit, kind=kind.kind)
    return _scaled(number, factor, kind)


def _terms(text: str) -> list[str]:
    """Split a sum such as `1h30m` into its terms; any other text is one term."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(text)):
        if text[at] in "0123456789" and text[at - 1].isalpha():
            parts.append(text[start:at])
            start = at
    return [*parts, text[start:]]


def parse(kind: type[Q], text: str) -> Q:
    """Read `text` as a quantity of `kind`; raises UnitProblem with the nearest legal spelling."""
    bare = text.strip()
    if not bare:
        raise UnitProblem("empty text is no {kind}", kind.example, kind=kind.kind)
    if len(bare) > 64:
        raise UnitProblem(
            "{text!r}... is too long for a {kind}", kind.example, text=bare[:16], kind=kind.kind
        )
    terms = _terms(bare) if kind is Duration else [bare]
    try:
        amount = sum(_term(kind, term) for term in terms)
    except UnitProblem as problem:
        raise UnitProblem(problem.template, _nearest(terms, kind), **problem.args_of_reason) from None
    if amount < 0 and kind is not MilliCelsius:
        raise UnitProblem("{text!r} is negative", text=bare)
    if amount >= 2**63:
        raise UnitProblem("{text!r} is larger than any machine has", text=bare)
    return kind(amount)
