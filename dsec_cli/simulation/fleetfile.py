"""Reads a fleet file: servers, classes of agents, faults and assumptions."""

from __future__ import annotations

from dsec.cards import class_bytes, resolve
from dsec.core.pace import Span as GpuSpan
from dsec.core.placement import feasible
from dsec.core.simulated import Manners
from dsec.devices.profiles import profile
from dsec.errors import DSecError
from dsec.plan import Demand
from dsec.record import Record
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.simulation.draws import Lasts
from dsec_cli.simulation.form import Form, span_of
from dsec_cli.simulation.values import HOLDS, Agents, Arrival, Fleet, Machine, Part
from dsec_cli.source.resolve import follow
from dsec_cli.source.tree import Mapping
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec.inventory import Inventory
    from dsec_cli.diagnostics import Finding
    from dsec_cli.simulation.form import Table
    from dsec_cli.source.tree import Document, Node

KEYS = ("name", "seed", "hold", "servers", "agents", "faults", "assume", "prices")
_SERVER = ("name", "inventory", "count")
_AGENTS = (
    "name", "count", "level", "arrive", "rounds", "checkpoint", "grace", "takes", "lasts", "gpus", "steps"
)  # fmt: skip
_STEP = ("id", "takes", "lasts", "needs", "gpus")
_TAKES = ("gpu", "gpu_memory", "type", "cpu", "memory")
_LASTS = ("from", "to", "mean", "median", "spread")
_ARRIVE = ("at", "within", "every")
_ASSUME = ("detect", "restore", "preempt")
LEVELS = ("critical", "pauseable", "elastic", "discardable")
MOST_AGENTS = 100_000
"""Of all classes together, each counted once for every Step of every round."""


class Read(Record):
    """A fleet, or what is wrong with its file."""

    fleet: Fleet | None
    wrong: tuple[Finding, ...]


def is_fleet(document: Document) -> bool:
    """Whether a YAML document is a fleet rather than a contract."""
    root = follow(document.root)
    if not isinstance(root, Mapping):
        return False
    keys = {getattr(entry.key, "text", "") for entry in root.entries}
    return "servers" in keys and "agents" in keys


def read_fleet(document: Document, *, name: str, inventory: Callable[[str], Inventory]) -> Read:
    """`name` is used where the file states none; `inventory` reads what a server names."""
    form = Form()
    root = form.table(document.root, KEYS, "the fleet")
    machines = _machines(form, root, inventory)
    agents = tuple(_agents(form, node) for node in form.items(root.need("agents")))
    _refuse_too_much(form, machines)
    _names(form, root, [one.name for one in agents])
    for key, found in (("servers", machines), ("agents", agents)):
        if not found and not form.wrong:
            form.refuse("DS104", root.span, say("{key} is empty", key=key), say("name at least one"))
    size = sum(one.many * (1 + one.rounds * len(one.parts)) for one in agents)
    if size > MOST_AGENTS:
        message = say(
            "{count} Steps in all are more than the {most} that are simulated", count=size, most=MOST_AGENTS
        )
        form.refuse("DS104", root.span, message, say("take fewer agents, rounds or Steps"))
    assume = form.table(root.get("assume"), _ASSUME, "assume")
    fleet = Fleet(
        name=form.text(root.get("name"), name),
        seed=form.whole(root.get("seed"), 1),
        hold=form.choice(root.get("hold"), HOLDS, "step"),
        machines=machines,
        agents=agents,
        faults=tuple(form.text(node) for node in form.items(root.get("faults"))),
        manners=Manners(
            detect_ms=form.ms(assume.get("detect"), 0),
            restore_ms=form.ms(assume.get("restore"), 0),
            preempt=form.flag(assume.get("preempt"), default=False),
            quick=True,
        ),
        prices=_prices(form, root.get("prices")),
    )
    return Read(None if form.wrong else fleet, tuple(form.wrong))


def _names(form: Form, root: Table, names: list[str]) -> None:
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        message = say("two classes of agents are called {name!r}", name=twice[0])
        form.refuse("DS502", root.span, message, say("give each its own name"))


