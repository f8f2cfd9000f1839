"""How attempts make room: which do is decided by `core.preemption`, here it is carried out.

A discardable attempt is ended. Another one that can save its state (its SDK said so, or its contract
names a command) saves it within its grace and is ended. Whatever else may give way stands still
(`standing`): that frees its processors, and its GPUs only where something moves their memory away. A
critical attempt is never touched.
"""

from __future__ import annotations

import os
from functools import partial

from dsec.core.brokerage import CRITICAL, DISCARDABLE, ELASTIC, PAUSEABLE, STAYS
from dsec.core.pace import spans_of
from dsec.core.preemption import Tenant, gives_way, must_not_wait, victims
from dsec.events import Notice, Pause
from dsec.metricsfile import name as metrics_name
from dsec.onsave import path_of
from dsec.processes import Launch
from dsec.record import Record
from dsec.resending import writers_of_lost
from dsec.saver import Saver
from dsec.shrinking import Shrinking
from dsec.standing import Standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.attempts import Attempt
    from dsec.core.leases import Lease, Ledger
    from dsec.floor import Floor
    from dsec.plan import Plan
    from dsec.runner import Runner

_ASKED = ("ok", "gave-way", "interrupted", "timeout")
"""Ends that no device is to blame for."""
_LEAVE_S = 1.0
"""How long what has saved its state may take to leave."""


class _Move(Record):
    """An instance must go elsewhere."""

    seen_us: int
    before: tuple[str, ...]
    """The devices that it had."""


