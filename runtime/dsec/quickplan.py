"""Reading a sealed plan fast: the hash is verified first, then the shape is taken as given.

`planfile.load_plan` checks every type, which costs 0.5 s for 5,000 Steps: a tenth of what running
them costs. A document whose hash is right was written by the compiler, so only what the runtime
relies on and no hash proves is checked here; anything odd goes to `planfile`, which says what it is.
"""

from __future__ import annotations

import json
import re

from dsec.errors import FileProblem, PlanProblem
from dsec.hashing import digest_joined
from dsec.inventory import Device, Inventory, Node
from dsec.plan import (
    FORMAT,
    Analysis,
    Budget,
    Checkpoint,
    Dependency,
    Elastic,
    HostNeed,
    Iterations,
    Link,
    Network,
    Plan,
    Schedule,
    Source,
)
from dsec.quicksteps import read_steps
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dsec.plan import PlannedStep

_HASH = b'"hash":"'
"""Only the plan's own hash: those of the parts have names that end in `_hash`."""
_ORIGIN = re.compile(rb'"origin":"[^":\\]*((?::[^"\\]*)?)"')
"""The inventory's, the only key of that name behind the hash and before the Steps."""
_STEPS, _AFTER = '"steps":[{"command":', '}],"tool":"'
"""Where the Steps begin and end; a quote within a string would have a backslash before it."""
_BEGINNING = re.compile(rb'\{\s*"analysis"\s*:')
"""A plan's first key, by which one that is cut off is known; no contract has it."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def read_plan(path: str) -> Plan:
    """The plan of a run, stored at `path`; raises FileProblem, StoredFormError or PlanProblem in words."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)),
            hint="a run keeps its own plan and cannot go on without it; start a new one: dsec run",
        ) from None
    return parse_plan(raw, name=path)


def parse_plan(raw: bytes, *, name: str) -> Plan:
    """The plan in `raw`; `name` is what to call it."""
    plan = _quick(raw) or _strict(raw, name)
    _check_steps(plan, name)
    return plan


def is_plan(raw: bytes) -> bool:
    """Whether a file is meant as a plan, whole or damaged: a contract is never taken for one."""
    if not raw.startswith(b"{"):
        return False
    if b'"dsec.plan/' in raw or _BEGINNING.match(raw):
        return True
    if b'"hash"' not in raw or b'"steps"' not in raw:
        return False
    try:
        found: dict[str, object] = json.loads(raw)  # it begins with a brace
    except (ValueError, RecursionError):
        return False
    return found.keys() >= {"hash", "steps"}


def _strict(raw: bytes, name: str) -> Plan:
    from dsec.planfile import parse_plan as parse_strictly

    return parse_strictly(raw, where=name)


def _quick(raw: bytes) -> Plan | None:
    """The plan when `raw` is canonical and its hash right; None: have it looked at closely."""
    start = raw.find(_HASH) + len(_HASH)
    stored = raw[start : start + 64]
    if raw.find(_HASH, start) >= 0:
        return None
    end = len(raw) - raw.endswith(b"\n")
    origin = _ORIGIN.search(raw, start)
    if origin is None:
        return None
    # As `planfile.plan_hash` does: what the file of a described inventory is called is left out.
    seen = memoryview(raw)
    around = seen[:start], seen[start + 64 : origin.start(1)], seen[origin.end(1) : end]
    if digest_joined(FORMAT, around) != stored.decode(errors="replace"):
        return None
    try:
        before, _, rest = raw.decode().partition(_STEPS)
        steps, _, after = rest.rpartition(_AFTER)
        data = json.loads(f'{before}"steps":[],"tool":"{after}' if steps else before)
        if data["format"] != FORMAT or data["hash"] != stored.decode() or data["steps"]:
            return None
        return _plan(data, read_steps(steps) if steps else ())
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _check_steps(plan: Plan, name: str) -> None:
    ids = {step.id for step in plan.steps}
    if len(ids) != len(plan.steps):
        raise PlanProblem(say("{name} has two Steps with one id", name=name))
    needed = {edge.step for step in plan.steps for edge in step.needs}
    if needed <= ids and all(map(_ID.fullmatch, ids)):
        return
    for step in plan.steps:
        if not _ID.fullmatch(step.id):
            raise PlanProblem(say("{name}: {id!r} is no Step id", name=name, id=step.id))
        for edge in step.needs:
            if edge.step not in ids:
                raise PlanProblem(
                    say(
                        "{name}: Step {id} needs {step!r}, which is no Step of the plan",
                        name=name,
                        id=step.id,
                        step=edge.step,
                    )
                )


