"""What faults, levels and elasticity do to single Steps, drawn by hand."""

import pytest
from scenes import box, need, scene, step

from dsec.core.pace import Span, stretched
from dsec.core.simmeasures import measure, spread
from dsec.core.simulated import Fault, Manners, Scene
from dsec.core.simulation import simulate

ONE = box([("a", 1000, 80)])
TWO = box([("a", 1000, 80)] * 2)
GPU = need(gpus=1)


def fault(kind, at_ms, *devices, machine=0, steps=(), permille=0, for_ms=0):
    return Fault(kind, at_ms, devices, machine, frozenset(steps), permille, for_ms, kind)


def lost(at_ms, *devices, for_ms=0):
    return fault("gpu-lost", at_ms, *devices, for_ms=for_ms)


def told(history):
    """Each attempt as `step from-to cause`."""
    return [f"{one.at} {one.from_ms}-{one.to_ms} {one.cause}" for one in history.pieces]


def test_a_lost_device_is_noticed_and_the_step_begins_again_on_another():
    history = simulate(
        scene(
            [step("S", GPU, 100)], TWO, faults=[lost(60, "GPU-0")], manners=Manners(detect_ms=2, restore_ms=8)
        )
    )
    assert told(history) == ["0 0-62 gpu-lost", "0 62-170 ok"]
    assert [one.devices for one in history.pieces] == [("GPU-0",), ("GPU-1",)]
    [recovery] = history.recoveries
    assert (recovery.hit, recovery.waits_ms, recovery.open) == (1, (10,), 0)


def test_it_goes_on_from_its_last_checkpoint():
    history = simulate(scene([step("S", GPU, 100)], TWO, faults=[lost(65, "GPU-0")], checkpoint=20))
    assert told(history) == ["0 0-65 gpu-lost", "0 65-105 ok"]
    assert history.pieces[0].lost_ms == 5


def test_what_is_discardable_has_no_checkpoint():
    one = step("S", GPU, 100, level="discardable")
    history = simulate(scene([one], TWO, faults=[lost(65, "GPU-0")], checkpoint=20))
    assert told(history) == ["0 0-65 gpu-lost", "0 65-165 ok"]


def test_a_step_that_fits_nowhere_any_more_is_never_done():
    history = simulate(scene([step("S", GPU, 100), step("T", need(), 10)], ONE, faults=[lost(60, "GPU-0")]))
    assert history.never == ((0, 0),)
    assert history.recoveries[0].open == 1
    assert "1 0-10 ok" in told(history)


def test_a_device_that_comes_back_is_used_again():
    history = simulate(scene([step("S", GPU, 100)], ONE, faults=[lost(60, "GPU-0", for_ms=30)]))
    assert told(history) == ["0 0-60 gpu-lost", "0 90-190 ok"]
    assert history.away == (("GPU-0", 60, 90),)


def test_a_fault_at_the_end_of_a_step_takes_nothing():
    history = simulate(scene([step("S", GPU, 100), step("T", need(), 200)], ONE, faults=[lost(100, "GPU-0")]))
    assert told(history) == ["0 0-100 ok", "1 0-200 ok"]
    assert history.recoveries[0].hit == 0


def test_a_lost_node_takes_what_has_no_device_too():
    machines = (box(cores=1, name="a"), box(cores=1, name="b"))
    steps = [step("S", need(), 100), step("T", need(), 100)]
    history = simulate(scene(steps, *machines, faults=[fault("node-lost", 50, machine=0, for_ms=100)]))
    assert told(history) == ["0 0-50 node-lost", "1 0-100 ok", "0 100-200 ok"]
    assert [one.machine for one in history.pieces] == [0, 1, 1]


def test_a_slow_device_slows_what_runs_there_and_recovers():
    history = simulate(
        scene([step("S", GPU, 100)], ONE, faults=[fault("slow", 20, "GPU-0", permille=500, for_ms=40)])
    )
    assert history.end_ms == 120, "40 ms at half the speed"


