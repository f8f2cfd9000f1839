"""Values of Slurm's options: times, sizes, GPUs, arrays, dependencies. None: not understood."""

from __future__ import annotations

from dsec.record import Record

SECOND_NS = 10**9
_SIZES = {"": 2, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
MOST = 10_000
"""Steps that one array may become."""


def time_ns(text: str) -> int | None:
    """`90` (minutes), `1:30:00`, `2-12`, `2-12:30:00`; None also for no limit."""
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if (
        (dash and not days)
        or len(parts) > 3
        or not all(part.isdecimal() and len(part) < 9 for part in (*parts, days or "0"))
    ):
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) == 3:
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    total = ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    return total * SECOND_NS or None


def size_bytes(text: str) -> int | None:
    """`64G`, `4000` (MiB): Slurm's prefixes are powers of 1024; None also for 0, which is all there is."""
    bare = text.strip().upper().removesuffix("B")
    digits = bare.rstrip("KMGTP")
    power = _SIZES.get(bare[len(digits) :])
    if power is None or not digits.isdecimal() or len(digits) > 12:
        return None
    return int(digits) * 1024**power or None


class Gpus(Record):
    """`gpu:a100:4`."""

    type: str
    count: int  # type: ignore[assignment] # a tuple's method of this name is never used here


def gpus(text: str) -> Gpus | None:
    """`a100:4`, `4` or `a100` of --gpus and its like."""
    type_, _, number = text.rpartition(":")
    if not number.isdecimal():
        type_, number = (text, "1") if not type_ else ("", "")
    if not number.isdecimal() or len(number) > 6 or ":" in type_:
        return None
    return Gpus(type_, int(number))


def gres(text: str) -> tuple[Gpus | None, tuple[str, ...]]:
    """The GPUs of a --gres list, and its other resources."""
    found: Gpus | None = None
    others = []
    for item in text.split(","):
        name, _, rest = item.partition("(")[0].strip().removeprefix("gres/").partition(":")
        one = gpus(rest or "1") if name == "gpu" else None
        if one is None or (found is not None and found.type != one.type):
            others.append(item)
        elif found is None:
            found = one
        else:
            found = found._replace(count=found.count + one.count)
    return found, tuple(others)


def array(text: str) -> tuple[tuple[int, ...], str] | None:
    """Indices of `0-31:4,40%2`, and what follows the `%`; None where there are none or too many."""
    indices, _, most = text.partition("%")
    found: list[int] = []
    for part in indices.split(","):
        span, _, stride = part.partition(":")
        low, dash, high = span.partition("-")
        numbers = (low, high if dash else low, stride or "1")
        if not all(number.isdecimal() and len(number) < 8 for number in numbers) or not int(numbers[2]):
            return None
        found += range(int(low), int(numbers[1]) + 1, int(numbers[2]))[: MOST + 1]
        if len(found) > MOST:
            return None
    return (tuple(dict.fromkeys(found)), most) if found else None


MOST_WAITS = 2_000
"""Items of one list, and jobs of one item: a command line holds no more."""


class Wait(Record):
    """One item of a --dependency list: `afterok` and the jobs it names."""

    type: str
    jobs: tuple[str, ...]


def waits(text: str) -> tuple[tuple[Wait, ...], bool]:
    """The items, and whether any one of them suffices (`?` between them)."""
    found: dict[Wait, None] = {}
    for item in dict.fromkeys(text.replace("?", ",").split(",", MOST_WAITS)[:MOST_WAITS]):
        type_, *jobs = item.strip().split(":", MOST_WAITS)
        if type_:
            names = dict.fromkeys(job.partition("+")[0] for job in jobs[:MOST_WAITS] if job)
            found[Wait(type_.lower(), tuple(names))] = None
    return tuple(found), "?" in text
