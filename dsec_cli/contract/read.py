"""Typed access to the values that the checker read; what is absent or wrong is None or empty."""

from __future__ import annotations

from dsec.units import BitsPerSecond, Bytes, BytesPerSecond, Duration, FlopsPerSecond
from dsec_cli.contract.values import Gpu, GpuMemory
from dsec_cli.source.tree import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from dsec_cli.contract.check import Values

    V = TypeVar("V")


def _typed(values: Values, key: str, kind: type[V]) -> V | None:
    value = values.get(key)
    return value if isinstance(value, kind) else None


def text(values: Values, key: str) -> str | None:
    """A text."""
    value = values.get(key)
    return value if isinstance(value, str) else None


def flag(values: Values, key: str) -> bool | None:
    """True or false."""
    value = values.get(key)
    return value if isinstance(value, bool) else None


def whole(values: Values, key: str) -> int | None:
    """A whole number."""
    value = values.get(key)
    return value if isinstance(value, int) else None


def number(values: Values, key: str) -> float | None:
    """A number, whole or not."""
    value = values.get(key)
    return float(value) if isinstance(value, int | float) else None


def cpu_m(values: Values) -> int | None:
    """`cpu` in thousandths of a core; a demand too small to count is one of them."""
    cores = number(values, "cpu")
    if cores is None:
        return None
    return max(round(cores * 1000), 1) if cores else 0


def size(values: Values, key: str) -> Bytes | None:
    """An amount of memory or storage."""
    value = values.get(key)
    return value if isinstance(value, Bytes) else None


def duration(values: Values, key: str) -> Duration | None:
    """A span of time."""
    value = values.get(key)
    return value if isinstance(value, Duration) else None


def bandwidth(values: Values, key: str) -> BitsPerSecond | None:
    """A network rate."""
    return _typed(values, key, BitsPerSecond)


def byte_rate(values: Values, key: str) -> BytesPerSecond | None:
    """A memory or bus rate."""
    return _typed(values, key, BytesPerSecond)


def flop_rate(values: Values, key: str) -> FlopsPerSecond | None:
    """An arithmetic rate."""
    return _typed(values, key, FlopsPerSecond)


def gpu_memory(values: Values, key: str) -> GpuMemory | None:
    """GPU memory, exact or by class."""
    return _typed(values, key, GpuMemory)


def section(values: Values, key: str) -> Values | None:
    """A section's own values."""
    value = values.get(key)
    return value if isinstance(value, dict) else None


def items(values: Values, key: str) -> list[tuple[Path, Values]]:
    """The sections of a list that are mappings, each with its path from the owner."""
    found = _typed(values, key, list) or []
    return [((key, index), item) for index, item in enumerate(found) if isinstance(item, dict)]


def texts(values: Values, key: str) -> tuple[str, ...]:
    """The texts of a list."""
    found = _typed(values, key, list) or []
    return tuple(item for item in found if isinstance(item, str))


def placed_texts(values: Values, key: str, at: Path) -> tuple[tuple[Path, str], ...]:
    """The texts of a list, each with its path."""
    found = _typed(values, key, list) or []
    return tuple(((*at, key, index), item) for index, item in enumerate(found) if isinstance(item, str))


def gpu(values: Values, at: Path) -> Gpu | None:
    """The `gpu` of a section that stands at `at`."""
    stated = section(values, "gpu")
    if stated is None:
        return None
    return Gpu(
        path=(*at, "gpu"),
        count=whole(stated, "count"),
        memory=gpu_memory(stated, "memory"),
        type=text(stated, "type"),
        share=text(stated, "share"),
        within=text(stated, "within"),
        topology=text(stated, "topology"),
        min_count=whole(stated, "min_count"),
        max_count=whole(stated, "max_count"),
    )


def counts(values: Values, key: str) -> tuple[tuple[str, int], ...] | None:
    """Whole numbers by name, sorted; None: there are none."""
    stated = section(values, key) or {}
    found = sorted((name, value) for name, value in stated.items() if isinstance(value, int))
    return tuple(found) or None
