"""Reads the GPUs in a process of its own, for machines where the NVIDIA library may crash its caller."""

from __future__ import annotations

import json
import subprocess

from dsec.codec import decode
from dsec.errors import StoredFormError
from dsec.interpreter import apart
from dsec.inventory import Inventory

TIMEOUT_S = 30.0


def read_apart(machine: Inventory, *, timeout_s: float = TIMEOUT_S) -> Inventory:
    """What `dsec.devices.probe` finds; a crash or silence leaves `machine` with a note."""
    try:
        done = subprocess.run(
            apart("dsec.devices.probe"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _without(machine, f"did not answer within {timeout_s:g} s")
    if done.returncode < 0:
        return _without(machine, f"crashed (signal {-done.returncode})")
    try:
        return decode(Inventory, json.loads(done.stdout))
    except (ValueError, StoredFormError):
        return _without(machine, f"could not be asked (exit status {done.returncode})")


def _without(machine: Inventory, what: str) -> Inventory:
    note = f"the NVIDIA library {what}: no GPU was read; `nvidia-smi` should fail in the same way"
    return machine._replace(notes=(*machine.notes, note))