def _machines(form: Form, root: Table, inventory: Callable[[str], Inventory]) -> tuple[Machine, ...]:
    machines: list[Machine] = []
    for node in form.items(root.need("servers")):
        row = form.table(node, _SERVER, "a server")
        stated = row.need("inventory")
        spec = form.text(stated)
        found = _inventory(form, stated, spec, inventory) if stated is not None and spec else None
        many = form.whole(row.get("count"), 1, least=1, most=1000)
        base = form.text(row.get("name"), f"s{len(machines) + 1}")
        for at in range(many if found is not None else 0):
            name = base if many == 1 else f"{base}{at + 1}"
            if found is not None:
                machines.append(Machine(name, renamed(found, name)))
    names = [machine.name for machine in machines]
    if len(set(names)) < len(names):
        form.refuse("DS502", root.span, say("two servers have one name"), say("give each its own name"))
    return tuple(machines)


def _inventory(form: Form, node: Node, spec: str, inventory: Callable[[str], Inventory]) -> Inventory | None:
    try:
        return inventory(spec)
    except DSecError as problem:
        form.refuse("DS105", span_of(node), problem.what, problem.hint)
        return None


def renamed(inventory: Inventory, name: str) -> Inventory:
    """The inventory with its devices called `NAME/INDEX`, so that those of several are told apart."""
    names = {device.uuid: f"{name}/{device.index}" for device in inventory.devices}
    devices = tuple(
        device._replace(
            uuid=names[device.uuid],
            links=tuple((names[other], link) for other, link in device.links if other in names),
        )
        for device in inventory.devices
    )
    return inventory._replace(devices=devices)


def builtin(spec: str) -> Inventory:
    """A built-in inventory, with or without its prefix."""
    return profile(spec)


def _agents(form: Form, node: Node) -> Agents:
    row = form.table(node, _AGENTS, "a class of agents")
    single = "steps" not in row
    if not single:
        for key in ("takes", "lasts", "gpus"):
            if key in row:
                message = say("{key!r} stands beside 'steps', each of which has its own", key=key)
                form.refuse("DS101", span_of(row.rows[key]), message)
        parts = _parts(form, row)
    else:
        parts = (_part(form, row, form.text(row.get("name"), "work")),)
    return Agents(
        name=form.text(row.need("name"), "agent"),
        many=form.whole(row.need("count"), 1, least=1, most=MOST_AGENTS),
        level=form.choice(row.get("level"), LEVELS, "pauseable"),
        arrival=_arrival(form, row.get("arrive")),
        rounds=form.whole(row.get("rounds"), 1, least=1, most=10_000),
        checkpoint_ms=form.ms(row.get("checkpoint"), 0),
        grace_ms=form.ms(row.get("grace"), 10_000),
        parts=parts,
    )


def _parts(form: Form, row: Table) -> tuple[Part, ...]:
    parts: list[Part] = []
    for node in form.items(row.get("steps")):
        inner = form.table(node, _STEP, "a Step")
        part = _part(form, inner, form.text(inner.need("id"), f"step{len(parts) + 1}"))
        known = [one.id for one in parts]
        if part.id in known:
            form.refuse("DS502", inner.span, say("two Steps are called {name!r}", name=part.id))
        for need in form.items(inner.get("needs")):
            name = form.text(need)
            if name and name not in known:
                message = say("no Step before this one is called {name!r}", name=name)
                form.refuse("DS501", span_of(need), message, did_you_mean(name, known))
        parts.append(part)
    if not parts:
        form.refuse("DS104", row.span, say("a class of agents without any Step"))
    return tuple(parts)


def _part(form: Form, row: Table, name: str) -> Part:
    demand = _demand(form, row.need("takes"))
    needs = tuple(form.text(node) for node in form.items(row.get("needs")))
    return Part(name, demand, _lasts(form, row.need("lasts")), needs, _gpus(form, row, demand))


