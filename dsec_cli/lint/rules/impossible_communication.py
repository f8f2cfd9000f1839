"""A communication whose protocol the two ends cannot speak.

Why: NVLink joins GPUs of NVIDIA's that have it, in one machine. Between a card without it and any
other, between tasks of which one has no GPU, or with `nvlink_mode: off`, there is no such way, and an
all-to-all that waits for it hangs. Cards of two generations have no NVLink between them either; as
the seeds leave the choice of a bridge to DSec, that is only mentioned here, and refused where a plan
is made. With `--inventory` the links of the given machines decide. Without a `protocol` DSec takes the
best there is where both ends are placed.

Bad (yaml):
    # rag-training-task.yaml
    tasks:
      - {name: embed, script: python embed.py, timeout: 1h, compute_unit: {gpu_type: a100}}
      - {name: search, script: python search.py, timeout: 1h, compute_unit: {gpu_type: mi300x}}
    communication:
      - {from: embed, to: search, protocol: nvlink-p2p}

Good (yaml):
    # rag-training-task.yaml
    tasks:
      - {name: embed, script: python embed.py, timeout: 1h, compute_unit: {gpu_type: a100}}
      - {name: search, script: python search.py, timeout: 1h, compute_unit: {gpu_type: mi300x}}
    communication:
      - {from: embed, to: search, protocol: rdma-over-converged-ethernet}

Source: seed B section 3.1 (protocols between tasks of different GPUs). Unknown ends are
`unknown-step`, an edge from a task to itself is a `dependency-cycle`.
"""

from __future__ import annotations

from dsec import cards
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.demands import Types, fits_type
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec.cards import Card
    from dsec.core.placement import Slot
    from dsec.inventory import Inventory
    from dsec_cli.contract.values import Contract, Gpu, Link, Step
    from dsec_cli.source.tree import Path

NVLINK = "nvlink-p2p"


def check(facts: Facts) -> Iterator[Finding]:
    """Every communication over NVLink, by what the card table knows of both ends."""
    contract = facts.contract
    links = [link for link in contract.communication if link.protocol == NVLINK]
    if not links:
        return
    steps = {step.id: step for step in contract.steps}
    table = _table(facts.inventory)
    for link in links:
        if contract.nvlink_mode == "off":
            yield _switched_off(link)
            continue
        ends = [steps[name] for name in (link.source, link.target) if name in steps]
        told = [finding for step in ends if (finding := _cannot(link, step, contract)) is not None]
        yield from told
        if len(ends) == len({step.id for step in ends}) == 2 and not told:
            apart = _apart(link, ends[0], ends[1], table)
            yield from apart or _generations(link, ends[0], ends[1])


def _table(inventory: Inventory | None) -> Sequence[Slot]:
    """The inventory's devices where it is known how they are linked."""
    if inventory is None or not any(device.links for device in inventory.devices):
        return ()
    from dsec.core.placement import slots  # most checks are given no inventory

    return slots(inventory)


def _apart(link: Link, first: Step, second: Step, table: Sequence[Slot]) -> list[Finding]:
    """Two Steps whose types share no NVLink group of the inventory."""
    types = Types()
    ends = []
    for step in (first, second):
        gpu = step.demand.gpu
        kind = None if gpu is None else gpu.type
        ends.append([slot for slot in table if gpu is not None and fits_type(kind, slot.device, types)])
    one, two = ends
    if not one or not two or {slot.group for slot in one if slot.group} & {slot.group for slot in two}:
        return []  # what is not there at all is for other rules
    from dsec_cli.dag.affinity import groups_text

    return [
        _finding(
            link,
            say(
                "the inventory has no NVLink that {a} and {b} could share: {there}",
                "apart",
                a=first.id,
                b=second.id,
                there=groups_text(table),
            ),
            say("leave protocol out to have the best way there is, or plan for another machine"),
            (),
        )
    ]


def _gpu(step: Step, contract: Contract) -> Gpu | None:
    if step.demand.gpu is not None:
        return step.demand.gpu
    if step.kind == "task" and step.demand.path == step.path:
        # A task without a compute unit says nothing of its hardware.
        return contract.baseline.gpu if contract.baseline is not None else None
    return None


def _rows(gpu: Gpu | None) -> list[Card]:
    names = cards.resolve(gpu.type) if gpu is not None and gpu.type is not None else ()
    return [row for name in names if (row := cards.card(name)) is not None]


def _cannot(link: Link, step: Step, contract: Contract) -> Finding | None:
    gpu = _gpu(step, contract)
    if step.demand.gpu is None:
        return None
    rows = _rows(gpu)
    if not rows or any(row.nvlink for row in rows) or gpu is None or gpu.type is None:
        return None
    return _finding(
        link,
        say("{step} runs on {type}, which has no NVLink", "no-nvlink", step=step.id, type=gpu.type),
        say("write rdma-over-converged-ethernet, pcie or shared-memory, or leave protocol out"),
        (Related(_type_path(step, gpu), say("{type} is asked for here", type=gpu.type)),),
    )


def _type_path(step: Step, gpu: Gpu) -> Path:
    return (*gpu.path, "gpu_type" if step.kind == "task" else "type")


def _switched_off(link: Link) -> Finding:
    return _finding(
        link,
        say("{a} is to reach {b} over NVLink, but nvlink_mode is off", "off", a=link.source, b=link.target),
        say("write nvlink_mode: switched or p2p, or another protocol"),
        (Related(("nvlink_mode",), say("switched off here")),),
    )


def _generations(link: Link, first: Step, second: Step) -> Iterator[Finding]:
    one, two = first.demand.gpu, second.demand.gpu
    families = {row.family for row in _rows(one)}, {row.family for row in _rows(two)}
    if one is None or two is None or not all(families) or families[0] & families[1]:
        return
    finding = _finding(
        link,
        say(
            "no NVLink joins {one} ({a}) to {two} ({b}): a plan that places them so is refused",
            "generations",
            one=one.type,
            a=first.id,
            two=two.type,
            b=second.id,
        ),
        say("leave protocol out to say that the best way there is will do"),
        (
            Related(_type_path(first, one), say("{type} is asked for here", type=one.type)),
            Related(_type_path(second, two), say("{type} is asked for here", type=two.type)),
        ),
    )
    yield finding._replace(severity=Severity.INFO, reason=say("NVLink joins cards of one type"))


def _finding(link: Link, message: str, advice: str, related: tuple[Related, ...]) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*link.path, "protocol"),
        message=message,
        reason=say("what waits for a way that does not exist hangs"),
        help=advice,
        related=related,
    )


RULE = Rule("DS509", "impossible-communication", Severity.ERROR, check, when=("communication",))
