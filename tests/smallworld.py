"""The real Runner in a made world: children, clock, saves and moves come to an end when told to."""

from types import SimpleNamespace

from dsec import standing, yielding
from dsec.attempts import Past
from dsec.core.leases import Ledger
from dsec.events import Pause
from dsec.inventory import Device, Inventory
from dsec.plan import (
    Analysis,
    Command,
    Demand,
    Edge,
    Iterations,
    Placement,
    Plan,
    PlannedStep,
    Retries,
    Schedule,
    Source,
)
from dsec.processes import Ended
from dsec.runner import Runner
from dsec.shrinking import Shrinking

HERE = Source("dsandbox.yaml", 1, 1)
LEVELS = ("critical", "pauseable", "elastic", "discardable")


class Clock:
    """A loop whose next thing somebody else chooses."""

    def __init__(self, choose):
        self.us = 0
        self.choose = choose
        self.children = []
        self.timers = []

    def now(self):
        return self.us / 1e6

    def at(self, when, call):
        timer = SimpleNamespace(when=when, call=call)
        timer.cancel = lambda: setattr(timer, "call", None)
        self.timers.append(timer)
        return timer

    def step(self, until=None, *, spin_s=0.0):
        self.us += 2_000_000
        live = [child for child in self.children if not child.frozen]
        self.timers = [timer for timer in self.timers if timer.call]
        due = [timer for timer in self.timers if timer.when <= self.now()]
        acts = [("end", child) for child in live] + [("timer", timer) for timer in due]
        assert acts or self.timers, "the run stands still for good"
        if not acts:
            self.us = int(max(self.now(), min(timer.when for timer in self.timers)) * 1e6)
            return
        kind, what = acts[self.choose(len(acts))]
        if kind == "timer":
            self.timers.remove(what)
            what.call()
        else:
            self.children.remove(what)
            what.ended = Ended(0, None, 1, 0, None)
            what.on_gone(what)


class World:
    """Children that live until they are told to end, and a recorder that keeps what it is told."""

    def __init__(self, choose):
        self.loop = Clock(choose)
        self.events = []
        self.journal = SimpleNamespace(sync_due=None, full=False, trouble="", settle=lambda: None)
        self.observer = SimpleNamespace(interval_s=None)
        self.remedies = {}
        self.folder, self.run = "/", SimpleNamespace(work="/", path="/nowhere")
        self.pid = 1
        self.check = lambda: None

    def launch(self, step, *, iteration, attempt, devices, log):
        return step.id, devices

    def start(self, launch, *, on_gone):
        self.pid += 1
        child = SimpleNamespace(
            pid=self.pid, ticks=0, ticks_by=0, on_gone=on_gone, name=launch[0], frozen=False, ended=None,
            env={}, logs="",
        )  # fmt: skip
        self.loop.children.append(child)
        return child

    def stop(self, child, *, grace_s):
        self.touched(child)

        def gone():
            if child in self.loop.children:
                self.loop.children.remove(child)
                child.ended = Ended(None, 9, 1, 0, None)
                child.on_gone(child)

        self.loop.at(self.loop.now(), gone)

    def touched(self, child):
        assert not child.name.startswith("critical"), f"{child.name} was touched"

    def left_of(self, child):
        return [child]

    def missing_output(self, step, iteration):
        return ""

    def at_us(self):
        return self.loop.us

    def emit(self, event, *, long=False):
        self.events.append(event)
        self.check()

    def tell(self):
        pass

    tell_all = tell


class Frozen:
    """Stands for the processes of one attempt."""

    def __init__(self, find, cgroup=""):
        (self._child,) = find()
        Saver.world.touched(self._child)
        self._child.frozen = True

    def thaw(self):
        self._child.frozen = False


class Saver:
    """Saves, or does not: that is chosen, too."""

    world = None
    able = frozenset()

    def __init__(self, path, loop):
        self._name = path.rsplit("/", 1)[-1].split("@")[0]
        self._loop = loop
        self._ok = False

    def ready(self):
        return {1} if self._name in self.able else set()

    def all_saved(self):
        return self._ok

    def ask(self, grace_s, told):
        self.world.touched(SimpleNamespace(name=self._name))

        def done():
            self._ok = self._loop.choose(2) == 0
            told(self._ok)

        self._loop.at(self._loop.now(), done)

    def cancel(self):
        pass


