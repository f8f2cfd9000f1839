"""Environment markers (`python_version < "3.13" and sys_platform == "linux"`): true, false or not known.

What the environment does not tell is not known, and a requirement whose marker is not known is not
held against anybody.
"""

from __future__ import annotations

import re

from dsec.core.pep440 import satisfies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Tokens = list[str]

LINUX: dict[str, str] = {
    "sys_platform": "linux",
    "os_name": "posix",
    "platform_system": "Linux",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
}
"""Where Steps run, when nothing more is known."""
_VERSIONS = frozenset({"python_version", "python_full_version", "implementation_version"})
_TOKEN = re.compile(
    r"""\s*(\(|\)|'[^']*'|"[^"]*"|===|<=|>=|==|!=|~=|<|>|not\s+in\b|[A-Za-z_][A-Za-z0-9_.]*)"""
)
_OPERATORS = frozenset({"<", "<=", ">", ">=", "==", "!=", "~=", "===", "in", "not in"})
_OLD = {
    "os.name": "os_name",
    "sys.platform": "sys_platform",
    "platform.version": "platform_version",
    "platform.machine": "platform_machine",
    "platform.python_implementation": "platform_python_implementation",
    "python_implementation": "platform_python_implementation",
}
_DEEPEST = 40


class _Unreadable(Exception):
    """The text is no marker; `judge` says that nothing is known."""


def environment(python: str = "", *, machine: str = "") -> dict[str, str]:
    """What is known of Linux with a Python (3.11.4, or 3.11 where no more is known) on a `machine`."""
    known = dict(LINUX)
    if machine:
        known["platform_machine"] = machine
    if python.count(".") > 1:
        known |= {"python_full_version": python, "implementation_version": python}
    if python:
        known["python_version"] = ".".join(python.split(".")[:2])
    return known


def judge(marker: str, known: Mapping[str, str], *, extras: frozenset[str] = frozenset()) -> bool | None:
    """Whether the marker holds, with any of the extras or none; None: that is not known."""
    if not marker:
        return True
    try:
        tokens = _tokens(marker)
        answers = {_whole(list(tokens), {**known, "extra": extra}) for extra in ("", *sorted(extras))}
    except _Unreadable:
        return None
    if True in answers:
        return True
    return None if None in answers else False


def is_marker(text: str) -> bool:
    """Whether it can be read as an environment marker."""
    try:
        _whole(_tokens(text), {})
    except _Unreadable:
        return False
    return True


def _tokens(marker: str) -> Tokens:
    tokens, at = [], 0
    text = marker.strip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _Unreadable
        tokens.append(" ".join(found[1].split()) if found[1].startswith("not") else found[1])
        at = found.end()
    return tokens


def _whole(tokens: Tokens, known: Mapping[str, str]) -> bool | None:
    tokens.reverse()
    answer = _any(tokens, known, 0)
    if tokens:
        raise _Unreadable
    return answer


def _any(tokens: Tokens, known: Mapping[str, str], depth: int) -> bool | None:
    answers = [_all(tokens, known, depth)]
    while tokens and tokens[-1] == "or":
        tokens.pop()
        answers.append(_all(tokens, known, depth))
    if True in answers:
        return True
    return None if None in answers else False


def _all(tokens: Tokens, known: Mapping[str, str], depth: int) -> bool | None:
    answers = [_one(tokens, known, depth)]
    while tokens and tokens[-1] == "and":
        tokens.pop()
        answers.append(_one(tokens, known, depth))
    if False in answers:
        return False
    return None if None in answers else True


def _one(tokens: Tokens, known: Mapping[str, str], depth: int) -> bool | None:
    if not tokens or depth > _DEEPEST:
        raise _Unreadable
    left = tokens.pop()
    if left == "(":
        answer = _any(tokens, known, depth + 1)
        if not tokens or tokens.pop() != ")":
            raise _Unreadable
        return answer
    if len(tokens) < 2 or tokens[-1] not in _OPERATORS:
        raise _Unreadable
    return _compare(left, tokens.pop(), tokens.pop(), known)


def _compare(left: str, operator: str, right: str, known: Mapping[str, str]) -> bool | None:
    one, other = _value(left, known), _value(right, known)
    if one is None or other is None:
        return None
    if "extra" in (left, right):
        one, other = _plain(one), _plain(other)
    # A version is compared only where the variable is one; 3.9 < 3.10, though "3.9" > "3.10".
    if operator not in ("in", "not in") and _is_version(left):
        return satisfies(operator + other, one)
    if operator not in ("in", "not in") and _is_version(right) and operator in _TURNED:
        return satisfies(_TURNED[operator] + one, other)
    return _as_text(one, operator, other)


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _is_version(word: str) -> bool:
    return word in _VERSIONS


def _as_text(one: str, operator: str, other: str) -> bool | None:
    match operator:
        case "in":
            return one in other
        case "not in":
            return one not in other
        case "==" | "===":
            return one == other
        case "!=":
            return one != other
        case _:
            # The order of such texts means nothing.
            return None


def _value(word: str, known: Mapping[str, str]) -> str | None:
    if word[0] in "'\"":
        return word[1:-1]
    if word in ("and", "or", "(", ")") or word in _OPERATORS:
        raise _Unreadable
    return known.get(_OLD.get(word, word))


def _plain(extra: str) -> str:
    return re.sub(r"[-_.]+", "-", extra).lower()
