"""Whatever goes wrong: nothing is held twice, no work is lost or done twice, levels are kept."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenes import box, need, step, work

from dsec.core.pace import Span
from dsec.core.simmeasures import measure
from dsec.core.simulated import Fault, Manners, Scene
from dsec.core.simulation import Simulation, simulate

CARDS = [("a", 1000, 80), ("a", 1000, 80), ("b", 600, 24)]
LEVELS = ("critical", "pauseable", "elastic", "discardable")


@st.composite
def faults(draw, machines, steps):
    uuids = [device.uuid for machine in machines for device in machine.devices]
    found = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["gpu-lost", "slow", "straggler", "node-lost"]))
        at, lasts = draw(st.integers(0, 30)), draw(st.sampled_from([0, 1, 7]))
        machine = draw(st.integers(0, len(machines) - 1))
        devices = (draw(st.sampled_from(uuids)),)
        if kind == "node-lost":
            devices = tuple(device.uuid for device in machines[machine].devices)
        struck = frozenset({draw(st.integers(0, steps - 1))}) if kind == "straggler" else frozenset()
        permille = {"slow": 300, "straggler": 2500}.get(kind, 0)
        devices = () if kind == "straggler" else devices
        found.append(Fault(kind, at, devices, machine, struck, permille, lasts, kind))
    return sorted(found, key=lambda one: one.at_ms)


@st.composite
def scenes(draw, *, faulty=True):
    machines = [box(CARDS, name=f"m{at}", cores=4) for at in range(draw(st.integers(1, 2)))]
    n = draw(st.integers(1, 12))
    steps, spans = [], {}
    for at in range(n):
        needs = [f"S{one}" for one in sorted(draw(st.sets(st.integers(0, at - 1), max_size=2)))] if at else []
        gpus = draw(st.integers(0, 2))
        size = draw(st.sampled_from([0, 10, 20]))
        demand = need(
            draw(st.integers(0, 4)), gpus=gpus, size=size if gpus else 0, memory=draw(st.integers(0, 40))
        )
        steps.append(
            step(
                f"S{at}",
                demand,
                draw(st.integers(0, 9)),
                needs,
                rank=draw(st.integers(0, 5)),
                level=draw(st.sampled_from(LEVELS)),
                grace=draw(st.integers(0, 3)),
            )
        )
        if gpus == 2 and draw(st.booleans()):
            spans[at] = Span(1, 3)
    lengths = [max(0, one.estimate_ms + draw(st.integers(-2, 4))) for one in steps]
    what = work(
        steps,
        count=draw(st.integers(1, 3)),
        in_flight=2,
        lengths=lengths,
        spans=spans,
        checkpoint=draw(st.sampled_from([0, 2])),
    )
    manners = Manners(draw(st.integers(0, 2)), draw(st.integers(0, 2)), preempt=draw(st.booleans()))
    return Scene(what, machines, draw(faults(machines, n)) if faulty else (), manners)


def pieces_of(history):
    """Per instance its attempts, in order."""
    found = {}
    for piece in history.pieces:
        found.setdefault((piece.at, piece.iteration), []).append(piece)
    return found


@given(scene=scenes())
def test_nothing_is_held_beyond_what_there_is(scene):
    room = {device.uuid: device.memory_bytes for machine in scene.machines for device in machine.devices}
    seen = []

    def watch(now, cluster):
        seen.append(now)
        held = cluster.held
        for at, machine in enumerate(scene.machines):
            here = [lease for lease in held if cluster.machine(lease) == at]
            assert sum(lease.cpu_m for lease in here) <= machine.cpu_m
            assert sum(lease.memory_bytes for lease in here) <= machine.memory_bytes
            assert {uuid for lease in here for uuid in lease.devices} <= {one.uuid for one in machine.devices}
        for uuid, size in room.items():
            on_it = [lease for lease in held if uuid in lease.devices]
            assert len(on_it) <= 1 or sum(lease.gpu_memory_bytes or size for lease in on_it) <= size

    Simulation(scene, watch).play()
    assert seen == sorted(seen)


@given(scene=scenes())
def test_every_instance_is_done_once_and_never_after_it_was_done(scene):
    history = simulate(scene)
    found = pieces_of(history)
    for pieces in found.values():
        assert [piece.attempt for piece in pieces] == list(range(1, len(pieces) + 1))
        assert all(piece.cause != "ok" for piece in pieces[:-1]), "a finished Step was run again"
        assert all(one.to_ms <= other.from_ms for one, other in pairwise(pieces))
    done = {key for key, pieces in found.items() if pieces[-1].cause == "ok"}
    everything = {
        (at, iteration)
        for at in range(len(scene.work.steps))
        for iteration in range(scene.work.iterations.count)
    }
    assert done | set(history.never) == everything
    assert not done & set(history.never)
    if not scene.faults:
        assert not history.never


@given(scene=scenes())
def test_nothing_starts_before_what_it_needs_is_done(scene):
    found = pieces_of(simulate(scene))
    number = {one.id: at for at, one in enumerate(scene.work.steps)}
    for (at, iteration), pieces in found.items():
        for edge in scene.work.steps[at].needs:
            before = found[number[edge.step], iteration][-1]
            assert before.cause == "ok"
            assert before.to_ms <= pieces[0].ready_ms <= pieces[0].from_ms
        if iteration:
            assert found[at, iteration - 1][-1].to_ms <= pieces[0].ready_ms


@given(scene=scenes())
def test_levels_are_kept(scene):
    allowed = {
        "critical": set(),
        "pauseable": {"paused"},
        "elastic": {"shrunk"},
        "discardable": {"killed"},
    }
    for piece in simulate(scene).pieces:
        level = scene.work.steps[piece.at].level
        assert piece.cause in allowed[level] | {"ok", "gpu-lost", "node-lost"}
        if piece.cause in ("paused", "shrunk"):
            assert piece.lost_ms == 0, "what has its grace loses nothing"


@given(scene=scenes(faulty=False))
def test_work_is_neither_lost_nor_invented(scene):
    """Without faults: what an attempt has done goes on from there, or is done again as a whole."""
    machine_speed = {device.uuid: device.speed for one in scene.machines for device in one.devices}
    for (at, _), pieces in pieces_of(simulate(scene)).items():
        base = scene.work.steps[at].demand.gpu_count
        plain = all(len(piece.devices) == base for piece in pieces)
        if not plain or any(machine_speed[uuid] != 1000 for piece in pieces for uuid in piece.devices):
            continue
        worked = 0
        for number, piece in enumerate(pieces):
            took = piece.to_ms - piece.from_ms - (scene.manners.restore_ms if number else 0)
            if piece.cause == "killed":
                assert piece.lost_ms == took or took < 0
                took = 0
            elif piece.cause != "ok":
                took -= scene.work.steps[at].grace_ms
            worked += max(took, 0)
        assert worked == scene.work.lengths_ms[at]


@settings(max_examples=30)
@given(scene=scenes())
def test_the_same_scene_gives_the_same_history(scene):
    first, second = simulate(scene), simulate(scene)
    assert first == second
    assert measure(scene, first) == measure(scene, second)


@pytest.mark.battery
@given(scene=scenes())
def test_figures_are_within_their_ranges(scene):
    history = simulate(scene)
    found = measure(scene, history, {"": 1_000_000})
    for share in (found.use.gpu, found.use.shared, found.use.gpu_there, found.use.cpu, *found.use.over_time):
        assert share is None or 0 <= share <= 1000
    assert found.hunger.longest <= 1000
    assert found.waits.median <= found.waits.p95 <= found.waits.p99 <= found.waits.longest
    assert found.cost.idle <= found.cost.all
    assert found.steps + found.never == len(scene.work.steps) * scene.work.iterations.count
