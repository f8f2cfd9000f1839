"""Reads why `uv pip compile` finds no set of versions, from its words: who needs what, and what is missing.

The words are a derivation in English that changes a little with every release of uv and wraps at the width of
a terminal. So single clauses are looked for ("A depends on B", "you require C"), and what is not understood
is passed over; the words themselves are kept for people.
"""

from __future__ import annotations

import re

from dsec.record import Record
from dsec_cli.packages.known import PYTHON
from dsec_cli.packages.ranges import of, unite
from dsec_cli.packages.requirement import normalised

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.packages.ranges import Ranges

NO_SET = "No solution found"
"""What uv says first where the requirements cannot be met together."""
MOST_READ, MOST_KEPT = 1 << 17, 1200
"""Characters of the words that are read, and that are kept for people."""
_TERM = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?)(\[[^\]]{0,500}\])?([<>=!~].{1,500})?")
_NOISE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[│├╰╭─▶×]")
_NO_TERM = frozenset(
    (
        *(
            "all",
            "an",
            "any",
            "and",
            "are",
            "because",
            "both",
            "can",
            "cannot",
            "conclude",
            "depend",
            "depends",
        ),
        *(
            "either",
            "for",
            "from",
            "has",
            "have",
            "if",
            "in",
            "is",
            "it",
            "no",
            "not",
            "of",
            "on",
            "one",
            "only",
        ),
        *(
            "or",
            "project",
            "requirements",
            "that",
            "the",
            "there",
            "this",
            "to",
            "versions",
            "was",
            "we",
            "were",
        ),
        *("you", "your"),
    )
)
_VERBS = frozenset(
    (
        *("are", "be", "cannot", "depend", "depends", "do", "does", "has", "have", "is", "need", "needs"),
        *("require", "requires", "was", "were"),
    )
)
_UNSURE = (
    "network was disabled",
    "not found in the cache",
    "could not be queried",
    "Unauthorized",
    "Forbidden",
    "lack of valid authentication",
)
"""Words by which uv says that it could not look, though it says "no solution" first."""


class Needed(Record):
    """A clause: versions of one package that need versions of another."""

    name: str
    ranges: Ranges
    on: str
    texts: tuple[str, ...]
    """Alternatives."""
    derived: bool = False
    """It is a conclusion of uv's, not what a package states."""

    @property
    def allowed(self) -> Ranges:
        """What the alternatives allow together."""
        return unite(of(text) for text in self.texts)


class Derivation(Record):
    """What the words say, as far as they are understood."""

    words: str
    required: tuple[str, ...]
    """Packages that the contract requires, in the order of the words."""
    needed: tuple[Needed, ...]
    absent: frozenset[str]
    """Packages that the index does not have."""
    missing: frozenset[str]
    """Packages of which it has no version, or none that can be used, in some range."""
    unbuilt: tuple[tuple[str, Ranges], ...]
    """Releases without a wheel that could be used: what they need is not known."""
    unsure: bool
    """Whether uv could not look everywhere."""


def is_unsolvable(said: str) -> bool:
    """Whether uv says that there is no set of versions."""
    return NO_SET in said


def read(said: str) -> Derivation:
    """The clauses in what uv wrote; any text at all gives a derivation."""
    plain = _plain(said)
    tokens = plain.split()
    required, absent, missing = dict[str, None](), set[str](), set[str]()
    needed: list[Needed] = []
    unbuilt: list[tuple[str, Ranges]] = []
    derived = False
    for at, word in enumerate(tokens):
        derived = word == "conclude" or (derived and word not in ("because", "Because"))
        if word in ("depends", "depend") and tokens[at + 1 : at + 2] == ["on"]:
            needed += (one._replace(derived=derived) for one in _needs(tokens, at))
        elif word == "require" and at and tokens[at - 1] == "you":
            required |= dict.fromkeys(name for name, _, _ in _objects(tokens, at + 1))
        elif word == "satisfy" and tokens[at + 1 : at + 2]:
            needed += _of_python(tokens, at)
        elif word in ("was", "were") and tokens[at + 1 : at + 4] == ["not", "found", "in"]:
            absent |= {term[0] for term in _before(tokens, at)}
        elif word in ("has", "have") and tokens[at + 1 : at + 4] in (
            ["no", "usable", "wheels"],
            ["no", "usable", "wheels,"],
        ):
            unbuilt += [(name, of(text)) for name, text in _before(tokens, at)]
        missing |= _missing(tokens, at)
    unsure = any(words in plain for words in _UNSURE)
    words = plain if len(plain) <= MOST_KEPT else plain[:MOST_KEPT] + "..."
    return Derivation(
        words, tuple(required), tuple(needed), frozenset(absent), frozenset(missing), tuple(unbuilt), unsure
    )


