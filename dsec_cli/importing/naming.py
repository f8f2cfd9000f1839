"""Names that a contract can hold, made of names that it cannot."""

from __future__ import annotations

from dsec_cli.contract.forms import is_step_id

MOST = 64
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_LEGAL = _LETTERS | frozenset("_.-")


def legal(text: str, instead: str) -> str:
    """`text` as a job's name or a Step's id; `instead` where nothing of it can be kept."""
    plain = "".join(ch if ch in _LEGAL else "-" for ch in text[: 4 * MOST]).strip("-_.")
    while "--" in plain:
        plain = plain.replace("--", "-")
    kept = plain[:MOST].rstrip("-_.")
    return kept if is_step_id(kept) else instead


class Ids:
    """Gives every name of the source a Step id of its own."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}
        self._used: set[str] = set()
        self._next: dict[str, int] = {}

    def give(self, name: str) -> str:
        """The id of a name that is new; the same name again gets another one."""
        wanted = legal(name, "step")
        found = wanted
        while found in self._used:
            number = self._next[wanted] = self._next.get(wanted, 1) + 1
            found = f"{wanted[: MOST - 1 - len(str(number))]}-{number}"
        self._used.add(found)
        self._given[name] = found
        return found

    def of(self, name: str) -> str | None:
        """The id that was given to the name, if it was."""
        return self._given.get(name)
