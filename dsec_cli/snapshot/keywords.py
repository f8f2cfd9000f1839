"""Strings that a secret begins with or stands beside, all found in one pass over a text (Aho-Corasick).

Almost all files hold few of them: the regular expressions look at their surroundings alone.
"""

from __future__ import annotations

import functools
import itertools

from dsec.record import Record
from dsec_cli.snapshot import literals
from dsec_cli.source.secrets import DOTTED, SHAPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ahocorasick_rs import BytesAhoCorasick

NAMES = ("key", "token", "secret", "pass", "pwd", "cred", "auth", "bearer", "cookie", "jwt")
"""Every name of a secret holds one of these, in capitals or not."""
ADDRESS = "://"
PREFIXES = (*(shape.prefix for shape in SHAPES), "ops_eyJ", "A3-")
"""What tokens begin with."""
PARTS = (*(shape.prefix for shape in DOTTED), ":AA", "Q~", ".atlasv1.")
"""What stands before the part of a token that is a long run of its characters, with a dot or colon in it."""
_TELEGRAM = ":AA"


class Keywords(Record):
    """What was found in a text."""

    names: list[int]
    """Where a part of a name begins, in order of their ends."""
    prefixes: set[int]
    """Where a token may begin."""
    runs: set[int]
    """Where a long run of a token may begin, behind its first part."""
    addresses: list[int]
    """Where `://` stands."""
    seams: list[int]
    """Where the seam of two literals may begin."""
    others: dict[str, list[int]]
    """Where the other strings begin."""


class Search:
    """Finds the strings of the tables, and `others` that only the caller knows.

    `forms` alone: names and seams are not looked for. The automaton is then made in a fifth of the time.
    """

    def __init__(self, others: Iterable[str], *, forms: bool = False) -> None:
        self._others, self._forms = tuple(dict.fromkeys(others)), forms

    @functools.cached_property
    def _built(self) -> tuple[BytesAhoCorasick, list[int], list[int]]:
        """The automaton; of each string the number of its kind, and how far behind its start the place is."""
        from ahocorasick_rs import BytesAhoCorasick, Implementation  # not where no text is looked at

        kinds: tuple[Iterable[tuple[str, int]], ...] = (
            [] if self._forms else [(one, 0) for name in NAMES for one in _spellings(name)],
            [(one, 0) for one in dict.fromkeys(PREFIXES)],
            [(one, 1 if one == _TELEGRAM else len(one)) for one in PARTS],
            [(ADDRESS, 0)],
            []
            if self._forms
            else [*((one, 0) for one in literals.SIGNS), *((one, 1) for one in literals.SIGNS_BEHIND)],
            *([(one, 0)] for one in self._others),
        )
        rows = [(word, number, behind) for number, kind in enumerate(kinds) for word, behind in kind]
        words = [word.encode("latin-1") for word, _, _ in rows]
        automaton = BytesAhoCorasick(words, implementation=Implementation.DFA)
        return automaton, [number for _, number, _ in rows], [behind for _, _, behind in rows]

    def __call__(self, data: bytes) -> Keywords:
        """All that stand in `data`, also where they overlap."""
        automaton, kinds, behind = self._built
        places: list[list[int]] = [[] for _ in range(len(self._others) + 5)]
        for word, start, _ in automaton.find_matches_as_indexes(data, overlapping=True):
            places[kinds[word]].append(start + behind[word])
        names, prefixes, runs, addresses, seams, *others = places
        found = {word: at for word, at in zip(self._others, others, strict=True) if at}
        return Keywords(names, set(prefixes), set(runs), addresses, sorted(set(seams)), found)


def _spellings(name: str) -> Iterable[str]:
    """All of its spellings in small and capital letters."""
    return map("".join, itertools.product(*((char, char.upper()) for char in name)))
