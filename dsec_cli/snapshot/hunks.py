"""Changed lines of a text with those around them, and the function that they are in."""

from __future__ import annotations

import re

from dsec_cli.snapshot.section import Hunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

AROUND = 3
"""Lines kept before and after a change."""
MOST_LINES = 20_000
"""Beyond the lines that both ends share: more are not matched with each other."""
_PYTHON = re.compile(r"(\s*)(?:async\s+)?(?:def|class)\s+(\w+)")
_OTHER = re.compile(r"[A-Za-z_$]")
_Op = tuple[str, int, int, int, int]


def hunks(before: str, after: str, name: str = "") -> tuple[Hunk, ...]:
    """The changes from one text to another; `name` is the file's, which tells its language."""
    old, new = before.splitlines(), after.splitlines()
    return tuple(_hunk(group, old, new, name) for group in _grouped(_changes(old, new)))


def is_text(data: bytes) -> bool:
    """Whether people can read it: no NUL near its beginning, as git judges."""
    return b"\0" not in data[:8000]


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Op]:
    """Ranges that differ; the same lines at both ends are cut off first, which is what keeps this quick."""
    head = 0
    least = min(len(old), len(new))
    while head < least and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < least - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if not left and not right:
        return []
    if len(left) + len(right) > MOST_LINES:
        return [("replace", head, len(old) - tail, head, len(new) - tail)]
    from difflib import SequenceMatcher  # only who has a difference to show pays for it

    ops = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(op, a + head, b + head, c + head, d + head) for op, a, b, c, d in ops if op != "equal"]


def _grouped(ops: list[_Op]) -> list[list[_Op]]:
    """Changes whose surroundings touch, together."""
    groups: list[list[_Op]] = []
    for op in ops:
        if groups and op[1] - groups[-1][-1][2] <= 2 * AROUND:
            groups[-1].append(op)
        else:
            groups.append([op])
    return groups


def _hunk(ops: list[_Op], old: Sequence[str], new: Sequence[str], name: str) -> Hunk:
    start, at = max(0, ops[0][1] - AROUND), 0
    lines: list[tuple[str, str]] = []
    at = start
    for _, first, end, new_first, new_end in ops:
        lines += ((" ", line) for line in old[at:first])
        lines += (("-", line) for line in old[first:end])
        lines += (("+", line) for line in new[new_first:new_end])
        at = end
    lines += ((" ", line) for line in old[at : at + AROUND])
    new_start = ops[0][3] - (ops[0][1] - start)
    return Hunk(start + 1, new_start + 1, context(new, ops[0][3], name), tuple(lines))


def context(lines: Sequence[str], at: int, name: str) -> str:
    """The function or class that line `at` (from 0) is in: `Policy.step`, or a line that heads it; ""."""
    if not name.endswith((".py", ".pyi")):
        if at < len(lines) and _indent(lines, at) == 0:
            return ""  # it heads what follows, or nothing does: a list of data
        heads = (line for line in reversed(lines[: at + 1]) if _OTHER.match(line))
        return next(heads, "")[:80].strip()
    found: list[str] = []
    indent = _indent(lines, at)
    for line in reversed(lines[:at]):
        head = _PYTHON.match(line)
        if head is not None and len(head[1].expandtabs()) < indent:
            found.append(head[2])
            indent = len(head[1].expandtabs())
            if not indent:
                break
        elif line.strip() and line[0] not in " \t#)]}" and not head:
            break
    return ".".join(reversed(found))


def _indent(lines: Sequence[str], at: int) -> int:
    """Columns before the first line with something on it, from `at` on."""
    for line in lines[at:]:
        if line.strip():
            expanded = line.expandtabs()
            return len(expanded) - len(expanded.lstrip())
    return 1 << 30


def first_change(hunk: Hunk) -> int:
    """Number of the first changed line, from 1, as the newer text counts."""
    at = hunk.after_at
    for sign, _ in hunk.lines:
        if sign != " ":
            return at
        at += 1
    return at
