"""The knowledge base as a value: find an entry by the name that code uses, search it, add to it."""

from __future__ import annotations

from dsec.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec_cli.code.knowledge.entry import Entry


class Knowledge(Record):
    """Entries sorted by name, and each of them by every name that code reaches it by."""

    entries: tuple[Entry, ...]
    by_import: Mapping[str, Entry]


def tabulate(entries: Iterable[Entry]) -> Knowledge:
    """The knowledge that `entries` make; of two that claim one import, the later is taken."""
    rows = tuple(entries)
    by_import = {dotted: entry for entry in rows for dotted in (entry.name, *entry.imports)}
    return Knowledge(tuple(sorted(rows, key=_order)), by_import)


def merge(base: Knowledge, users: Knowledge) -> Knowledge:
    """Both; an entry of `users` replaces the one of its name and wins every import that it claims."""
    replaced = {entry.name for entry in users.entries}
    return tabulate((*(entry for entry in base.entries if entry.name not in replaced), *users.entries))


def lookup(knowledge: Knowledge, dotted: str) -> Entry | None:
    """The entry of the longest import that `dotted` is or lies below.

    `openai.OpenAI.chat` is found by `openai.OpenAI`; `boto3.client(s3)`, a call with its first
    argument, by itself, else as `boto3.client`.
    """
    at = dotted
    while at:
        found = knowledge.by_import.get(at)
        if found is not None:
            return found
        at = at[: max(at.rfind("."), at.rfind("("), 0)]
    return None


def named(knowledge: Knowledge, word: str) -> Entry | None:
    """The entry that is called `word`, by its name or an import, whatever the case."""
    if word in knowledge.by_import:
        return knowledge.by_import[word]
    low = word.lower()
    found = [entry for entry in knowledge.entries if low == entry.name.lower()]
    return found[0] if found else None


def search(knowledge: Knowledge, word: str) -> tuple[Entry, ...]:
    """Entries that have `word` in any of their texts, by name."""
    low = word.lower()
    return tuple(entry for entry in knowledge.entries if low in _text(entry))


def _text(entry: Entry) -> str:
    env = (one.name for one in entry.env)
    texts = (entry.name, entry.framework, entry.kind, entry.function, entry.notes or "")
    return "\n".join((*texts, *entry.imports, *entry.egress, *env)).lower()


def _order(entry: Entry) -> tuple[str, str]:
    return (entry.name.lower(), entry.name)
