"""Values of secrets that stand apart from their names: defaults of options and variables, entries of plists.

A declaration names something in one place and gives its value in another: `add_argument("--api-key", ...,
default="...")`, `variable "db_password" { ... default = "..." }`, `<key>ApiToken</key> <string>...</string>`,
`- name: API_KEY` above `value: ...`. Pure.
"""

from __future__ import annotations

import bisect

from dsec_cli.snapshot.pattern import regex
from dsec_cli.snapshot.secretvalues import is_meant, strength

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    Range = tuple[int, int]

SLOTS = (
    *(
        f"{word}{sign}"
        for word in ("efault", "alue")
        for sign in ('="', "='", ' = "', " = '", ": ", '":', "':", "  ")
    ),
    *("<string>", "<value>"),
)
"""What a value that stands apart begins with; all of different ends, so that none is found twice."""
_MOST_LINES, _REACH = 8, 400
"""Lines and characters between a name and its value."""
_SLOT = regex(
    r"(?:efault|alue)[\"']?[ \t]*(?:=>|:=|=|:)[ \t]*"
    r"(?:[rbuf]{0,2}(?P<q>[\"'])(?P<quoted>[^\"'\n]{6,4096})(?P=q)"
    r"|(?P<bare>[^\s\"'#,;{}\[\]()<>]{6,512})(?=[ \t]*\r?(?:\n|\Z)))"
    r"|<(?P<tag>string|value)>(?P<element>[^<>\s]{6,4096})</(?P=tag)>"
)
_NAMED = regex(
    r"(?P<key>(?<![\w.-])[A-Za-z_-]{2,20}[\"']?[ \t]*[:=][ \t]*)?"
    r"(?:(?P<q>[\"'])(?:--?)?(?P<quoted>[A-Za-z_][\w.-]{1,79})(?P=q)"
    r"|<(?:key|name)>(?P<element>[A-Za-z_][\w.-]{1,79})</)[ \t]*(?P<open>[:=]?[ \t]*[{(\[])?"
)
"""A name in quotes or in an element, and what is opened right behind it."""
_ITEM = regex(
    r"[ \t]*(?:-[ \t]+)?(?:name|key|Name|Key)[ \t]*[:=][ \t]*(?P<bare>[A-Za-z_][\w.-]{1,79})[ \t]*\r?\Z"
)
"""`- name: API_KEY`."""
_HEAD = regex(r"[ \t]*(?:-[ \t]+)?(?P<head>[A-Za-z_][\w.-]{1,79})[ \t]*(?::|=?[ \t]*(?P<open>\{))[ \t]*\r?\Z")
"""`DBPassword:` and `db_password = {`, alone in its line."""
_KEYS = frozenset(("name", "key", "id", "variable", "var", "field", "option", "arg", "env", "title"))
"""What says that the value behind it is a name."""
_BRACKETS = regex(r"[()\[\]{}]")
_INDENT = regex(r"[ \t]*")


def is_near(slots: Sequence[int], start: int, end: int) -> bool:
    """Whether a value may stand apart from a name in the line from `start` to `end`."""
    first = bisect.bisect_left(slots, start)
    return first < len(slots) and slots[first] < end + _REACH


def values(
    text: str, start: int, end: int, slots: Sequence[int], *, bare: bool, guarded: bool
) -> Iterator[Range]:
    """The values of what the line from `start` to `end` declares; `bare`: they need no quotes."""
    for name, behind, base, depth in _declared(text, start, end):
        near = slots[bisect.bisect_left(slots, behind) : bisect.bisect_left(slots, behind + _REACH)]
        if near and strength(name) and (hit := _slot(text, behind, near, (base, depth))) is not None:
            group = next(one for one in ("quoted", "bare", "element") if hit[one])
            quoted = group != "bare"
            if (quoted or bare) and is_meant(name, hit[group], quoted=quoted, guarded=guarded):
                yield hit.span(group)