def _plan(data: dict[str, Any], steps: tuple[PlannedStep, ...]) -> Plan:
    return Plan(
        format=data["format"],
        tool=data["tool"],
        name=data["name"],
        contract_file=data["contract_file"],
        contract_hash=data["contract_hash"],
        inventory=_inventory(data["inventory"]),
        inventory_hash=data["inventory_hash"],
        iterations=Iterations(**data["iterations"]),
        steps=steps,
        analysis=_analysis(data["analysis"]),
        notes=tuple(data["notes"]),
        hash=data["hash"],
        dependencies=tuple([_dependency(one) for one in data["dependencies"]]),
        links=tuple([Link(**one) for one in data["links"]]) if "links" in data else None,
        nvlink_mode=data.get("nvlink_mode"),
        elastic=tuple([Elastic(**one) for one in data["elastic"]]) if "elastic" in data else None,
        budget=Budget(**data["budget"]) if "budget" in data else None,
        checkpoints=tuple([Checkpoint(**one) for one in data["checkpoints"]])
        if "checkpoints" in data
        else None,
        network=Network(**data["network"]) if "network" in data else None,
        host=tuple([HostNeed(**one) for one in data["host"]]) if "host" in data else None,
        snapshot_interval_ns=data.get("snapshot_interval_ns"),
    )


def _dependency(data: dict[str, Any]) -> Dependency:
    return Dependency(
        data["name"],
        data["kind"],
        data["version"],
        data["source"],
        data["content_hash"],
        _source(data["src"]),
    )


def _source(data: dict[str, Any]) -> Source:
    return Source._make((data["file"], data["line"], data["column"]))


def _inventory(data: dict[str, Any]) -> Inventory:
    devices = tuple([_device(device) for device in data["devices"]])
    rest: dict[str, Any] = {}
    if "nodes" in data:
        rest["nodes"] = tuple([Node(**node) for node in data["nodes"]])
    if "tokens" in data:
        rest["tokens"] = tuple([(name, amount) for name, amount in data["tokens"]])
    return Inventory(**{**data, "devices": devices, "notes": tuple(data["notes"]), **rest})


def _device(data: dict[str, Any]) -> Device:
    return Device(**{**data, "links": tuple([(other, link) for other, link in data["links"]])})


def _analysis(data: dict[str, Any]) -> Analysis:
    return Analysis(
        critical_path=tuple(data["critical_path"]),
        critical_path_ms=data["critical_path_ms"],
        lower_bound_ms=data["lower_bound_ms"],
        makespan_ms=data["makespan_ms"],
        levels=tuple([tuple(level) for level in data["levels"]]),
        cuts=tuple([(before, after) for before, after in data["cuts"]]),
        schedule=_schedule(data["schedule"]) if "schedule" in data else None,
    )


def _schedule(data: dict[str, Any]) -> Schedule:
    return Schedule(
        order=data["order"],
        devices=data["devices"],
        makespans_ms=tuple([(order, span) for order, span in data["makespans_ms"]]),
        trials=data["trials"],
        bounds_ms=tuple([(name, bound) for name, bound in data["bounds_ms"]]),
        over_bound_ppm=data["over_bound_ppm"],
        otherwise=tuple(data["otherwise"]) if "otherwise" in data else None,
    )