def test_a_straggler_takes_longer_now_or_when_it_starts():
    slow = [fault("straggler", 50, steps={0}, permille=3000)]
    assert simulate(scene([step("S", GPU, 100)], ONE, faults=slow)).end_ms == 200
    steps = [step("S", GPU, 100, ["T"]), step("T", GPU, 60)]
    assert simulate(scene(steps, ONE, faults=slow)).end_ms == 360


PREEMPT = Manners(preempt=True)


def crowded(level, *, urgent="critical", grace=10):
    """A Step of a level, and 30 ms later one that goes before it and needs its device."""
    steps = [
        step("S", GPU, 100, level=level, grace=grace),
        step("wait", need(), 30, rank=2),
        step("U", GPU, 50, ["wait"], rank=1, level=urgent),
    ]
    return simulate(scene(steps, ONE, manners=PREEMPT))


@pytest.mark.parametrize(
    ("level", "attempts"),
    [
        ("discardable", ["0 0-30 killed", "2 30-80 ok", "0 80-180 ok"]),
        ("pauseable", ["0 0-40 paused", "2 40-90 ok", "0 90-160 ok"]),
        ("elastic", ["0 0-40 shrunk", "2 40-90 ok", "0 90-160 ok"]),
        ("critical", ["0 0-100 ok", "2 100-150 ok"]),
    ],
)
def test_who_is_stopped_for_a_critical_step_and_how(level, attempts):
    assert [one for one in told(crowded(level)) if not one.startswith("1 ")] == attempts


@pytest.mark.parametrize("urgent", ["pauseable", "elastic", "discardable"])
def test_nobody_is_stopped_for_another_one(urgent):
    assert told(crowded("discardable", urgent=urgent))[1] == "0 0-100 ok"


def test_an_elastic_step_goes_on_with_fewer():
    steps = [
        step("S", need(gpus=2), 100, level="elastic", grace=0),
        step("wait", need(), 50, rank=2),
        step("U", GPU, 300, ["wait"], rank=1, level="critical"),
    ]
    history = simulate(scene(steps, TWO, manners=PREEMPT, spans={0: Span(1, 2)}))
    mine = [one for one in history.pieces if one.at == 0]
    assert [(len(one.devices), one.from_ms, one.cause) for one in mine] == [(2, 0, "shrunk"), (1, 50, "ok")]
    assert mine[1].to_ms == 50 + stretched(50, 2, 1)


def test_what_a_fault_has_struck_pushes_discardable_steps_aside():
    steps = [step("S", GPU, 100, rank=1), step("D", GPU, 500, level="discardable")]
    history = simulate(scene(steps, TWO, faults=[lost(50, "GPU-0")], manners=PREEMPT))
    assert told(history)[:3] == ["0 0-50 gpu-lost", "1 0-50 killed", "0 50-150 ok"]


def test_more_devices_are_taken_from_the_pool_while_the_others_still_fit():
    machine = box([("a", 1000, 80)] * 10, cores=16)
    spans = {0: Span(1, 8)}
    [alone] = simulate(scene([step("S", GPU, 100)], machine, spans=spans)).pieces
    assert len(alone.devices) == 4, "one, and three tenths of ten"
    assert alone.to_ms == stretched(100, 1, 4) == 29
    steps = [step("S", GPU, 100, rank=1), *(step(f"T{at}", GPU, 100) for at in range(8))]
    crowd = simulate(scene(steps, machine, spans=spans))
    assert len(next(one for one in crowd.pieces if one.at == 0).devices) == 2


def test_fewer_are_taken_only_where_that_ends_no_later():
    def started(other_ms):
        steps = [step("T", GPU, other_ms, rank=1), step("S", need(gpus=2), 100)]
        return next(one for one in simulate(scene(steps, TWO, spans={1: Span(1, 2)})).pieces if one.at == 1)

    assert (len(started(10).devices), started(10).from_ms) == (2, 10)
    assert (len(started(500).devices), started(500).from_ms) == (1, 0)