class Yielding:
    """All that gives way, or is to, in one run."""

    def __init__(self, runner: Runner, plan: Plan, floor: Floor) -> None:
        self._runner = runner
        self._steps = plan.steps
        self.floor = floor
        self._children, self._launcher = floor.children, floor.launcher
        self._loop = floor.children.loop
        self._commands = {one.step: one.shell for one in plan.checkpoints or ()}
        self._saving: dict[Attempt, Saver] = {}
        self._first: set[tuple[int, int]] = set()
        """Instances that go before others once they wait again: their device failed them."""
        self._moves: dict[tuple[int, int], _Move] = {}
        self.hungry: set[tuple[int, int]] = set()
        """Instances that have been hungry for long."""
        self._standing = Standing(runner, floor, self.hungry)
        self._shrinking = Shrinking(runner, floor, spans_of(plan))
        self._sent_again: set[tuple[int, int]] = set()
        """Instances that run once more because what they wrote is gone."""
        self.bad: dict[str, str] = {}
        """Devices that work no more, and why."""
        self._states: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        """What was said last of each device that was not well."""

    # Making room.

    def make_room(self) -> bool:
        """Let others give way to a Step that must not wait; whether something can start at once."""
        entry = self._urgent()
        if entry is None:
            return False
        at, iteration = self.floor.scheduler.locate(entry)
        step, now_us = self._steps[at], self.floor.recorder.at_us()
        candidates = [one for one in self.floor.running if self._gives_way(one, step.level, entry, now_us)]
        names = {(one.at, one.iteration): one for one in candidates}
        reason = f"{step.id}@{iteration} must not wait"
        for still in (True, False):
            tenants = [tenant for one in candidates if (tenant := self._tenant(one, still=still)) is not None]
            chosen = victims(self._room(), step.demand, tenants, self._leaving())
            if chosen:
                break
        else:
            return False
        for tenant in chosen:
            attempt = names[tenant.at, tenant.iteration]
            if tenant.less is not None:
                self._shrinking.ask(attempt, tenant.less, reason)
            elif tenant.lends:
                self._standing.lend(attempt, reason)
            else:
                self._give_way(attempt, reason, still=tenant.stands_still)
        self.floor.starter.forget()
        return any(tenant.stands_still and not tenant.lends for tenant in chosen)

    def _room(self) -> Ledger:
        """What there is once all have given what they are about to."""
        room, asked = self._standing.room(), self._shrinking.asked
        if asked:
            room = room.copy()
            for attempt, less in asked.items():
                room.shrink(attempt.lease, less)
        return room

    def _urgent(self) -> int | None:
        """The Step that must not wait, as an entry of the scheduler; None: there is none."""
        entry = self.floor.starter.waiting
        entries = [entry] if entry is not None else self.floor.scheduler.ready()
        for one in entries:
            at, iteration = self.floor.scheduler.locate(one)
            step = self._steps[at]
            if must_not_wait(step.level, hungry=(at, iteration) in self.hungry) and not (
                step.command.call and self.floor.workers.is_busy(step)
            ):
                return one
        return None

    def _is_settled(self, attempt: Attempt, now_us: int) -> bool:
        """Whether it runs, and nothing is done about it yet."""
        busy = attempt.stopped or attempt in self._saving or attempt in self._shrinking.asked
        busy = busy or self._standing.is_busy(attempt)
        # What has only just begun stays: stopping it again and again would lead nowhere.
        return not busy and attempt.began_us < now_us and bool(attempt.child or attempt.worker)

    def _gives_way(self, attempt: Attempt, to: str, entry: int, now_us: int) -> bool:
        if not self._is_settled(attempt, now_us):
            return False
        earlier = self.floor.scheduler.entry(attempt.at, attempt.iteration) <= entry
        return gives_way(attempt.step.level, to, earlier=earlier)

    def _tenant(self, attempt: Attempt, *, still: bool) -> Tenant | None:
        """What it can give; `still`: who can save its state stands still rather than save it."""
        level = attempt.step.level
        stays = level != "discardable" and (still or not self._can_save(attempt))
        worker = attempt.worker
        more = (worker.lease,) if worker is not None and worker.lease is not None else ()
        named = (attempt.at, attempt.iteration, level, attempt.began_us, attempt.lease)
        less = None if still else self._shrinking.less(attempt)
        if less is not None:
            return Tenant(*named, less=less)
        lends = stays and not still and self._standing.lends(attempt)
        return Tenant(*named, more, stays, lends=lends)

    def _leaving(self) -> list[Lease]:
        """Leases that come back anyway."""
        runner = self._runner
        found: dict[int, Lease] = {}
        for one in self.floor.running:
            if one in self._saving or one.stopped:
                found[one.lease.serial] = one.lease
        for lease in (*self.floor.workers.leaving(), *(runner.attention.kept() if runner.attention else ())):
            found[lease.serial] = lease
        held = {lease.serial for lease in self.floor.ledger.held}
        return [lease for serial, lease in found.items() if serial in held]

    def _give_way(self, attempt: Attempt, reason: str, *, still: bool) -> None:
        if still:
            self._standing.freeze(attempt, reason)
        elif attempt.step.level != "discardable" and self._can_save(attempt):
            self._save(attempt, reason)
        else:
            self._pause(attempt, "killed", reason)
            self._runner.stop(attempt, "gave-way", grace_s=0.0)

    def leaves(self, attempt: Attempt, reason: str) -> bool:
        """Make it leave its devices for another run, where its level and state allow; whether it does."""
        level, now_us = attempt.step.level, self.floor.recorder.at_us()
        if not gives_way(level, "critical", earlier=False) or not self._is_settled(attempt, now_us):
            return False
        if level != "discardable" and not self._can_save(attempt):
            return False
        self._give_way(attempt, reason, still=False)
        return True

    def level(self, attempt: Attempt) -> int:
        """What leaving its devices for another run would mean for it (see `core.brokerage`)."""
        level = attempt.step.level
        if level == "critical":
            return CRITICAL
        if level == "discardable":
            return DISCARDABLE
        if not self._can_save(attempt):
            return STAYS
        return ELASTIC if level == "elastic" else PAUSEABLE

    def _pause(self, attempt: Attempt, how: str, reason: str) -> None:
        at_us = self.floor.recorder.at_us()
        event = Pause(at_us, attempt.step.id, attempt.iteration, attempt.number, how, reason)
        self.floor.recorder.emit(event)

    def go_on(self) -> None:
        """Let what stands still go on where all that it gave is free again."""
        self._standing.go_on()

    def anew(self) -> None:
        """The whole run stood still and goes on."""
        self._standing.anew()

    def stopping(self, attempt: Attempt) -> None:
        """It is ended for another reason."""
        self._standing.leave(attempt)

    # Saving.

    def _saves_file(self, attempt: Attempt) -> str:
        name = metrics_name(attempt.step.id, iteration=attempt.iteration, attempt=attempt.number)
        return path_of(f"{self._launcher.run.path}/{name}")

    def _can_save(self, attempt: Attempt) -> bool:
        if attempt.child is not None and attempt.step.id in self._commands:
            return True
        return bool(self._saver(attempt).ready())

    def _saver(self, attempt: Attempt) -> Saver:
        return Saver(self._saves_file(attempt), self._loop)

    def _save(self, attempt: Attempt, reason: str) -> None:
        saver = self._saving[attempt] = self._saver(attempt)
        grace_s = attempt.step.grace_ms / 1000
        done = partial(self._saved, attempt, reason)
        shell = self._commands.get(attempt.step.id, "")
        if not shell or attempt.child is None:
            saver.ask(grace_s, done)
            return
        child, cwd = attempt.child, os.path.join(self._launcher.folder, attempt.step.cwd)
        # Named like a worker, so that what it leaves is told from the processes of the attempt.
        env = {**child.env, b"DSEC_PID": b"%d" % child.pid, b"DSEC_WORKER": b"checkpoint"}
        launch = Launch("/bin/sh", ("/bin/sh", "-e", "-c", shell), env, cwd, child.logs)
        saver.run(launch, self._children, grace_s, done)

    def _saved(self, attempt: Attempt, reason: str, ok: bool) -> None:  # as a saver calls it
        """It has saved its state, or its grace is over."""
        if self._saving.get(attempt) is None:
            return
        if not ok:
            reason += f"; it did not save its state within {attempt.step.grace_ms} ms"
        self._pause(attempt, "saved" if ok else "killed", reason)
        if attempt.stopped:
            return
        self._runner.stop(attempt, "gave-way", grace_s=_LEAVE_S if ok else 0.0)

    # Beginnings and ends.

    def ended(self, attempt: Attempt, cause: str) -> str:
        """The cause of its end as it is here."""
        self._standing.ended(attempt)
        self._shrinking.ended(attempt)
        saver = self._saving.pop(attempt, None)
        if saver is not None and not attempt.stopped:
            saved = cause != "ok" and saver.all_saved()
            saver.cancel()
            if saved:
                self._pause(attempt, "saved", "it was asked to")
                return "gave-way"
        bad = next((uuid for uuid in devices_of(attempt) if uuid in self.bad), "")
        if not bad or cause in _ASKED:
            return cause
        self._leaves(attempt, self.floor.recorder.at_us())
        self._pause(attempt, "killed", f"GPU {bad} failed: {self.bad[bad]}")
        return "gave-way"

    def again(self, attempt: Attempt) -> None:
        """What gave way waits to start again."""
        key = (attempt.at, attempt.iteration)
        self.floor.scheduler.put_back(*key, first=key in self._first)
        self._first.discard(key)

    def begun(self, attempt: Attempt) -> None:
        """It runs: where it had to leave a device, say how long that took."""
        key = (attempt.at, attempt.iteration)
        if attempt.child is None and attempt.worker is None:
            return
        self.hungry.discard(key)
        move = self._moves.pop(key, None)
        if move is None:
            return
        seen_us, before = move.seen_us, move.before
        at_us = self.floor.recorder.at_us()
        detail = (
            f"moved from {_names(before)} to {_names(devices_of(attempt))}: "
            f"running again {(at_us - seen_us) // 1000} ms after it was seen"
        )
        notice = Notice(at_us, "moved", attempt.step.id, attempt.iteration, (*before, "")[0], detail)
        self.floor.recorder.emit(notice)

    def sends_again(self, attempt: Attempt) -> bool:
        """Whether it must wait until Steps have run once more, because what they wrote for it is gone."""
        step, key = attempt.step, (attempt.at, attempt.iteration)
        if step.level != "discardable" and key not in self._sent_again:
            return False
        writers = writers_of_lost(step, self._steps, attempt.iteration, self._launcher)
        if not writers:
            return False
        self._sent_again |= {(at, attempt.iteration) for at in writers}
        self.floor.scheduler.send_again(writers, *key)
        return True

    # Leaving a device.

    @property
    def out_of_service(self) -> list[str]:
        """Devices that nobody is given."""
        return [uuid for uuid, state in self._states.items() if state != "ok"]

    def state_of(self, device: str) -> tuple[str, str]:
        """What it was judged to be last, and why."""
        return self._states.get(device, "ok"), self._reasons.get(device, "")

    def judge(self, device: str, state: str, reason: str) -> bool:
        """Take a device out of service, or into it again; whether that is news."""
        known = any(one.uuid == device for one in self.floor.ledger.inventory.devices)
        if not known or self._states.get(device, "ok") == state:
            return False
        self._states[device], self._reasons[device] = state, reason
        if state == "ok":
            self.floor.ledger.find(device)
        else:
            self.floor.ledger.lose(device)
        if state in ("failing", "lost"):
            self.bad[device] = reason
        self.floor.starter.forget()
        return True

    def _leaves(self, attempt: Attempt, seen_us: int) -> None:
        """It is to go on elsewhere, first of all; the time counts from when that was seen."""
        key = (attempt.at, attempt.iteration)
        self._first.add(key)
        self._moves.setdefault(key, _Move(seen_us, devices_of(attempt)))

    def move(self, attempt: Attempt, reason: str, *, seen_us: int, save: bool) -> None:
        """Make it leave its devices: it saves its state where it can and `save` says so."""
        if attempt.stopped or attempt in self._saving:
            return
        self._leaves(attempt, seen_us)
        self.stopping(attempt)
        if save and self._can_save(attempt):
            self._save(attempt, reason)
            return
        self._pause(attempt, "killed", reason)
        self._runner.stop(attempt, "gave-way", grace_s=0.0)


def devices_of(attempt: Attempt) -> tuple[str, ...]:
    """What it and its worker hold."""
    worker = attempt.worker
    return attempt.lease.devices + (worker.lease.devices if worker and worker.lease else ())


def _names(devices: Iterable[str]) -> str:
    return ", ".join(devices) or "no GPU"
