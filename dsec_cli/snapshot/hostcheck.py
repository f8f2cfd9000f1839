"""Whether this machine can do what the recorded one did: a verdict for each axis, and what can be adapted.

`same`, `compatible` (it can, results may differ in the last bits), `degraded` (it can with what is
named, and only if that is accepted), `blocked` (it cannot).
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.snapshot.sections.hardware import kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.manifest import Plain

SAME, COMPATIBLE, DEGRADED, BLOCKED = "same", "compatible", "degraded", "blocked"
_ORDER = (SAME, COMPATIBLE, DEGRADED, BLOCKED)
_KERNEL_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH")
_BF16, _FP8 = (8, 0), (8, 9)


class Axis(Record):
    """One thing that two machines are compared by."""

    name: str
    verdict: str
    before: str
    after: str
    says: str
    """What follows from it; ""."""
    variables: tuple[tuple[str, str], ...] = ()
    """What `--compat` sets for the Steps because of it."""


def check(before: Plain, after: Plain, *, caches: str) -> tuple[Axis, ...]:
    """All axes; `before` and `after` are the hardware sections, `caches` a folder for kernels by GPU type."""
    axes = (
        *_gpus(before["gpus"], after["gpus"], caches),
        _version("driver", before["driver"], after["driver"]),
        _version("CUDA", before["cuda"], after["cuda"]),
        *_links(before["gpus"], after["gpus"]),
        _processor(before["processor"], after["processor"]),
        _amount("cores", before["cpu_m"], after["cpu_m"], 1000, ""),
        _amount("memory", before["memory_bytes"], after["memory_bytes"], 1 << 30, " GiB"),
        _version("C library", *(_number(side["libc"]) for side in (before, after))),
    )
    return tuple(one for one in axes if one is not None)


def worst(axes: tuple[Axis, ...]) -> str:
    """The verdict on the whole machine."""
    return max((one.verdict for one in axes), key=_ORDER.index, default=SAME)


def _number(libc: str | None) -> str | None:
    return libc.split(" ")[-1] if libc else None


def _gpus(before: list[Plain], after: list[Plain], caches: str) -> Iterator[Axis]:
    told = ", ".join(kinds(before)) or "none", ", ".join(kinds(after)) or "none"
    if kinds(before) == kinds(after):
        yield Axis("GPUs", SAME, *told, "")
        return
    if before and not after:
        yield Axis("GPUs", BLOCKED, *told, "the run had GPUs, and there are none")
        return
    if len(after) < len(before):
        says = f"{len(before)} GPUs were there, {len(after)} are: batches are cut otherwise"
        yield Axis("number of GPUs", DEGRADED, str(len(before)), str(len(after)), says)
    if not before:
        yield Axis("GPUs", COMPATIBLE, *told, "the run had none")
        return
    if {_kind(one) for one in before} != {_kind(one) for one in after}:
        yield _other_type(before, after, told, caches)
        yield from _precision(before, after)
    less = min(_memory(after)) < min(_memory(before)) if _memory(before) and _memory(after) else False
    if less:
        sizes = f"{min(_memory(before)) >> 30} GiB", f"{min(_memory(after)) >> 30} GiB"
        yield Axis("GPU memory", DEGRADED, *sizes, "what fitted may not fit: a smaller batch may be needed")


def _kind(gpu: Plain) -> str:
    return str(gpu["type"] or gpu["model"])


def _memory(gpus: list[Plain]) -> list[int]:
    return [gpu["memory_bytes"] for gpu in gpus if gpu["memory_bytes"]]


def _other_type(before: list[Plain], after: list[Plain], told: tuple[str, str], caches: str) -> Axis:
    name = "-".join(sorted({_kind(one).replace(" ", "-").replace("/", "-") for one in after}))
    variables = tuple((variable, f"{caches}/{name}/{variable.lower()}") for variable in _KERNEL_CACHES)
    family = {_kind(one).split("-")[0] for one in before} == {_kind(one).split("-")[0] for one in after}
    says = "caches of kernels get a folder of their own; results can differ in their last bits"
    return Axis("GPU type", COMPATIBLE if family else DEGRADED, *told, says, variables)


def _precision(before: list[Plain], after: list[Plain]) -> Iterator[Axis]:
    """Number formats that the recorded GPUs have and these have not; models are never rewritten for them."""
    one, two = _capability(before), _capability(after)
    if one is None or two is None:
        return
    for name, least in (("BF16", _BF16), ("FP8", _FP8)):
        if one >= least > two:
            says = f"code that uses {name} must be changed; it is not done for you"
            yield Axis(name, DEGRADED, "yes", "no", says)


def _capability(gpus: list[Plain]) -> tuple[int, ...] | None:
    known = [gpu["capability"] for gpu in gpus if gpu["capability"]]
    return min((tuple(int(part) for part in text.split(".")) for text in known), default=None)


def _version(name: str, before: str | None, after: str | None) -> Axis | None:
    if before is None or after is None:
        return None
    if before == after:
        return Axis(name, SAME, before, after, "")
    older = _numbers(after) < _numbers(before)
    says = "it is older than the recorded one" if older else "it is newer"
    return Axis(name, DEGRADED if older else COMPATIBLE, before, after, says)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())


def _links(before: list[Plain], after: list[Plain]) -> Iterator[Axis]:
    one, two = (_nvlinks(gpus) for gpus in (before, after))
    if one == two or not one:
        return
    told = f"{one} pairs by NVLink", f"{two} pairs by NVLink"
    if two:
        yield Axis("links", COMPATIBLE, *told, "NCCL takes other paths")
    else:
        says = "no NVLink: NCCL goes through the host"
        yield Axis("links", DEGRADED, *told, says, (("NCCL_P2P_DISABLE", "1"),))


def _nvlinks(gpus: list[Plain]) -> int:
    kinds_of = [str(kind) for gpu in gpus for _, kind in gpu["links"]]
    return sum(kind.startswith("NV") for kind in kinds_of) // 2


def _processor(before: Plain | None, after: Plain | None) -> Axis | None:
    if before is None or after is None:
        return None
    lost = [name for name in before["isa"] if name not in after["isa"]]
    told = before["model"], after["model"]
    if lost:
        return Axis("processor", DEGRADED, *told, f"it lacks {', '.join(lost)}")
    if before != after:
        return Axis("processor", COMPATIBLE, *told, "libraries may take other code paths")
    return Axis("processor", SAME, *told, "")


def _amount(name: str, before: int | None, after: int | None, unit: int, suffix: str) -> Axis | None:
    if before is None or after is None:
        return None
    told = f"{before / unit:.4g}{suffix}", f"{after / unit:.4g}{suffix}"
    if before == after or told[0] == told[1]:
        return Axis(name, SAME, *told, "")
    if after < before:
        return Axis(name, DEGRADED, *told, "there is less than there was")
    return Axis(name, COMPATIBLE, *told, "there is more")
