"""Strings that a secret begins with or stands beside, all found in one pass over a text (Aho-Corasick).

Almost all files hold few of them: the regular expressions look at their surroundings alone.
"""

from __future__ import annotations

import functools
import itertools

from dsec.record import Record
from dsec_cli.snapshot import declarations, encodedtexts, literals
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
_PLACE = 48
_PLACES = (1 << _PLACE) - 1
"""A place in a file has fewer bits."""


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
    slots: list[int]
    """Where a value may stand apart from its name."""
    codes: list[int]
    """Where a text in base 64 has what a secret begins with, or its name."""
    others: dict[str, list[int]]
    """Where the other strings begin."""


class Search:
    """Finds the strings of the tables, and `others` that only the caller knows.

    `forms` alone: neither names nor what only they make a secret are looked for. The automaton is then made
    in a fifth of the time.
    """

    def __init__(self, others: Iterable[str], *, forms: bool = False) -> None:
        self._others, self._forms = tuple(dict.fromkeys(others)), forms

    @functools.cached_property
    def _built(self) -> tuple[BytesAhoCorasick, list[int], list[int]]:
        """The automaton; of each string the number of its kind, and how far behind its start the place is.

        Of the others that is their number: so one pass tells them apart without a list for each.
        """
        from ahocorasick_rs import BytesAhoCorasick, Implementation  # not where no text is looked at

        named: tuple[Iterable[tuple[str, int]], ...] = (
            [(one, 0) for name in NAMES for one in _spellings(name)],
            [*((one, 0) for one in literals.SIGNS), *((one, 1) for one in literals.SIGNS_BEHIND)],
            [(one, 0) for one in declarations.SLOTS],
            [(one, 0) for one in encodedtexts.WORDS],
        )
        kinds: tuple[Iterable[tuple[str, int]], ...] = (
            [(one, 0) for one in dict.fromkeys(PREFIXES)],
            [(one, 1 if one == _TELEGRAM else len(one)) for one in PARTS],
            [(ADDRESS, 0)],
            *([] if self._forms else one for one in named),
            [(one, number << _PLACE) for number, one in enumerate(self._others)],
        )
        rows = [(word, number, behind) for number, kind in enumerate(kinds) for word, behind in kind]
        words = [word.encode("latin-1") for word, _, _ in rows]
        automaton = BytesAhoCorasick(words, implementation=Implementation.DFA)
        return automaton, [number for _, number, _ in rows], [behind for _, _, behind in rows]

    def __call__(self, data: bytes) -> Keywords:
        """All that stand in `data`, also where they overlap."""
        automaton, kinds, behind = self._built
        places: list[list[int]] = [[], [], [], [], [], [], [], []]
        for word, start, _ in automaton.find_matches_as_indexes(data, overlapping=True):
            places[kinds[word]].append(start + behind[word])
        prefixes, runs, addresses, names, seams, slots, codes, others = places
        found: dict[str, list[int]] = {}
        for code in others:
            found.setdefault(self._others[code >> _PLACE], []).append(code & _PLACES)
        unique = sorted(set(seams))
        return Keywords(names, set(prefixes), set(runs), addresses, unique, slots, codes, found)


def _spellings(name: str) -> Iterable[str]:
    """All of its spellings in small and capital letters."""
    return map("".join, itertools.product(*((char, char.upper()) for char in name)))
