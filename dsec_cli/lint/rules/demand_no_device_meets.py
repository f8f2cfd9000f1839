"""A demand that no device can meet.

Why: Nominal sizes lie. A card sold with 80 GB has 79.65 GiB, one sold with 24 GB may have 23.99
GiB, so a contract that asks for `80Gi` or `24Gi` waits for ever. With `--inventory` the given
machines decide; without it, the true sizes of the card table. `80GB-class` asks for a card by its
name. A type that names a family (`h100`) is warned of when only its larger cards are left.

Bad (yaml):
    baseline:
      gpu: {count: 1, memory: 80Gi, type: h100-sxm-80gb}
    elasticity:
      gpu: {min_count: 1, max_count: 2}

Good (yaml):
    baseline:
      gpu: {count: 1, memory: 80GB-class, type: h100-sxm-80gb}
    elasticity:
      gpu: {min_count: 1, max_count: 2}

Source: seed A section 2.1 (hard match, tasks that pend for ever); true sizes from drivers' own
output.
"""

from __future__ import annotations

from dsec import cards
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.demands import Types, fits_memory, fits_type, gpu_asks
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import GIB, core_count, counted, of_card, size
from dsec_cli.words import joined, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.cards import Card
    from dsec.inventory import Device, Inventory
    from dsec.units import Bytes
    from dsec_cli.contract.values import Contract, GpuMemory
    from dsec_cli.lint.demands import Ask
    from dsec_cli.source.tree import Path

REASON = say("it would wait for a device that does not exist")


def check(facts: Facts) -> Iterator[Finding]:
    """Each GPU demand against the inventory, or against the card table when none is given."""
    types = Types()
    sound: set[object] = set()  # thousands of Steps ask for the same, and the table is long
    for ask in gpu_asks(facts.contract):
        if facts.inventory is not None:
            yield from _by_inventory(ask, facts.inventory, types)
        elif ask.memory is not None:
            asked = ask.type, ask.memory.bytes, ask.memory.nominal
            found = () if asked in sound else tuple(_by_cards(ask, ask.memory, types))
            yield from found
            if not found:
                sound.add(asked)
    if facts.inventory is not None:
        yield from _host(facts.contract, facts.inventory)


def _by_cards(ask: Ask, memory: GpuMemory, types: Types) -> Iterator[Finding]:
    rows = [card for name in _types(ask, types) if (card := cards.card(name)) is not None]
    able = [row for row in rows if cards.satisfies(memory.bytes, row, nominal=memory.nominal)]
    if able:
        yield from _by_name_only(ask, memory, rows, able)
    if able or not rows:
        return
    best = max(rows, key=lambda row: (cards.total_bytes(row), row.type))
    largest = ""
    if len(rows) > 1:
        kind = ask.type
        largest = say("the largest known card") if kind is None else say("the largest {type}", type=kind)
    yield _memory_finding(ask, memory, of_card(best, largest), cards.total_bytes(best), best)


def _by_name_only(ask: Ask, memory: GpuMemory, rows: list[Card], able: list[Card]) -> Iterator[Finding]:
    """Cards of the type that have the memory by their name and not in truth, when only larger ones do."""
    if ask.type is None or memory.nominal:
        return
    short = [row for row in rows if row not in able and row.gb * GIB >= memory.bytes]
    if not short or any(row.gb <= short[0].gb for row in able):
        return
    missing = size(memory.bytes - cards.total_bytes(short[0]))
    yield Finding(
        code=RULE.code,
        severity=Severity.WARNING,
        where=ask.memory_path,
        message=(
            say(
                "{who} asks for {text} per GPU, which of all {type} only {able} can give: {has}, "
                "{missing} too little",
                "asks-per-gpu-2",
                who=ask.who,
                text=memory.text,
                type=ask.type,
                able=joined(" and ", [row.type for row in able]),
                has=of_card(short[0]),
                missing=missing,
            )
        ),
        reason=say("a card holds less than its name says"),
        help=say("write `{gb}GB-class` to take every such card, or the type that is meant", gb=short[0].gb),
    )


def _types(ask: Ask, types: Types) -> tuple[str, ...]:
    return cards.types() if ask.type is None else types.resolve(ask.type)


