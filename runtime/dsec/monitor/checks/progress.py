"""Does each attempt make progress? One that does not has its stacks saved before anybody is told."""

from __future__ import annotations

import os
import time

from dsec.core.stall import FACTOR, FLOOR_US, Bounds, Look, Pulse, Watch
from dsec.metricsfile import name as metrics_name
from dsec.metricsfile import read_told
from dsec.stacks import Target, folder_of, save_stacks
from dsec.sweep import environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from threading import Thread

    from dsec.core.stall import Verdict
    from dsec.monitor.scene import Scene, Tell, Use

_MOST_US = 10**15
_MOST_NAMED = 64
"""Ranks that are told of, at most."""


class Listener:
    """What one attempt told so far."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0
        self.count = 0
        self.last_us: int | None = None
        self.by_pid: dict[int, int] = {}
        """When each process last told."""
        self.counts: dict[int, int] = {}
        self.ranks: dict[int, int] = {}

    def listen(self, offset_us: int, now_us: int) -> None:
        """Take in what was told since; `offset_us` leads from the machine's clock to the session's."""
        found, self._at = read_told(self._path, self._at)
        for one in found:
            self.count += 1
            at_us = now_us if one.mono_us is None else min(one.mono_us - offset_us, now_us)
            self.last_us = max(self.last_us or 0, at_us)
            if one.pid is None:
                continue
            self.counts[one.pid] = self.counts.get(one.pid, 0) + 1
            self.by_pid[one.pid] = max(self.by_pid.get(one.pid, 0), at_us)
            if one.rank is not None:
                self.ranks[one.pid] = one.rank


class _Followed:
    """One attempt that is watched."""

    def __init__(self, watch: Watch, listener: Listener) -> None:
        self.watch = watch
        self.listener = listener


class Check:
    """Follows all attempts of a run."""

    def __init__(self) -> None:
        self._followed: dict[tuple[str, int, int], _Followed] = {}
        self._walls_us: dict[str, list[int]] = {}
        self._ranks: dict[tuple[int, int], int | None] = {}
        self._offset_us: int | None = None
        self._saving: list[tuple[Thread, Tell]] = []

    def look(self, scene: Scene) -> Iterable[Tell]:
        """Attempts that make no progress, once their stacks are saved."""
        self._learn(scene)
        offset_us = time.monotonic_ns() // 1000 - scene.at_us
        self._offset_us = offset_us if self._offset_us is None else min(offset_us, self._offset_us)
        here = set()
        for use in scene.uses:
            if not use.watched.step:
                continue
            key = (use.watched.step, use.watched.iteration, use.watched.attempt)
            here.add(key)
            followed = self._followed.get(key)
            if followed is None:
                followed = self._followed[key] = self._follow(scene, use)
            verdict = followed.watch.see(self._seen(scene, use, followed.listener))
            if verdict is not None:
                self._save(scene, use, verdict, followed.listener.ranks)
        self._followed = {key: one for key, one in self._followed.items() if key in here}
        alive = {seen.pid for use in scene.uses for seen in use.processes}
        self._ranks = {key: rank for key, rank in self._ranks.items() if key[0] in alive}
        return self._saved()

    def _learn(self, scene: Scene) -> None:
        """How long the executions of each Step took."""
        for (step, _), end in scene.ended.items():
            if end.get("cause") == "ok" and isinstance(end.get("wall_us"), int):
                walls = self._walls_us.setdefault(step, [])
                walls.append(end["wall_us"])
                del walls[:-64]

    def _follow(self, scene: Scene, use: Use) -> _Followed:
        watched = use.watched
        path = metrics_name(watched.step, iteration=watched.iteration, attempt=watched.attempt)
        watch = Watch(watched.began_us, self._bounds(scene, watched.step))
        return _Followed(watch, Listener(f"{scene.run_dir}/{path}"))

    def _bounds(self, scene: Scene, step: str) -> Bounds:
        plan = scene.plan()
        planned = next((one for one in plan.steps if one.id == step), None) if plan else None
        env = dict(planned.env) if planned else {}
        usual_us = 0
        if planned is not None and planned.estimate_source in ("declared", "history"):
            usual_us = planned.estimate_ms * 1000
        if walls := sorted(self._walls_us.get(step, ())):
            usual_us = walls[len(walls) // 2]
        return bounds_of((env, os.environ), usual_us)

    def _seen(self, scene: Scene, use: Use, listener: Listener) -> Look:
        listener.listen(self._offset_us or 0, scene.at_us)
        parents = {seen.parent for seen in use.processes}
        pulses = tuple(
            Pulse(
                seen.pid,
                listener.ranks.get(seen.pid, self._rank(seen.pid, seen.ticks)),
                seen.cpu_us,
                listener.by_pid.get(seen.pid),
                seen.pid not in parents,
                listener.counts.get(seen.pid, 0),
            )
            for seen in use.processes
        )
        busy = {one.uuid: one.busy_permille for one in scene.devices}
        key = (use.watched.step, use.watched.iteration, use.watched.attempt)
        stopped = bool(use.usage.states) and set(use.usage.states) <= {"T", "t"}
        return Look(
            scene.at_us,
            use.log_bytes,
            pulses,
            listener.count,
            listener.last_us,
            tuple(busy.get(uuid) for uuid in use.watched.devices),
            stopped or key in scene.frozen,
        )

    def _rank(self, pid: int, ticks: int) -> int | None:
        key = (pid, ticks)
        if key not in self._ranks:
            self._ranks[key] = rank_of(environment(pid))
        return self._ranks[key]

    def _save(self, scene: Scene, use: Use, verdict: Verdict, told_ranks: Mapping[int, int]) -> None:
        """Save the stacks beside the looking: a process that does not answer takes seconds."""
        from threading import Thread

        watched = use.watched
        folder = folder_of(watched.step, iteration=watched.iteration, attempt=watched.attempt)
        ranks = {rank.pid: at for at, rank in enumerate(verdict.ranks)}
        # Those that stopped first come first: whoever comes late may get less.
        chosen = sorted(use.processes, key=lambda seen: (ranks.get(seen.pid, len(ranks)), seen.pid))
        targets = [
            Target(seen.pid, seen.ticks, told_ranks.get(seen.pid, self._rank(seen.pid, seen.ticks)))
            for seen in chosen
        ]
        thread = Thread(target=save_stacks, args=(targets, f"{scene.run_dir}/{folder}"), daemon=True)
        thread.start()
        told: Tell = {
            "tell": "stalled",
            "kind": verdict.kind,
            "step": watched.step,
            "iteration": watched.iteration,
            "attempt": watched.attempt,
            "quiet_us": verdict.quiet_us,
            "limit_us": verdict.limit_us,
            "known": verdict.known,
            "first": None if verdict.first is None else verdict.first.name,
            "first_pid": None if verdict.first is None else verdict.first.pid,
            "ranks": len(verdict.ranks),
            "order": [rank.name for rank in verdict.ranks[:_MOST_NAMED]],
            "stacks": folder,
        }
        self._saving.append((thread, told))

    def _saved(self) -> list[Tell]:
        done = [told for thread, told in self._saving if not thread.is_alive()]
        self._saving = [(thread, told) for thread, told in self._saving if thread.is_alive()]
        return done


def bounds_of(environments: Iterable[Mapping[str, str]], usual_us: int) -> Bounds:
    """What DSEC_STALL_FACTOR and DSEC_STALL_FLOOR_S say; a Step's own environment goes first."""
    factor, floor_us = FACTOR, FLOOR_US
    for env in reversed(tuple(environments)):
        factor = max(1, int(_number(env.get("DSEC_STALL_FACTOR"), factor)))
        floor_us = int(_number(env.get("DSEC_STALL_FLOOR_S"), floor_us / 1e6) * 1e6)
    return Bounds(factor, max(0, floor_us), usual_us)


def _number(text: str | None, usual: float) -> float:
    try:
        number = float(text) if text else usual
    except ValueError:
        return usual
    return number if 0 <= number <= _MOST_US else usual


def rank_of(env: Mapping[bytes, bytes]) -> int | None:
    """The rank that launchers put into the environment of a process; None: it is none."""
    for name in (b"RANK", b"LOCAL_RANK"):
        if (value := env.get(name, b"")).isdigit():
            return int(value)
    return None
