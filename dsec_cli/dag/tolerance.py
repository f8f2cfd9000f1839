"""How much a Step's failure matters: its tolerance level, defaults filled in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.contract.values import Contract, Step

LEVEL = "pauseable"
"""Where neither the Step nor the contract states one."""


def level_of(step: Step, contract: Contract) -> str:
    """The Step's tolerance level: its own, else the contract's, else pauseable."""
    return step.level or contract_level(contract)


def contract_level(contract: Contract) -> str:
    """The level of Steps that state none."""
    tolerance = contract.fault_tolerance
    return (tolerance.level if tolerance is not None else None) or LEVEL
