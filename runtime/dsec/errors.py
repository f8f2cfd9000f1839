"""Errors that mean "we could not find out": each names the thing and the next step."""

from __future__ import annotations


class DSecError(Exception):
    """Something outside the contract stopped us; `exit.guarded` turns it into one line and exit code 3.

    `what` names the thing and what is wrong with it, `hint` says what to do next.
    """

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what} (hint: {self.hint})" if self.hint else self.what


class FileProblem(DSecError):
    """A file could not be read, decoded or written."""


class StoredFormError(DSecError):
    """A stored document is damaged, or was written by a newer version."""


class InventoryProblem(DSecError):
    """Devices could not be read, or a described inventory is wrong."""


class PlanProblem(DSecError):
    """The plan cannot be carried out here (stale, infeasible on this inventory, damaged)."""


class RunProblem(DSecError):
    """A run could not be found, started, resumed or asked."""