def _memory_finding(ask: Ask, memory: GpuMemory, has: str, total: int, best: Card | None) -> Finding:
    missing = say(": {over} too much", over=size(memory.bytes - total)) if memory.bytes > total else ""
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=ask.memory_path,
        message=say(
            "{who} asks for {text} per GPU, but {has}{missing}",
            "asks-per-gpu",
            who=ask.who,
            text=memory.text,
            has=has,
            missing=missing,
        ),
        reason=REASON,
        help=_next(memory, total, best),
    )


def _next(memory: GpuMemory, total: int, best: Card | None) -> str:
    whole = f"{total // GIB}Gi"
    if best is not None and not memory.nominal and memory.bytes <= best.gb * GIB:
        return say(
            "write `{gb}GB-class` to take the card as it is, or {whole} at most", gb=best.gb, whole=whole
        )
    roomy = [row for row in cards.CARDS if cards.satisfies(memory.bytes, row, nominal=memory.nominal)]
    if not roomy:
        return say("write {whole} at most, and spread the rest over more GPUs", whole=whole)
    least = min(roomy, key=lambda row: (cards.total_bytes(row), row.type))
    return say(
        "write {whole} at most, or a type with more memory, for example `{type}`",
        whole=whole,
        type=least.type,
    )


def _by_inventory(ask: Ask, inventory: Inventory, types: Types) -> Iterator[Finding]:
    wanted = 1 if ask.wanted is None else ask.wanted
    if wanted == 0:
        return
    typed = [device for device in inventory.devices if fits_type(ask.type, device, types)]
    if not typed and ask.type is not None:
        return  # DS205 says that the type is not there
    roomy = [device for device in typed if fits_memory(ask.memory, device)]
    if typed and not roomy and ask.memory is not None:
        best = max(typed, key=lambda device: (device.memory_bytes or 0, device.uuid))
        total = best.memory_bytes or 0
        there = cards.memory_text(total)
        has = say("the inventory's largest, {device}, has {memory}", device=_named(best), memory=there)
        yield _memory_finding(ask, ask.memory, has, total, cards.card(best.type))
    elif len(roomy) < wanted:
        yield _count_finding(ask, wanted, len(roomy))


def _named(device: Device) -> str:
    return device.type or device.model or say("GPU of unknown type")


def _count_finding(ask: Ask, wanted: int, there: int) -> Finding:
    kind = "" if ask.type is None else say(" of type {type}", type=ask.type)
    room = "" if ask.memory is None else say(" with {memory}", memory=ask.memory.text)
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=ask.count_path,
        message=(
            say(
                "{who} asks for {wanted}{kind}{room}, but the inventory has {there}: {short} missing",
                "asks-inventory-missing",
                who=ask.who,
                wanted=counted(wanted, "GPU"),
                kind=kind,
                room=room,
                there=there,
                short=wanted - there,
            )
        ),
        reason=REASON,
        help=say("ask for {there} at most", there=there) if there else say("ask for what the inventory has"),
    )


def _host(contract: Contract, inventory: Inventory) -> Iterator[Finding]:
    for who, path, cpu, memory in _host_asks(contract):
        if cpu is not None and cpu > inventory.cpu_m:
            message = say(
                "{who} asks for {cpu} cores, but the inventory has {there}: {short} missing",
                "asks-cores-inventory",
                who=who,
                cpu=core_count(cpu),
                there=core_count(inventory.cpu_m),
                short=core_count(cpu - inventory.cpu_m),
            )
            yield _plain((*path, "cpu"), message)
        if memory is not None and inventory.memory_bytes is not None and memory > inventory.memory_bytes:
            over = size(memory - inventory.memory_bytes)
            has = size(inventory.memory_bytes)
            yield _plain(
                (*path, "memory"),
                say(
                    "{who} asks for {memory} of memory, but the inventory has {has}: {over} too much",
                    "asks-memory-inventory",
                    who=who,
                    memory=memory,
                    has=has,
                    over=over,
                ),
            )


def _host_asks(contract: Contract) -> Iterator[tuple[str, Path, int | None, Bytes | None]]:
    if contract.baseline is not None:
        yield "baseline", contract.baseline.path, contract.baseline.cpu_m, contract.baseline.memory
    for step in contract.steps:
        yield say("Step {id}", id=step.id), step.demand.path, step.demand.cpu_m, step.demand.memory


def _plain(where: Path, message: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=where,
        message=message,
        reason=REASON,
        help=say("ask for what the inventory has, or plan for a larger one"),
    )


RULE = Rule("DS210", "demand-no-device-meets", Severity.ERROR, check, when=("demand",))
