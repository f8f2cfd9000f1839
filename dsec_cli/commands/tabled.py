"""Tables of packages of the user's own: every lint looks for them, and reads those that there are."""

from __future__ import annotations

import os

NAME = "conflicts.json"


def names(folder: str) -> tuple[str, str]:
    """Where tables may lie: the user's, then the one beside the contracts of `folder`."""
    return (
        os.path.join(os.path.expanduser("~"), ".ds", NAME),
        os.path.normpath(os.path.join(folder, ".dsec", NAME)),
    )


def tabled(folder: str) -> object:
    """What the contracts of a folder are held against; None where the user has no table of his own.

    Raises FileProblem for a table that is damaged.
    """
    if not any(os.path.lexists(path) for path in names(folder)):
        return None
    from dsec_cli.commands.packaging import tables
    from dsec_cli.packages.held import Held

    return Held(extra=tables(folder))