def _slot(text: str, behind: int, near: Sequence[int], within: tuple[int, int]) -> re.Match[str] | None:
    """The first value behind a name, if it is of that."""
    for at in near:
        if not _belongs(text[behind:at], *within):
            return None
        if (hit := _SLOT.match(text, at)) is not None:
            return hit
    return None


def _declared(text: str, start: int, end: int) -> Iterator[tuple[str, int, int, int]]:
    """Names; where each ends, how far its declaration is indented, and how many brackets it opens."""
    indent = _column(text, start)
    for hit in _NAMED.finditer(text, start, end):
        name = hit["quoted"] or hit["element"]
        key = (hit["key"] or "name").strip(" \t:=\"'").lower().replace("-", "_").rpartition("_")[2]
        if key in _KEYS:
            yield name, hit.end(), indent, int(hit["open"] is not None)
    line = text[start : min(end, start + _REACH)]
    if (item := _ITEM.match(line)) is not None:
        yield item["bare"], end, indent, 0
    elif (head := _HEAD.match(line)) is not None:
        yield head["head"], end, indent + 1, int(head["open"] is not None)


def _belongs(between: str, base: int, depth: int) -> bool:
    """Whether what follows is still in the declaration: nothing was closed, no other entry has begun."""
    within = depth
    for bracket in _BRACKETS.findall(between):
        depth += 1 if bracket in "([{" else -1
        if depth < within:
            return False
    _, *others = between.split("\n", _MOST_LINES + 1)
    if len(others) > _MOST_LINES:
        return False
    return depth == within and not any(_begins_another(line, base) for line in others)


def _begins_another(line: str, base: int) -> bool:
    bare = line.strip()
    return bool(bare) and (
        len(line) - len(line.lstrip()) < base or bare[:1] in ("[", "-") or bare[:5] == "<key>"
    )


def _column(text: str, start: int) -> int:
    """Where the first word of a line is, behind the dash of a list."""
    hit = _INDENT.match(text, start)
    at = start if hit is None else hit.end()
    return at - start + (2 if text.startswith("- ", at) else 0)


def listed(text: str, names: Iterable[tuple[str, int]], *, bare: bool, guarded: bool) -> Iterator[Range]:
    """Values of lists: `API_KEYS = ["...", "..."]`; `names`: each with where its list begins."""
    for name, at in names:
        singular = (name, name[:-1]) if name[-1:] in ("s", "S") else (name,)
        for _ in range(_MOST_ITEMS):
            hit = _VALUE.match(text, at)
            if hit is None:
                break
            group = "value" if hit["q"] else "bare"
            quoted = group == "value"
            if (quoted or bare) and any(
                is_meant(one, hit[group], quoted=quoted, guarded=guarded) for one in singular
            ):
                yield hit.span(group)
            at = hit.end()


_MOST_ITEMS = 64
LIST = regex(
    r"[\"'\]]{0,2}[ \t]*(?::[ \t]*[\w.\[\], |]{1,40}=|:=|=>|=|:)[ \t]*(?:new[ \t]+)?"
    r"(?:(?:List|Set)\.of|Arrays\.asList|listOf|setOf|arrayOf|frozenset|set|tuple|list|array|vec!|c"
    r"|\[\]string|String\[\])?[ \t]*[\[({](?=[ \t]*[^\s\])}])"
)
"""What stands between a name and the first of several values."""
_VALUE = regex(
    r"[ \t\r\n]*(?:[\"']?[\w.-]{1,80}[\"']?[ \t]*(?:=>|:)[ \t]*)?[rbuf]{0,2}"
    r"(?:(?P<q>[\"'])(?P<value>[^\"'\n]{0,4096})(?P=q)|(?P<bare>[^\s,\"'\[\](){}:]{1,512}))"
    r"[ \t]*(?:,|;|(?=[\])}\r\n]))"
)
