"""The machine: GPUs with their links, driver and settings; processors, memory and C library."""

from __future__ import annotations

import os

from dsec.devices.facts import Facts, read_facts
from dsec.inventory import steady
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, judged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.inventory import Device
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Pair, Scene

_ISA = ("avx", "avx2", "avx512f", "avx512_bf16", "avx512_vnni", "amx_bf16", "amx_int8", "fma", "sve", "asimd")
_CARD = (
    "capability",
    "ecc",
    "mig",
    "persistence",
    "power_limit_mw",
    "sm_mhz",
    "memory_mhz",
    "application_mhz",
)
_MODEL, _COUNT, _DRIVER = 97, 92, 84
_AMOUNTS = (("memory_bytes", "memory", 10), ("numa_nodes", "NUMA nodes", 15), ("libc", "C library", 50))
_SETTINGS: dict[str, tuple[int, str]] = {
    "ecc": (40, "ECC takes memory and time; results stay"),
    "mig": (70, "a part of a GPU has other memory and fewer multiprocessors: kernels are chosen anew"),
    "capability": (95, "kernels are compiled for another architecture"),
    "power_limit_mw": (15, "speed, not results"),
    "application_mhz": (15, "speed, not results"),
}


def capture(scene: Scene) -> Captured:
    """Read this machine, or take the described one."""
    if scene.inventory is not None:
        facts = Facts(steady(scene.inventory), None, None, None, ())
        return judged(["described, not measured"], _document(facts, None))
    facts = read_facts()
    facts = facts._replace(inventory=steady(facts.inventory))
    unread = [note for note in facts.inventory.notes if "no GPU was read" in note]
    return judged(unread, _document(facts, _processor()))


def _document(facts: Facts, processor: Plain) -> Plain:
    inventory = facts.inventory
    cards = {card.uuid: card for card in facts.cards}
    return {
        "origin": inventory.origin,
        "driver": facts.driver,
        "cuda": facts.cuda,
        "gpus": [_gpu(device, inventory.devices, cards.get(device.uuid)) for device in inventory.devices],
        "cpu_m": inventory.cpu_m,
        "memory_bytes": inventory.memory_bytes,
        "numa_nodes": inventory.numa_nodes,
        "processor": processor,
        "libc": _libc(),
        "notes": list(inventory.notes),
    }


def _libc() -> str | None:
    known = "CS_GNU_LIBC_VERSION" in os.confstr_names
    return (os.confstr("CS_GNU_LIBC_VERSION") if known else None) or None


def _gpu(device: Device, devices: tuple[Device, ...], card: Plain | None) -> Plain:
    numbers = {one.uuid: one.index for one in devices}
    settings = {name: getattr(card, name) if card is not None else None for name in _CARD}
    if device.type.startswith("mig:"):
        settings["mig"] = True  # a part of a GPU has an id of its own, and no card
    return {
        "index": device.index,
        "uuid": device.uuid,
        "model": device.model,
        "type": device.type,
        "memory_bytes": device.memory_bytes,
        "pci": device.pci,
        "numa": device.numa,
        "health": device.health,
        "links": sorted([numbers.get(other, -1), kind] for other, kind in device.links),
        **settings,
    }


def _processor() -> Plain:
    """Model and instruction sets; of a machine whose kernel does not tell, None."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            text = file.read(65536)
    except OSError:
        return None
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {name.strip(): value.strip() for name, _, value in pairs}
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    return {"model": fields.get("model name", ""), "isa": [name for name in _ISA if name in flags]}


def compare(pair: Pair) -> Iterator[Difference]:
    """Type and number of GPUs first, then driver, links, settings, processors."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    one, two = pair.before.data, pair.after.data
    yield from _types(one["gpus"], two["gpus"])
    for name, why in (
        ("driver", "the driver compiles and chooses kernels"),
        ("cuda", "another CUDA: other libraries may be loaded"),
    ):
        if one[name] != two[name] and None not in (one[name], two[name]):
            yield Difference("hardware", "changed", name, one[name], two[name], _DRIVER, why)
    yield from _links(one["gpus"], two["gpus"])
    yield from _settings(one["gpus"], two["gpus"])
    yield from _host(one, two)


def kinds(gpus: list[Plain]) -> list[str]:
    """Types (or models) of the GPUs with their numbers: `4 x a100-sxm-80gb`."""
    names = [gpu["type"] or gpu["model"] for gpu in gpus]
    return [f"{names.count(name)} x {name}" for name in sorted(set(names))]


def _types(one: list[Plain], two: list[Plain]) -> Iterator[Difference]:
    before, after = kinds(one), kinds(two)
    if before == after:
        return
    told = ", ".join(before) or "none", ", ".join(after) or "none"
    same_types = {gpu["type"] or gpu["model"] for gpu in one} == {gpu["type"] or gpu["model"] for gpu in two}
    if same_types:
        why = "another number of GPUs: batches and sums are cut otherwise"
        yield Difference("hardware", "changed", "number of GPUs", *told, _COUNT, why)
    else:
        why = "another GPU type has other kernels and rounds otherwise: bits cannot be equal"
        yield Difference("hardware", "changed", "GPU type", *told, _MODEL, why)


def _links(one: list[Plain], two: list[Plain]) -> Iterator[Difference]:
    before, after = (_linked(gpus) for gpus in (one, two))
    if before != after and len(one) == len(two):
        why = "NCCL takes other paths, and so may sum in another order"
        yield Difference("hardware", "changed", "links between GPUs", before, after, 72, why)


def _linked(gpus: list[Plain]) -> str:
    counts: dict[str, int] = {}
    for gpu in gpus:
        for _, kind in gpu["links"]:
            counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(f"{count // 2} pairs {kind}" for kind, count in sorted(counts.items())) or "none"


def _settings(one: list[Plain], two: list[Plain]) -> Iterator[Difference]:
    if kinds(one) != kinds(two):
        return
    for before, after in zip(one, two, strict=False):
        for name in (*_CARD, "memory_bytes", "health"):
            if before[name] != after[name] and None not in (before[name], after[name]):
                weight, why = _SETTINGS.get(name, (20, ""))
                subject = f"GPU {before['index']} {name}"
                yield Difference(
                    "hardware", "changed", subject, str(before[name]), str(after[name]), weight, why
                )


def _host(one: Plain, two: Plain) -> Iterator[Difference]:
    if one["processor"] is not None and two["processor"] is not None:
        before, after = one["processor"], two["processor"]
        if before["isa"] != after["isa"]:
            why = "BLAS takes other code paths, and rounds otherwise"
            told = " ".join(before["isa"]), " ".join(after["isa"])
            yield Difference("hardware", "changed", "instruction sets", *told, 82, why)
        if before["model"] != after["model"]:
            yield Difference("hardware", "changed", "processor", before["model"], after["model"], 45)
    if one["cpu_m"] != two["cpu_m"]:
        why = "libraries that start a thread per core sum in another order"
        told = f"{one['cpu_m'] / 1000:g} cores", f"{two['cpu_m'] / 1000:g} cores"
        yield Difference("hardware", "changed", "cores", *told, 60, why)
    for name, subject, weight in _AMOUNTS:
        if one[name] != two[name] and None not in (one[name], two[name]):
            yield Difference("hardware", "changed", subject, _amount(one[name]), _amount(two[name]), weight)


def _amount(value: int | str) -> str:
    return f"{value / 2**30:.1f} GiB" if isinstance(value, int) and value > 2**20 else str(value)


PART = Part("hardware", "machine", 50, capture, compare)
