"""The picture as one JSON document: `dsec.top/1`; keys are only ever added, unknown is null."""

from __future__ import annotations

from dsec_cli.screen.devices import memory_permille, state_of
from dsec_cli.screen.queue import waiting
from dsec_cli.screen.scene import chosen_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.devices.reading import Reading
    from dsec_cli.screen.scene import Scene, Wish
    from dsec_cli.screen.watch import Standing

FORMAT = "dsec.top/1"
_MOST_WAITING = 200


def document(scene: Scene, wish: Wish) -> dict[str, object]:
    """What the screen shows, and all of it."""
    watch = scene.watch
    waits, many = waiting(watch, scene.run_us, most=_MOST_WAITING, dead=scene.state == "dead")
    gpu = watch.gpu_us(scene.now_us)
    held = watch.held_by()
    budget = watch.plan.budget
    return {
        "format": FORMAT,
        "job": scene.job,
        "state": scene.state,
        "elapsed_ms": scene.run_us // 1000,
        "done": watch.progress.done,
        "total": watch.progress.total,
        "iterations": watch.plan.iterations.count,
        "iterations_done": watch.complete,
        "gpu_ms": None if gpu is None else gpu // 1000,
        "gpu_most_ms": None if budget is None else budget.most_ms,
        "devices_problem": scene.problem,
        "devices": [_device(scene, one, held.get(one.uuid, [])) for one in scene.readings],
        "steps": [
            _step(scene, one)
            for one in watch.standings(scene.now_us, watch.steps, dead=scene.state == "dead")
        ],
        "waiting_total": many,
        "waiting": [one._asdict() for one in waits],
        "paused": [one._asdict() for one in watch.fold.paused.values()],
        "notices": [one._asdict() for one in watch.notices],
        "breaker": None,
        "log": {"step": chosen_of(scene, wish), "path": scene.log_name or None, "lines": list(scene.log)},
    }


def _device(scene: Scene, one: Reading, holders: list[str]) -> dict[str, object]:
    return {
        **one._asdict(),
        "state": state_of(scene, one),
        "memory_permille": memory_permille(one),
        "held_by": holders,
    }


def _step(scene: Scene, one: Standing) -> dict[str, object]:
    use = scene.uses.get((one.step, one.iteration if one.iteration is not None else -1))
    return {
        "step": one.step,
        "state": one.state,
        "iteration": one.iteration,
        "attempt": one.attempt,
        "done": one.done,
        "elapsed_ms": None if one.elapsed_us is None else one.elapsed_us // 1000,
        "estimate_ms": one.estimate_us // 1000,
        "pid": None if one.running is None else one.running.pid,
        "devices": [] if one.running is None else list(one.running.devices),
        "rss_bytes": None if use is None else use.rss_bytes,
        "cpu_permille": None if use is None else use.cpu_permille,
    }
