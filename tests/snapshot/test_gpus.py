"""GPUs as drivers tell them: simulated ones, a driver that hangs, and one that crashes whoever asks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from simulated import FIRST, Machine

from dsec.devices.facts import read_facts

TWO = "count 2\ngpu * name NVIDIA H100 80GB HBM3\ngpu * total 85899345920\n"


@pytest.fixture
def seen(machine: Machine, monkeypatch: pytest.MonkeyPatch):
    """What `read_facts` finds on a machine with these rules; the library is that of its own process only."""

    def read(rules: str, timeout_s: float = 30.0):
        machine.rules(rules)
        for name, value in machine.environ().items():
            if os.environ.get(name) != value:
                monkeypatch.setenv(name, value)
        monkeypatch.setattr("dsec.devices.facts.library_there", lambda: True)
        return read_facts(timeout_s=timeout_s)

    return read


def test_two_gpus(seen) -> None:
    found = seen(TWO + "gpu * ecc 1\ngpu 0 persistence 1\n")
    assert found.driver
    assert found.cuda
    assert [one.model for one in found.inventory.devices] == ["NVIDIA H100 80GB HBM3"] * 2
    assert found.cards[0].uuid == FIRST
    assert [one.ecc for one in found.cards] == [True, True]
    assert found.cards[0].persistence is True


def test_a_setting_that_is_not_told_is_none(seen) -> None:
    (one, _) = seen(TWO).cards
    assert one.capability is None
    assert one.power_limit_mw is None


@pytest.mark.parametrize("rules", ["crash 1\n", "hang 60\n"])
def test_a_driver_in_trouble(seen, rules: str) -> None:
    found = seen(TWO + rules, timeout_s=1.0)
    assert found.cards == ()
    assert "no GPU was read" in found.inventory.notes[-1]


def test_no_library_at_all(tmp_path: Path) -> None:
    found = read_facts()
    assert (found.driver, found.cuda) == (None, None) or found.cards
