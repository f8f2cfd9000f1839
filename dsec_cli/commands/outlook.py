"""What `dsec simulate` is given: a fleet, a stored plan, or a contract that is planned first."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from dsec.core.placement import feasible
from dsec.errors import PlanProblem
from dsec.planfile import LARGEST
from dsec.quickplan import is_plan, parse_plan
from dsec_cli.commands.inventory import read_inventory
from dsec_cli.commands.nearest import contract_here
from dsec_cli.commands.pipeline import Refused, prepare
from dsec_cli.commands.sources import read_source
from dsec_cli.diagnostics import Finding, Severity, concretise
from dsec_cli.simulation.fleetfile import is_fleet, read_fleet
from dsec_cli.simulation.form import NAMES
from dsec_cli.source.yaml import parse
from dsec_cli.words import say

if TYPE_CHECKING:
    from dsec.inventory import Inventory
    from dsec.plan import Plan
    from dsec_cli.simulation.values import Fleet
    from dsec_cli.source.text import SourceText

_ODD_CHARACTER = "DS005"
"""The one complaint of the YAML door that leaves the meaning clear."""


class Planned(NamedTuple):
    """A plan, and the machine that it is played on; None: the one that it was made for."""

    plan: Plan
    other: Inventory | None = None


def outlook(path: str | None, inventory: str | None) -> Fleet | Planned | Refused:
    """What the file says; a contract is planned for the inventory, a stored plan is taken there."""
    if path is None or os.path.isdir(path):
        return _planned(contract_here(path or "."), inventory)
    stored = _stored(path)
    if stored is not None:
        plan = parse_plan(stored, name=path)
        return Planned(plan, _other_machine(plan, inventory))
    source = read_source(path)
    if is_plan(source.data):
        plan = parse_plan(source.data, name=path)
        return Planned(plan, _other_machine(plan, inventory))
    return _fleet(source, path) or _planned(path, inventory)


def _stored(path: str) -> bytes | None:
    """What a plan's file holds, which may be larger than any contract; None: it is something else.

    A pipe can be read but once, and by who knows what it is.
    """
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > LARGEST:
            return None
        with open(path, "rb") as file:
            data = file.read(1)
            data += file.read(LARGEST) if data == b"{" else b""
    except OSError:
        return None  # whoever reads it as a contract says what is wrong
    return data if is_plan(data) else None


def _planned(path: str, inventory: str | None) -> Planned | Refused:
    found = prepare(path, read_inventory(inventory))
    return found if isinstance(found, Refused) else Planned(found)


def _fleet(source: SourceText, path: str) -> Fleet | Refused | None:
    """The fleet that the text is, or why it cannot be read; None: it is none."""
    tree = parse(source)
    if len(tree.documents) != 1 or not is_fleet(tree.documents[0]):
        return None
    [document] = tree.documents
    read = read_fleet(
        document, name=os.path.basename(path), inventory=lambda spec: _inventory(spec, os.path.dirname(path))
    )
    unread = [
        Finding(one.code, Severity.ERROR, one.span, one.message, help=one.help)
        for one in tree.problems
        if one.code != _ODD_CHARACTER
    ]
    if read.fleet is not None and not unread:
        return read.fleet
    return Refused(
        tuple(
            concretise(one, NAMES.get(one.code, "yaml-syntax"), text=source, document=document)
            for one in (*unread, *read.wrong)
        ),
        {source.name: source},
    )


def _inventory(spec: str, folder: str) -> Inventory:
    """What a fleet's server names: built in, or a file beside the fleet."""
    if not spec.startswith("builtin:"):
        return read_inventory(os.path.join(folder, spec))
    return read_inventory(spec)


def _other_machine(plan: Plan, spec: str | None) -> Inventory | None:
    """The machine that a plan is to be simulated on; None: the one it was made for.

    Raises PlanProblem for one on which a Step would never start.
    """
    if spec is None:
        return None
    # What a job may hold only so many of belongs to the job and not to a machine.
    inventory = read_inventory(spec)._replace(tokens=plan.inventory.tokens)
    if inventory == plan.inventory:
        return None
    for step in plan.steps:
        refusal = feasible(step.demand, inventory)
        if refusal is not None:
            raise PlanProblem(
                say("Step {id} {why}", id=step.id, why=refusal.text),
                hint=say("plan the contract for that machine instead: --inventory {spec}", spec=spec),
            )
    return inventory
