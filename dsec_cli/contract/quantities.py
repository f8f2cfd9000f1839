"""Quantities by the name of their kind, GPU memory classes (`24GB-class`) included."""

from __future__ import annotations

from dsec.units import KINDS, Bytes, Quantity, UnitProblem, parse
from dsec_cli.contract.values import GpuMemory

CLASS = "-class"
"""Ending of a nominal GPU memory: what the card is sold as, not what it has."""

GPU_MEMORY = "GPU memory"
OF_BYTES = (GPU_MEMORY, Bytes.kind)
"""Kinds that are amounts of memory or storage."""
BY_NAME: dict[str, type[Quantity]] = {kind.kind: kind for kind in KINDS}


def example(kind: str) -> str:
    """A legal spelling of the kind, for messages."""
    return Bytes.example if kind == GPU_MEMORY else BY_NAME[kind].example


def read(kind: str, text: str) -> Quantity | GpuMemory:
    """The quantity that `text` spells; raises UnitProblem."""
    if kind != GPU_MEMORY:
        return parse(BY_NAME[kind], text)
    bare = text.strip()
    if not bare.endswith(CLASS):
        return GpuMemory(parse(Bytes, bare), nominal=False, text=bare)
    return GpuMemory(_nominal(bare.removesuffix(CLASS)), nominal=True, text=bare)


def _nominal(size: str) -> Bytes:
    """Cards are sold in whole decimal gigabytes, so a class has no other spelling."""
    digits = size.removesuffix("GB")
    if digits != size and digits.isascii() and digits.isdigit() and len(digits) <= 5:
        return parse(Bytes, size)
    whole = "".join(c for c in size if c in "0123456789")[:5]
    nearest = f"{whole}GB{CLASS}" if whole else f"24GB{CLASS}"
    raise UnitProblem("{text!r} is no memory class: a class is whole gigabytes", nearest, text=size)
