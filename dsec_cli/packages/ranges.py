"""PEP 440 ranges as intervals, so that two of them can be cut, joined and found to be disjoint.

Local labels (`+cu121`) do not count, and what is no range is everything: both make a set too large,
never too small, so that two sets found disjoint really are.
"""

from __future__ import annotations

from dsec.core.pep440 import Version, parse, public
from dsec.versions import OPERATORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.core.pep440 import Public

    Cut = tuple[Public, int]
    """A place on the line of versions: before (0) or after (1) one of them."""
    Ranges = tuple[tuple[Cut, Cut], ...]
    """Disjoint intervals, lowest first."""

_BEYOND = 10**401
"""Larger than any number in a version, which has at most 400 characters."""
LEAST: Cut = ((-1, (), ("", 0), 0, (0, 0)), 0)
MOST: Cut = ((_BEYOND, (), ("", 0), 0, (0, 0)), 1)
EVERYTHING: Ranges = ((LEAST, MOST),)
NOTHING: Ranges = ()
_FEW = 3
"""More texts than these are not listed."""


def of(wanted: str) -> Ranges:
    """What `wanted` (`>=4.31,<5`, `2.3.0`, nothing) leaves open."""
    found = EVERYTHING
    for clause in wanted.split(","):
        if clause.strip():
            found = intersect(found, _of_clause(clause.strip()))
    return found


def _of_clause(clause: str) -> Ranges:
    operator = next((known for known in OPERATORS if clause.startswith(known)), "")
    bound = clause[len(operator) :].strip()
    if bound.endswith(".*"):
        prefix = parse(bound[:-2])
        if prefix is None or operator not in ("==", "!="):
            return EVERYTHING
        return _begins(prefix) if operator == "==" else invert(_begins(prefix))
    limit = parse(bound)
    return EVERYTHING if limit is None else _compared(operator or "==", limit)


def unread(wanted: str) -> str:
    """The first clause that `of` takes for everything because it cannot be compared; "": there is none."""
    for clause in map(str.strip, wanted.split(",")):
        operator = next((known for known in OPERATORS if clause.startswith(known)), "")
        bound = clause[len(operator) :].strip().removesuffix(".*")
        if clause and parse(bound) is None:
            return clause
    return ""


def _compared(operator: str, limit: Version) -> Ranges:
    key = public(limit)
    match operator:
        case "==" | "===":
            return (((key, 0), (key, 1)),)
        case "!=":
            return EVERYTHING if limit.local else invert((((key, 0), (key, 1)),))
        case "<=":
            return ((LEAST, (key, 1)),)
        case ">=":
            return (((key, 0), MOST),)
        case "<":
            return ((LEAST, (public(limit if limit.early else limit._replace(dev=0)), 0)),)
        case ">":
            return (((_after(limit), 1), MOST),)
        case "~=":
            prefix = Version(limit.epoch, limit.release[:-1], None, None, None, ())
            return intersect((((key, 0), MOST),), _begins(prefix))
        case _:
            raise AssertionError(f"{operator} is not among {OPERATORS}")


def _after(limit: Version) -> Public:
    """`>1.0` leaves out the post-releases of 1.0 as well, unless the bound itself is one."""
    bare = limit.post is None and limit.dev is None
    return public(limit._replace(post=_BEYOND) if bare else limit)


def _begins(prefix: Version) -> Ranges:
    *first, last = prefix.release
    low = Version(prefix.epoch, prefix.release, None, None, 0, ())
    high = low._replace(release=(*first, last + 1))
    return (((public(low), 0), (public(high), 0)),)


def intersect(one: Ranges, other: Ranges) -> Ranges:
    """What lies in both."""
    found = []
    at = beside = 0
    while at < len(one) and beside < len(other):
        low, high = max(one[at][0], other[beside][0]), min(one[at][1], other[beside][1])
        if low < high:
            found.append((low, high))
        if one[at][1] < other[beside][1]:
            at += 1
        else:
            beside += 1
    return tuple(found)


def unite(many: Iterable[Ranges]) -> Ranges:
    """What lies in any of them."""
    found: list[tuple[Cut, Cut]] = []
    for low, high in sorted(piece for one in many for piece in one):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def invert(one: Ranges) -> Ranges:
    """What does not lie in it."""
    cuts = [LEAST, *(cut for piece in one for cut in piece), MOST]
    pairs = zip(cuts[::2], cuts[1::2], strict=True)
    return tuple((low, high) for low, high in pairs if low < high)


def without(one: Ranges, other: Ranges) -> Ranges:
    """What lies in the first and not in the second."""
    return intersect(one, invert(other))


def point(version: str) -> Cut | None:
    """Where a version lies: between this cut and the next; None: it is no version."""
    found = parse(version)
    return None if found is None else (public(found), 0)


def holds(one: Ranges, version: str) -> bool:
    """Whether the version lies in it; what is no version lies nowhere."""
    at = point(version)
    return at is not None and any(low <= at < high for low, high in one)


def names_early(wanted: str) -> bool:
    """Whether a clause names a pre-release or a local build, so that unlisted versions are meant, too."""
    bounds = (clause.strip().lstrip("<>=!~").strip() for clause in wanted.split(","))
    found = [parse(bound) for bound in bounds if bound]
    return any(one is not None and (one.early or bool(one.local)) for one in found)


def spell(texts: Iterable[str]) -> str:
    """Several ranges of one package in words: `==2.3.0 or ==2.3.1`."""
    different = list(dict.fromkeys(text or "any version" for text in texts))
    shown = " or ".join(different[:_FEW])
    return shown if len(different) <= _FEW else f"{shown} or {len(different) - _FEW} more"
