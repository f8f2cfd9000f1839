"""Needs that hang on environment variables, settled by what the contract gives, or by their defaults."""

from __future__ import annotations

from dsec_cli.code import address
from dsec_cli.code.abstract import Text
from dsec_cli.code.needs import Egress, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.code.address import Address
    from dsec_cli.code.needs import Needs
    from dsec_cli.contract.values import Contract


_OF_THE_RUN = frozenset(("DSEC_RUN_DIR", "DSEC_CONTRACT_DIR", "DSEC_METRICS"))
"""Variables that a run sets to paths of its own, so that paths in them are no open question."""


def values_given(contract: Contract) -> dict[str, str | None]:
    """Variables that the contract gives; None where it gives a secret, or each Step another value."""
    found: dict[str, str | None] = {one.name: one.value for one in contract.env_vars if one.name}
    for step in contract.steps:
        for name, value in step.env:
            found[name] = value if found.get(name, value) == value else None
    return found


def called(needs: Needs, contract: Contract) -> list[Egress]:
    """The destinations, where a variable decides by its value."""
    values = values_given(contract)
    found = [one for one in needs.egress if one.variable not in values]
    hanging: list[Egress | Unknown] = [one for one in needs.egress if one.variable in values]
    hanging += [one for one in needs.unknowns if one.kind == "egress"]
    for one in hanging:
        there = _there(values.get(one.variable))
        if there is not None:
            rate = one.rate if isinstance(one, Egress) else None
            found.append(
                Egress(there.host, there.port, there.scheme, rate, "", one.by, one.place, one.reached)
            )
    return list(dict.fromkeys(found))


def unknowns(needs: Needs, contract: Contract) -> list[Unknown]:
    """What is not known even so."""
    values = values_given(contract)
    defaults = {one.name for one in needs.environment if one.default is not None}
    found = [one for one in needs.unknowns if not _settled(one, values, defaults)]
    for one in needs.egress:
        if one.variable in values and _there(values[one.variable]) is None:
            why = f"the contract gives {one.variable}, which decides it"
            found.append(Unknown("egress", why, one.variable, one.by, one.place, one.reached))
    return found


def _settled(one: Unknown, values: Mapping[str, str | None], defaults: set[str]) -> bool:
    if one.variable in values:
        return one.kind == "egress" and _there(values[one.variable]) is not None
    if one.kind == "file" and (one.variable in _OF_THE_RUN or one.variable.startswith("DSEC_DEP_")):
        return True
    return one.variable in defaults


def _there(value: str | None) -> Address | None:
    found = address.read(Text(value)) if value is not None else None
    return found if found is not None and found.host else None
