"""Why GPUs stand idle, and what levels and instants ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.overlap import covered
from dsec.core.schedule import Slice
from dsec_cli.dag.idle import Idle, idle_reasons


def slices(*rows):
    """Start, end and devices of each Step."""
    return [Slice(start, end, tuple(f"GPU-{at}" for at in devices)) for start, end, devices in rows]


@pytest.mark.parametrize(
    ("successors", "parts", "gpus", "expected"),
    [
        # CPU work first: all GPU Steps wait for it.
        (((1,), ()), slices((0, 30, ""), (30, 40, "0")), 1, [Idle("needs", 30, (0,))]),
        # The need of a need runs first; it is waited for just as long.
        (((1,), (2,), ()), slices((0, 10, ""), (10, 30, ""), (30, 40, "0")), 1, [Idle("needs", 30, (1, 0))]),
        # CPU work last: nothing is left for GPUs.
        (((1,), ()), slices((0, 10, "0"), (10, 40, "")), 1, [Idle("over", 30, (1,))]),
        # A Step for two GPUs waits until both are free.
        (((), ()), slices((0, 10, "0"), (10, 20, "01")), 2, [Idle("ready", 10, (1,))]),
        # One GPU of two does for all.
        (
            ((1,), ()),
            slices((0, 10, "0"), (10, 20, "0")),
            2,
            [Idle("needs", 10, (0,)), Idle("over", 10, (1,))],
        ),
        # Two Steps share one of two GPUs: the other one is idle all the time.
        (
            ((), (), (3,), ()),
            slices((0, 10, "0"), (0, 20, "0"), (0, 30, ""), (30, 40, "0")),
            2,
            [Idle("needs", 40, (2,)), Idle("over", 10, (3,))],
        ),
        # No GPU Step at all, and no GPU.
        (((),), slices((0, 10, "")), 2, [Idle("over", 20, (0,))]),
        (((),), slices((0, 10, "")), 0, []),
        ((), [], 2, []),
    ],
)
def test_each_idle_stretch_has_its_reason(successors, parts, gpus, expected):
    wants = [len(part.devices) for part in parts]
    assert list(idle_reasons(successors, parts, wants, gpus)) == expected


@st.composite
def schedules(draw):
    """Steps on GPUs or none, each after its needs; not a good schedule, but a possible one.

    Those that share let others onto their device meanwhile.
    """
    n = draw(st.integers(1, 9))
    needs = [draw(st.sets(st.integers(0, at - 1), max_size=2)) if at else set() for at in range(n)]
    free = [0, 0]
    parts: list[Slice] = []
    for at in range(n):
        device = draw(st.sampled_from([None, 0, 1]))
        begin = max((parts[need].end for need in needs[at]), default=0) + draw(st.integers(0, 5))
        shares = draw(st.booleans())
        if device is not None and not shares:
            begin = max(begin, free[device])
        end = begin + draw(st.integers(0, 9))
        if device is not None:
            free[device] = max(free[device], end)
        parts.append(Slice(begin, end, () if device is None else (f"GPU-{device}",)))
    return [[at for at in range(n) if u in needs[at]] for u in range(n)], parts


@given(job=schedules())
def test_the_reasons_add_up_to_all_idle_time(job):
    successors, parts = job
    found = idle_reasons(successors, parts, [len(part.devices) for part in parts], 2)
    span = max(part.end for part in parts)
    busy = sum(
        covered([(part.start, part.end) for part in parts if part.devices == (f"GPU-{gpu}",)])
        for gpu in range(2)
    )
    assert sum(one.gpu_ms for one in found) == 2 * span - busy
    assert [one.gpu_ms for one in found] == sorted((one.gpu_ms for one in found), reverse=True)