def _demand(form: Form, node: Node | None) -> Demand:
    row = form.table(node, _TAKES, "takes")
    count = form.whole(row.get("gpu"), 0, most=1024)
    memory = form.gpu_memory(row.get("gpu_memory"))
    amount = 0
    if memory is not None:
        amount = class_bytes(int(memory.bytes)) if memory.nominal else int(memory.bytes)
    kind = row.get("type")
    types = resolve(form.text(kind)) if kind is not None else ()
    if kind is not None and not types:
        form.refuse("DS105", span_of(kind), say("no GPU type is called {name!r}", name=form.text(kind)))
    cpu = form.decimal(row.get("cpu"), 1000) if "cpu" in row else None
    demand = Demand(
        1000 if cpu is None else cpu,
        form.size(row.get("memory")),
        count,
        amount if count else 0,
        types if count else (),
        0,
        0,
    )
    form.demands.append((row.span, demand))
    return demand


def _refuse_too_much(form: Form, machines: tuple[Machine, ...]) -> None:
    """A Step that fits no server, even with nothing else there, would never start."""
    for span, demand in form.demands if machines else ():
        refusals = [feasible(demand, one.inventory) for one in machines]
        first = refusals[0]
        if first is not None and all(refusals):
            message = say(
                "no server can ever have it: on {name} it {why}", name=machines[0].name, why=first.text
            )
            form.refuse("DS210", span, message, say("lower what it takes, or add a server that has it"))


def _gpus(form: Form, row: Table, demand: Demand) -> GpuSpan | None:
    node = row.get("gpus")
    if node is None:
        return None
    inner = form.table(node, ("min", "max"), "gpus")
    base = demand.gpu_count
    span = GpuSpan(
        form.whole(inner.get("min"), base, least=1, most=1024),
        form.whole(inner.get("max"), base, least=1, most=1024),
    )
    if not span.least <= base <= span.most:
        message = say(
            "{base} GPUs are taken, which is not from {least} to {most}",
            base=base,
            least=span.least,
            most=span.most,
        )
        form.refuse("DS202", span_of(node), message)
        return None
    return None if span.least == span.most else span


def _lasts(form: Form, node: Node | None) -> Lasts:
    solid = follow(node)
    if not isinstance(solid, Mapping):
        return Lasts("fixed", form.ms(node, 0))
    row = form.table(node, _LASTS, "lasts")
    keys = tuple(sorted(row.rows))
    if keys == ("from", "to"):
        low, high = form.ms(row.get("from"), 0), form.ms(row.get("to"), 0)
        if low > high:
            form.refuse("DS202", row.span, say("from is more than to"))
        return Lasts("uniform", low, max(low, high))
    if keys == ("mean",):
        return Lasts("exponential", form.ms(row.get("mean"), 0))
    if keys == ("median", "spread"):
        spread = form.decimal(row.get("spread"), 1000) or 1000
        if not 1000 <= spread <= 100_000:
            form.refuse("DS104", row.span, say("spread must be from 1 to 100"))
            spread = 1000
        return Lasts("lognormal", form.ms(row.get("median"), 0), spread_permille=spread)
    advice = say("write a time, from and to, mean, or median and spread")
    form.refuse("DS104", row.span, say("these keys make no distribution"), advice)
    return Lasts("fixed", 0)


def _arrival(form: Form, node: Node | None) -> Arrival:
    if node is None:
        return Arrival("at", 0, 0)
    row = form.table(node, _ARRIVE, "arrive")
    start = form.ms(row.get("at"), 0)
    if "within" in row and "every" in row:
        form.refuse("DS104", row.span, say("write within or every, not both"))
    for kind in ("within", "every"):
        if kind in row:
            return Arrival(kind, form.ms(row.get(kind), 0), start)
    return Arrival("at", 0, start)


def _prices(form: Form, node: Node | None) -> tuple[tuple[str, int], ...]:
    """By type; `other` is every other one."""
    solid = follow(node)
    if node is None:
        return ()
    if not isinstance(solid, Mapping):
        return (("", form.decimal(node, 1_000_000) or 0),)
    keys = [getattr(entry.key, "text", "") for entry in solid.entries]
    row = form.table(node, keys, "prices")
    found: list[tuple[str, int]] = []
    for key in keys:
        amount = form.decimal(row.get(key), 1_000_000)
        types = ("",) if key == "other" else resolve(key)
        if not types:
            form.refuse("DS105", span_of(row.rows[key]), say("no GPU type is called {name!r}", name=key))
        found += [(kind, amount) for kind in types if amount is not None]
    return tuple(found)
