"""Holds what the code needs against what the contract says: missing, unused and unknown, as findings."""

from __future__ import annotations

from dsec_cli.code.compare.egress import missing_egress
from dsec_cli.code.compare.missing import Missing
from dsec_cli.code.compare.paths import missing_paths
from dsec_cli.code.compare.ports import listened_on
from dsec_cli.code.compare.running import programs_and_code
from dsec_cli.code.compare.unknown import not_known
from dsec_cli.code.compare.unused import never_used
from dsec_cli.code.compare.variables import missing_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.needs import Needs
    from dsec_cli.contract.values import Contract
    from dsec_cli.diagnostics import Finding

QUESTIONS = {
    "DS801": missing_egress,
    "DS802": missing_variables,
    "DS803": missing_paths,
    "DS804": programs_and_code,
    "DS805": never_used,
    "DS806": not_known,
    "DS807": listened_on,
}
"""What is asked, by the code of the findings that answer."""
KINDS = ("contract", "environment")
"""Documents that state what a job may do."""

__all__ = ["KINDS", "QUESTIONS", "Missing", "compare"]


def compare(needs: Needs, contract: Contract) -> tuple[Finding, ...]:
    """All findings on a contract (or environment), by code and then by place in the code."""
    if contract.kind not in KINDS:
        return ()
    return tuple(one.finding for ask in QUESTIONS.values() for one in ask(needs, contract))
