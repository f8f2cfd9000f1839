"""Finds the prices that a run is settled by: the file that is named, else the user's."""

from __future__ import annotations

import os

from dsec.errors import FileProblem
from dsec_cli.settings import settings_path, value_of
from dsec_cli.simulation.pricefile import read_prices
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.core.settlement import Prices


def prices_of(named: str | None) -> Prices | None:
    """The prices; None: there are none. Raises FileProblem where their file cannot be used."""
    path = named
    if path is None:
        path = os.path.expanduser(value_of("prices", path=settings_path()))
        if not os.path.exists(path):
            return None
    from dsec_cli.commands.sources import read_source
    from dsec_cli.source.text import Span
    from dsec_cli.source.yaml import parse

    source = read_source(path)
    tree = parse(source)
    if tree.problems or len(tree.documents) != 1:
        why = tree.problems[0].message if tree.problems else say("it holds several documents")
        raise FileProblem(
            say("{path}: {why}", path=source.name, why=why), hint=say("a file of prices is one YAML document")
        )
    found = read_prices(tree.documents[0])
    if found.prices is None:
        first = found.wrong[0]
        line = source.position(first.where.start).line if isinstance(first.where, Span) else 1
        raise FileProblem(
            say("{path}: {why}", path=f"{source.name}:{line}", why=first.message), hint=first.help
        )
    return found.prices