def test_slower_devices_take_longer():
    machine = box([("fast", 1000, 80), ("slow", 600, 80)])
    steps = [step("S", GPU, 60, rank=1), step("T", GPU, 60)]
    assert told(simulate(scene(steps, machine, manners=Manners(quick=True)))) == ["0 0-60 ok", "1 0-100 ok"]
    # What fits best: of like sizes the slow one, which leaves the quick one to who needs it.
    assert told(simulate(scene(steps, machine))) == ["1 0-60 ok", "0 0-100 ok"]


@pytest.mark.parametrize("planned", [(), ("GPU-0",), ("GPU-2",)])
def test_devices_that_the_plan_has_are_not_taken_where_that_delays_who_waits(planned):
    """On the slow device, on which it was planned, the last Step would end after the first one."""
    steps = [
        step("Runs", GPU, 10, rank=3, devices=("GPU-1",)),
        step("Waits", need(gpus=3), 5, rank=2),
        step("Short", GPU, 8, rank=1, devices=planned),
    ]
    machine = box([("slow", 500, 80), ("fast", 1000, 80), ("fast", 1000, 80)])
    history = simulate(scene(steps, machine, manners=Manners(quick=True)))
    assert told(history) == ["2 0-8 ok", "0 0-10 ok", "1 10-15 ok"]


def test_figures_of_a_small_history():
    steps = [step("S", GPU, 60, rank=1), step("T", GPU, 20)]
    what = scene(steps, ONE)
    found = measure(what, simulate(what), {"a": 3_600_000})
    assert (found.end_ms, found.steps, found.use.gpu, found.use.shared) == (80, 2, 1000, 0)
    assert found.waits == spread([0, 60])
    assert (found.hunger.longest, found.hungry) == (750, 0)
    assert found.cost.all == 80
    assert set(found.use.over_time) == {1000}


def test_nothing_to_do_and_nowhere_to_do_it():
    assert simulate(scene([], ONE)).end_ms == 0
    assert measure(Scene(scene([], ONE).work, ()), simulate(scene([], ONE))).use.gpu is None


def test_ranks_of_a_spread():
    assert spread(range(1, 101)) == (100, 50, 95, 99, 100)
    assert spread([7]) == (1, 7, 7, 7, 7)


def test_steps_that_begin_on_a_slowed_device_are_counted_each_once():
    steps = [step("A", GPU, 10), step("B", GPU, 30, ["A"]), step("C", GPU, 30, ["B"])]
    slow = fault("slow", 20, "GPU-0", permille=500, for_ms=50)
    [seen] = simulate(scene(steps, ONE, faults=[slow])).recoveries
    assert seen.hit == 2, "B runs when it begins, and C begins before it is over"
    [idle] = simulate(scene([step("A", need(1), 50)], ONE, faults=[slow])).recoveries
    assert idle.hit == 0
    late = fault("straggler", 5, steps={1}, permille=2000)
    [next_] = simulate(scene(steps, ONE, faults=[late])).recoveries
    assert next_.hit == 1, "the next to start takes longer, and is one that was slowed down"


@pytest.mark.parametrize("lost", [0, 1, 40])
@pytest.mark.parametrize("detect", [0, 50])
def test_no_more_is_held_of_devices_than_was_there(lost, detect):
    """Until its loss is noticed the Step holds a device that is gone."""
    what = scene(
        [step("S", GPU, 100)], ONE, faults=[fault("gpu-lost", lost, "GPU-0")], manners=Manners(detect, 0)
    )
    there = measure(what, simulate(what)).use.gpu_there
    assert there is None or 0 <= there <= 1000


def test_hunger_is_the_share_of_its_time_that_a_step_waited():
    made = scene([step("A", GPU, 100), step("B", GPU, 300)], ONE)
    history = simulate(made)
    assert [(one.from_ms, one.to_ms) for one in history.pieces] == [(0, 100), (100, 400)]
    found = measure(made, history, {})
    assert (found.hunger.many, found.hunger.longest) == (2, 250)
    assert found.hungry == 0
