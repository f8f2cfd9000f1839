"""Whatever the bindings do, sampling goes on: a library in Python that fails in every way."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core import xids
from dsec.devices.door import Door
from dsec.devices.holding import Holding
from dsec.devices.measuring import Counters, measure
from dsec.devices.reading import Reading
from dsec.devices.sampling import Sampler


class _Error(Exception):
    def __init__(self, value: int) -> None:
        self.value = value


class _MismatchError(Exception):
    """As in the bindings: no error of the kind that callers expect."""


class Bindings:
    """Every call fails somehow, or answers what it must."""

    NVMLError = _Error
    NVMLLibraryMismatchError = _MismatchError
    nvmlMemory_v2 = 1  # noqa: N815 - as the bindings call it

    def __init__(self, seed: int, failing: int) -> None:
        self.chance = random.Random(seed)
        self.failing = failing
        self.nvmlLib = object()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.chance.randrange(100) < self.failing // 4:
            raise AttributeError(name)

        def call(*args: Any, **options: Any) -> Any:
            if self.chance.randrange(100) < self.failing:
                raise self.chance.choice(
                    (
                        _Error(self.chance.choice((1, 2, 3, 4, 6, 9, 10, 13, 15, 16, 18, 999))),
                        _MismatchError("unversioned"),
                        UnicodeDecodeError("utf-8", b"\\xff", 0, 1, "no"),
                    )
                )
            return _answer(name, args)

        return call


class _Values:
    gpu = 50
    busId = b"00000000:01:00.0"  # noqa: N815
    total, free, used, reserved = 10, 5, 4, 1
    nvmlReturn, valueType = 0, 3  # noqa: N815

    class value:  # noqa: N801
        ullVal = 7  # noqa: N815


def _answer(name: str, args: tuple[Any, ...]) -> Any:
    if name == "nvmlDeviceGetFieldValues":
        return [_Values()] * len(args[1])
    if name.endswith(("UtilizationRates", "MemoryInfo", "PciInfo")):
        return _Values()
    if "RunningProcesses" in name:
        return []
    if name.endswith(("HandleByIndex", "EventSetCreate")):
        return ctypes.c_void_p(1)
    if name.endswith("MigMode"):
        return [0, 0]
    if name.endswith(("UUID", "Name")):
        return "GPU-1"
    return None if name == "nvmlEventSetWait_v2" else 3


@given(st.integers(0, 2**32), st.integers(0, 100))
def test_no_failure_of_the_bindings_gets_out(seed: int, failing: int) -> None:
    door = Door(Bindings(seed, failing))
    blank = Reading("GPU-1", 0, "card")
    counters = Counters(slow_ns=0)
    for at_ns in range(1, 4):
        found = measure(door, None, blank, counters, at_ns * 10**9)
        assert found.uuid == "GPU-1"
        assert found.state in ("ok", "lost", "unknown")
        assert bool(found.reason) == (found.state != "ok")
        if found.state == "lost":
            assert found == blank._replace(state="lost", reason=found.reason)
    assert Holding(door).processes(None) in (None, {})


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from dsec.devices import door as doors

    def use(library: Bindings) -> None:
        monkeypatch.setattr(doors, "start", lambda: Door(library))

    return use


@pytest.mark.parametrize("failing", [0, 10, 50, 95])
def test_a_sampler_outlives_every_failure(bound: Any, failing: int) -> None:
    for seed in range(40):
        bound(Bindings(seed, failing))
        sampler = Sampler(retry_s=0, rescan_s=0, clock=iter(range(10**9, 10**12, 10**8)).__next__)
        for _ in range(5):
            readings = sampler.devices()
            assert len({reading.index for reading in readings}) == len(readings)
            assert readings or sampler.problem or failing
            sampler.processes("GPU-1")
            sampler.events()
        sampler.close()
        sampler.close()


@given(st.integers(-5, 2000))
def test_every_error_number_has_words(xid: int) -> None:
    assert xids.meaning(xid)
    assert not (xids.failing(xid) and xids.program(xid))


def test_which_errors_condemn_a_device() -> None:
    assert all(map(xids.failing, (48, 74, 79, 95, 119)))
    assert not any(map(xids.failing, (13, 31, 43, 45, 63, 94, 777)))
    assert all(map(xids.program, (13, 31, 43)))