def _plain(said: str) -> str:
    """The derivation and uv's hints in one line, without what is drawn around them."""
    start = said.find(NO_SET)
    text = _NOISE.sub(" ", said[max(start, 0) : MOST_READ + max(start, 0)])
    text = "".join(ch if ch.isprintable() or ch.isspace() else "?" for ch in text)
    text = " ".join(text.split())
    text = re.sub(r"(?<=\w)- (?=\w)", "-", text)  # wrapped at the hyphen of a name
    head = re.match(rf"{NO_SET}[^:]{{0,200}}?dependencies:? *(?:cause: )?", text)
    return text[head.end() :] if head else text


def _term(token: str) -> tuple[str, str] | None:
    """Name and range of `vllm[ray]>=0.6,<0.7`; None: the word is no package."""
    found = _TERM.fullmatch(token.rstrip(".,;:").strip("`"))
    if found is None or found[1] in _NO_TERM:
        return None
    return normalised(found[1]), found[3] or ""


def _before(tokens: list[str], at: int) -> Iterator[tuple[str, str]]:
    term = _term(tokens[at - 1]) if at else None
    if term is not None:
        yield term


def _missing(tokens: list[str], at: int) -> set[str]:
    """`there is no version of A`, `only A<2 is available`, `A has no wheels with ...`."""
    if tokens[at] in ("has", "have") and tokens[at + 1 : at + 2] == ["no"]:
        return {term[0] for term in _before(tokens, at)}
    ahead = 0
    if tokens[at] in ("version", "versions") and tokens[at - 1 : at] == ["no"]:
        ahead = 2
    elif tokens[at] == "only":
        ahead = 5 if tokens[at + 1 : at + 5] == ["the", "following", "versions", "of"] else 1
    term = _term(tokens[at + ahead]) if ahead and at + ahead < len(tokens) else None
    return {term[0]} if term is not None else set()


def _needs(tokens: list[str], at: int) -> Iterator[Needed]:
    for name, text in _before(tokens, at):
        lists: dict[str, list[str]] = {}
        ranges: dict[str, list[str]] = {}
        for on, wanted, listed in _objects(tokens, at + 2):
            (lists if listed else ranges).setdefault(on, []).append(wanted)
        for on, texts in lists.items():
            yield Needed(name, of(text), on, tuple(texts))
        # What "and" joins holds together, as with a constraint.
        for on, texts in ranges.items():
            yield Needed(name, of(text), on, (",".join(one for one in texts if one),))


def _of_python(tokens: list[str], at: int) -> Iterator[Needed]:
    """`the requested Python version (>=3.12) does not satisfy Python>=3.8,<3.12`: it needs no package."""
    term = _term(tokens[at + 1])
    if term is not None and term[0] == PYTHON and term[1]:
        yield Needed("", (), PYTHON, (term[1],))


def _objects(tokens: list[str], at: int) -> Iterator[tuple[str, str, bool]]:
    """The packages after "depends on" or "you require", with range, and whether it is an alternative."""
    first, listed = True, False
    while at < len(tokens):
        if tokens[at : at + 2] in (["one", "of:"], ["any", "of:"], ["all", "of:"]):
            at, listed = at + 2, True
            continue
        if tokens[at] in ("all", "any") and tokens[at + 1 : at + 3] == ["versions", "of"]:
            at += 3
            continue
        term = _term(tokens[at])
        after = tokens[at + 1] if at + 1 < len(tokens) else ""
        if term is None or (not first and after in _VERBS):
            return
        yield (*term, listed)
        ended = tokens[at].endswith((",", "."))
        at, first = at + 1, False
        if ended or not (listed or after in ("and", "or")):
            return
        if after in ("and", "or"):
            at, listed = at + 1, False