class Moves:
    """A monitor that moves GPU memory, or does not, or does not know: that is chosen, too."""

    moves_memory, any_waiting, sees_gpus = True, False, True

    def __init__(self, world):
        self._world = world
        self.running = {}

    def kept(self):
        return []

    def release(self, lease, pid, then):
        then(lease)

    def notice(self, kind, detail, **where):
        pass

    def move_memory(self, pid, devices, pids, *, back, then):
        loop = self._world.loop
        for child in loop.children:
            if child.pid == pid:
                self._world.touched(child)

        def done():
            ok = (True, False, None)[loop.choose(3)]
            then(ok, "", (pid,) if ok else ())

        loop.at(loop.now(), done)


def shrink(self, attempt, less, reason):
    """In the place of `Shrinking.ask`: whether it gives its GPUs back in time is chosen."""
    self.asked[attempt] = less
    loop = Saver.world.loop
    Saver.world.touched(attempt.child)

    def done():
        if self.asked.get(attempt) is less:
            if loop.choose(2) == 0:
                self._shrunk(attempt, less, reason)
            else:
                self._failed(attempt, "it did not")

    loop.at(loop.now(), done)


def step(name, level, *, gpus, cpu, needs=(), rank=0):
    demand, command = Demand(cpu, 0, gpus, 0, (), 0, 0), Command(("true",), "", "", "", "")
    edges = tuple(Edge(need, "order", 0, HERE) for need in needs)
    first = (name, "", command, (), ".", edges, demand, level, 0, 1000, Retries(0, 0, 1), (), ())
    return PlannedStep(*first, Placement((), ""), 1, "declared", rank, 0, (), "", HERE)


def box(gpus):
    devices = tuple(
        Device(f"GPU-{at}", at, "", "a100", 80 << 30, None, None, None, (), 1000, "ok") for at in range(gpus)
    )
    return Inventory("described:test", 2000, None, None, None, devices, ())


def play(monkeypatch, steps, machine, choose, *, able=frozenset(), count=1, moves=False, elastic=()):
    """One way through the run; gives back its events."""
    world = World(choose)
    monkeypatch.setattr(standing, "Frozen", Frozen)
    monkeypatch.setattr(yielding, "Saver", Saver)
    monkeypatch.setattr(Saver, "world", world)
    monkeypatch.setattr(Shrinking, "_ready", lambda self, attempt: {(1, 1)})
    monkeypatch.setattr(Shrinking, "ask", shrink)
    monkeypatch.setattr(Saver, "able", able)
    analysis = Analysis((), 0, 0, 0, (), (), Schedule("rank", "fit", (), 0, (), 0))
    iterations = Iterations(count, count - 1, count)
    first = ("dsec.plan/1", "", "", "", "", machine, "", iterations, tuple(steps))
    plan = Plan(*first, analysis, (), "")._replace(elastic=elastic)
    ledger = Ledger(machine)
    runner = Runner(
        plan, children=world, launcher=world, ledger=ledger, recorder=world, past=Past(),
        why_cancelled=lambda number: "",
    )  # fmt: skip

    def check():
        held = [uuid for one in ledger.held for uuid in one.devices if one.serial not in ledger._lent]
        assert len(held) == len(set(held)), "a device is held twice"
        assert ledger.cpu_free_m >= 0

    world.check = check
    if moves:
        runner.heed(Moves(world))
    runner.work()
    assert runner.complete
    assert not runner.failing.final
    assert not ledger.held
    assert ledger.cpu_free_m == machine.cpu_m
    done = [(one.step, one.iteration) for one in world.events if getattr(one, "cause", "") == "ok"]
    assert sorted(done) == sorted((step.id, at) for step in steps for at in range(count))
    assert len(done) == len(set(done)), "a Step was done twice"
    return world.events


def every_way(monkeypatch, steps, machine, *, most, **given):
    """Depth first through all choices; how many ways there were, and who made room in any, and how."""
    ways, paused = 0, set()
    path = []
    while ways < most:
        taken = []

        def choose(many, taken=taken):
            at = len(taken)
            if at == len(path):
                path.append([0, many])
            taken.append(path[at][0])
            return path[at][0]

        events = play(monkeypatch, steps, machine, choose, **given)
        ways += 1
        paused |= {(one.step, one.how) for one in events if isinstance(one, Pause)}
        while path and path[-1][0] + 1 >= path[-1][1]:
            path.pop()
        if not path:
            return ways, paused
        path[-1][0] += 1
    return ways, paused
