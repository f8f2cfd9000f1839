"""Shorthand for simulated work."""

from __future__ import annotations

from dsec.core.simulated import Manners, Scene, Workload
from dsec.inventory import Device, Inventory
from dsec.plan import Command, Demand, Edge, Iterations, Placement, PlannedStep, Retries, Source

GIB = 2**30
SRC = Source("dsandbox.yaml", 1, 1)


def box(cards=(), *, cores=8, memory=64 * GIB, name="GPU"):
    """A machine; `cards` are (type, speed, GiB)."""
    devices = tuple(
        Device(f"{name}-{at}", at, "", kind, size * GIB, None, None, None, (), speed, "ok")
        for at, (kind, speed, size) in enumerate(cards)
    )
    return Inventory("described:test", cores * 1000, memory, None, None, devices, ())


def need(cores=1, *, gpus=0, size=0, memory=0, types=()):
    return Demand(cores * 1000, memory * GIB, gpus, size * GIB, types, 0, 0)


def step(id_, demand, ms, needs=(), *, rank=0, level="pauseable", worker="", devices=(), grace=1000):
    """A need that starts with `~` is carried."""
    edges = tuple(
        Edge(one.lstrip("~"), "carried" if one.startswith("~") else "order", 0, SRC) for one in needs
    )
    command = (
        Command((), "", "m:f" if worker else "", "", worker) if worker else Command(("true",), "", "", "", "")
    )
    return PlannedStep(
        id_, "", command, (), ".", edges, demand, level, 0, grace, Retries(0, 0, 1), (), (),
        Placement(tuple(devices), ""), ms, "declared", rank, 0, (), "", SRC,
    )  # fmt: skip


def work(steps, *, count=1, in_flight=1, lengths=None, spans=None, checkpoint=0):
    return Workload(
        tuple(steps),
        Iterations(count, in_flight - 1, in_flight),
        [one.estimate_ms for one in steps] if lengths is None else lengths,
        [0] * len(steps),
        {},
        [checkpoint] * len(steps),
        spans or {},
    )


def scene(steps, *machines, faults=(), manners=None, **stated):
    return Scene(work(steps, **stated), machines, faults, manners or Manners())
