"""Keeps attempts within what their Steps state: memory by cgroup or rlimit, processors by NUMA node.

A run whose Steps state no memory, on a machine with one NUMA node, has none of this.
"""

from __future__ import annotations

import os
import resource
from functools import partial

from dsec import cgroups
from dsec.core.overuse import enforced
from dsec.devices.host import node_processors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dsec.plan import Plan, PlannedStep
    from dsec.processes import Child, Children, Launch

_NUMA = b"DSEC_NUMA"
_TIMES = 4
"""An rlimit counts what is asked for, not what is used, so it stands at so many times the limit and"""
_MORE_BYTES = 4 * 1024**3
"""so much more: it is there for a process that would fill the machine between two looks at it."""


class Confines:
    """The confines of one run's attempts."""

    def __init__(
        self,
        children: Children,
        *,
        note: str,
        ticks: int,
        environ: Mapping[bytes, bytes],
        nodes: Mapping[int, frozenset[int]],
    ) -> None:
        """`note`: file that names our cgroup, once there is one. `nodes`: processors by NUMA node."""
        self._children = children
        self._note = note
        self._ticks = ticks
        self._environ = environ
        self._made = False
        self._tree: cgroups.Tree | None = None
        self._filled = True
        self._nodes = nodes
        self._all = os.sched_getaffinity(0)
        self._groups: dict[int, str] = {}
        """The cgroup of each attempt that has one, by its first process."""
        self._ran_out: dict[int, int] = {}
        if nodes:
            children.start_worker = self._start_worker

    def start(self, step: PlannedStep, launch: Launch, *, on_gone: Callable[[Child], None]) -> Child:
        """Start a process within the confines of its Step; raises OSError."""
        limit = enforced(step)
        tree = self._own_tree() if limit else None
        firm = tree is not None and "memory" in tree.controllers
        asked = 0 if firm or step.demand.gpu_count else limit
        cpus = self._processors(launch)
        if tree is None:
            return self._born(launch, on_gone, cpus=cpus, asked=asked)
        group = self._enter(tree)
        try:
            child = self._born(launch, partial(self._gone, limit, on_gone), cpus=cpus, asked=asked)
        except OSError:
            self._leave(tree, group)
            if self._filled:
                cgroups.remove(group)
            raise
        self._leave(tree, group)
        if self._filled:
            self._groups[child.pid] = group
            tree.limit(group, cgroups.Limits(limit, _most_processes(), step.demand.cpu_m // 10))
        return child

    def _processors(self, launch: Launch) -> frozenset[int] | None:
        return self._nodes.get(int(launch.env.get(_NUMA, b"") or -1))

    def _start_worker(self, launch: Launch, *, on_gone: Callable[[Child], None], pass_fd: int) -> Child:
        """A worker keeps to the processors of its GPUs; its calls state memory, it does not."""
        return self._born(launch, on_gone, cpus=self._processors(launch), asked=0, pass_fd=pass_fd)

    def _born(
        self,
        launch: Launch,
        on_gone: Callable[[Child], None],
        *,
        cpus: frozenset[int] | None,
        asked: int,
        pass_fd: int = -1,
    ) -> Child:
        """What a child inherits is set here before it is born: set later, its own children may miss it."""
        before = resource.getrlimit(resource.RLIMIT_DATA)
        most = asked * _TIMES + _MORE_BYTES
        limited = asked > 0 and before[0] == resource.RLIM_INFINITY
        try:
            if cpus:
                os.sched_setaffinity(0, cpus)
            if limited:
                resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
            return self._children.start(launch, on_gone=on_gone, pass_fd=pass_fd)
        finally:
            if limited:
                resource.setrlimit(resource.RLIMIT_DATA, before)
            if cpus:
                os.sched_setaffinity(0, self._all)

    def _own_tree(self) -> cgroups.Tree | None:
        if not self._made:
            self._made = True
            self._tree = cgroups.make(self._note, pid=os.getpid(), ticks=self._ticks, environ=self._environ)
        return self._tree if self._filled else None

    def _enter(self, tree: cgroups.Tree) -> str:
        """Our new cgroup; "": cgroups can be made here, and not be filled."""
        try:
            return tree.enter()
        except OSError:
            self._filled = False
            return ""

    def _leave(self, tree: cgroups.Tree, group: str) -> None:
        try:
            if group:
                tree.leave()
        except OSError:
            self._filled = False  # we are still in it: it is neither limited nor ended

    def _gone(self, limit: int, on_gone: Callable[[Child], None], child: Child) -> None:
        path = self._groups.pop(child.pid, "")
        if path:
            if cgroups.oom_kills(path):
                self._ran_out[child.pid] = limit
            cgroups.remove(path)
        on_gone(child)

    def group_of(self, pid: int) -> str:
        """The cgroup of the attempt that `pid` leads; "": it has none of its own."""
        return self._groups.get(pid, "")

    def ran_out(self, pid: int) -> int:
        """The limit at which the kernel ended the attempt that `pid` led; 0: it did not. Asked once."""
        return self._ran_out.pop(pid, 0)

    def close(self) -> None:
        """Remove our cgroup."""
        if self._tree is not None:
            self._tree.close()


def confines(
    plan: Plan,
    children: Children,
    *,
    run_path: str,
    ticks: int,
    environ: Mapping[bytes, bytes],
    root: str = "/",
) -> Confines | None:
    """The confines that the plan's Steps need on this machine; None: none at all."""
    gpus = any(step.demand.gpu_count for step in plan.steps)
    mine = os.sched_getaffinity(0)
    there = node_processors(root) if gpus else {}
    nodes = {node: cpus & mine for node, cpus in there.items() if cpus & mine and mine - cpus}
    if not nodes and not any(enforced(step) for step in plan.steps):
        return None
    note = f"{run_path}/{cgroups.NOTE}"
    return Confines(children, note=note, ticks=ticks, environ=environ, nodes=nodes)


def _most_processes() -> int:
    """Half of what the machine has room for: one attempt that forks without end leaves the rest."""
    try:
        with open("/proc/sys/kernel/threads-max", encoding="ascii") as file:
            return max(1024, int(file.read()) // 2)
    except (OSError, ValueError):
        return 1024
