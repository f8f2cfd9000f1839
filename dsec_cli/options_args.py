"""A parsed command line, and what it holds where nothing was given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options_shared import Command


MAY_BE_EMPTY = frozenset(("COMMAND", "VALUE", "exclude", "grep", "ignore", "select"))
"""Arguments and options that an empty word can be meant for; elsewhere it is a variable that is not set."""
OF_GROUP = {"ds-netcheck": "netcheck"}
"""Programs that are one group of dsec's commands: who starts them leaves out the group's word."""


class Args:
    """A parsed command line: every option and argument of the command as an attribute."""

    def __init__(self, values: dict[str, object]) -> None:
        self.__dict__.update(values)

    if TYPE_CHECKING:
        from typing import Any

        def __getattr__(self, name: str) -> Any: ...


def attribute(name: str) -> str:
    """The attribute of `Args` that holds the option or argument `name`."""
    return name.lower().replace("-", "_")


def defaults(row: Command) -> dict[str, object]:
    """What `Args` holds when nothing is given on the command line."""
    values: dict[str, object] = {}
    for name, arity, _, _ in row[3]:
        values[attribute(name)] = () if arity in ("some", "many") else None
    for name, _, kind, _, _, default, _ in row[4]:
        values[attribute(name)] = {"flag": False, "multi": ()}.get(kind, default)
    return values
