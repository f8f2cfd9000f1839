"""A GPU type that nobody knows, or that the given machines do not have.

Why: The type is matched exactly. A misspelt one matches nothing, and the job waits for a GPU that
will never come.

Bad (yaml):
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pci-40gb}

Good (yaml):
    baseline:
      gpu: {count: 2, memory: 24Gi, type: a100-pcie-40gb}

Source: seed A section 2.1 (hard match by type). Without `--inventory` an unknown type is a warning,
because a card newer than the table is no mistake; with it, a type the machines lack is an error.
"""

from __future__ import annotations

from dsec.cards import nearest, resolve
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.demands import Types, fits_type, gpu_asks
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.show import counted
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.inventory import Inventory
    from dsec_cli.lint.demands import Ask
    from dsec_cli.source.tree import Path


def check(facts: Facts) -> Iterator[Finding]:
    """Every stated GPU type, of the baseline, of Steps and of tasks."""
    types = Types()
    for ask in gpu_asks(facts.contract):
        if ask.type is None or ask.type_path is None:
            continue
        if facts.inventory is not None:
            for found in _absent(ask, ask.type, facts.inventory, types=types):
                yield _mended(facts, found, ask.type_path, ask.type)
        elif not types.resolve(ask.type):
            told = Finding(
                code=RULE.code,
                severity=Severity.WARNING,
                where=ask.type_path,
                message=say("GPU type {type!r} is not known", "gpu-type-known", type=ask.type),
                reason=say("types are matched exactly: one that no machine has is waited for without end"),
                help=_several(ask.type)
                or _meant(ask.type)
                or say("if the card is newer than the table, check it with --inventory"),
            )
            yield _mended(facts, told, ask.type_path, ask.type)


def _absent(ask: Ask, wanted: str, inventory: Inventory, *, types: Types) -> Iterator[Finding]:
    if any(fits_type(wanted, device, types) for device in inventory.devices):
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=ask.type_path or (),
        message=say(
            "no GPU of the inventory has the type {wanted!r}: there are {inventory}",
            "gpu-inventory-type",
            wanted=wanted,
            inventory=_stock(inventory),
        ),
        reason=say("types are matched exactly: the job would wait without end"),
        help=_meant(wanted) or say("name a type that the inventory has"),
    )


def _mended(facts: Facts, found: Finding, path: Path, wanted: str) -> Finding:
    best = _best(wanted)
    if not best:
        return found
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    return with_value(facts, found, path, best)


def _best(wanted: str) -> str:
    """The type that was most likely meant, for one that is none."""
    return "" if resolve(wanted) else nearest(wanted)


def _meant(wanted: str) -> str:
    best = _best(wanted)
    return say("did you mean {best!r}?", best=best) if best else ""


def _several(wanted: str) -> str:
    """What to write where several types stand in one word, or one with a sign for better ones."""
    plain = wanted.lower()
    for sign in ("|", ",", "/", "+", ">", "=", " or ", "*"):
        plain = plain.replace(sign, "\n")
    parts = [part.strip(" -_") for part in plain.split("\n") if part.strip(" -_")]
    if parts == [wanted.lower()] or not parts or not all(resolve(part) for part in parts):
        return ""
    return say("write one type, such as {type}, or `>={type}` for it and better ones", type=parts[0])


def _stock(inventory: Inventory) -> str:
    kinds: dict[str, int] = {}
    for device in inventory.devices:
        kind = device.type or device.model or say("GPU of unknown type")
        kinds[kind] = kinds.get(kind, 0) + 1
    return ", ".join(f"{count} x {kind}" for kind, count in sorted(kinds.items())) or counted(0, "GPU")


RULE = Rule("DS205", "gpu-type-unknown", Severity.ERROR, check, when=("gpu-type",))
