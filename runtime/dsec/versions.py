"""Versions: strict SemVer for what a sandbox loads, PEP 440 ranges for Python packages."""

from __future__ import annotations

_DIGITS = frozenset("0123456789")
_IDENTIFIER = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-")
OPERATORS = ("===", "~=", "==", "!=", "<=", ">=", "<", ">")

_VERSION = (
    r"v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*"
    r"(?:[-_.]?(?:alpha|a|beta|b|preview|pre|c|rc)[-_.]?[0-9]*)?"
    r"(?:-[0-9]+|[-_.]?(?:post|rev|r)[-_.]?[0-9]*)?"
    r"(?:[-_.]?dev[-_.]?[0-9]*)?"
)
_LOCAL = r"(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?"
_PREFIX = r"v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*"


def reads_as_float(text: str) -> bool:
    """Whether an unquoted `text` is a number with a fraction to YAML: `1.2`, `1.10`, `1e3`."""
    bare = text[1:] if text[:1] in ("+", "-") else text
    mantissa, exponent, power = bare.lower().partition("e")
    if exponent and not _digits(power.lstrip("+-")):
        return False
    whole, point, fraction = mantissa.partition(".")
    parts = [part for part in (whole, fraction) if part]
    return bool(point or exponent) and bool(parts) and all(_digits(part) for part in parts)


def _digits(text: str) -> bool:
    return bool(text) and _DIGITS.issuperset(text)


def is_semver(text: str) -> bool:
    """Whether `text` is a version by SemVer 2.0.0, with nothing left out."""
    rest, plus, build = text.partition("+")
    core, minus, pre = rest.partition("-")
    numbers = core.split(".")
    if len(numbers) != 3 or not all(_number(part) for part in numbers):
        return False
    if minus and not all(_pre(part) for part in pre.split(".")):
        return False
    return not plus or all(part and _IDENTIFIER.issuperset(part) for part in build.split("."))


def _number(text: str) -> bool:
    return _digits(text) and (text == "0" or text[0] != "0")


def _pre(text: str) -> bool:
    return bool(text) and _IDENTIFIER.issuperset(text) and (not _digits(text) or _number(text))


def semver_order(text: str) -> tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]:
    """What versions by SemVer are sorted by (section 11: build metadata does not count)."""
    core, _, pre = text.partition("+")[0].partition("-")
    parts = [(not _digits(part), int(part) if _digits(part) else 0, part) for part in pre.split(".") if part]
    return tuple(map(int, core.split("."))), not pre, tuple(parts)


def coerced(text: str) -> str:
    """The SemVer that `v4.2` or `1` most likely means (`4.2.0`, `1.0.0`), or ""."""
    bare = text.strip()
    bare = bare[1:] if bare[:1] in ("v", "V") else bare
    at = next((index for index, char in enumerate(bare) if char in "-+"), len(bare))
    numbers = bare[:at].split(".")
    if len(numbers) > 3 or not all(_digits(part) and len(part) < 20 for part in numbers):
        return ""
    padded = [str(int(part)) for part in numbers] + ["0"] * (3 - len(numbers))
    guess = ".".join(padded) + bare[at:]
    return guess if is_semver(guess) else ""


EMPTY = "it is empty"
NO_SIGN = "{clause!r} has no comparison sign"
NO_VERSION = "{clause!r} is not a version"
COMPARES_NOTHING = "{clause!r} compares with no version"
"""What may be wrong with a range."""


def range_problem(text: str) -> str:
    """Why `text` is no PEP 440 version or range, or "" when it is one.

    A single bare version means exactly that version.
    """
    template, clause = range_fault(text)
    return template.format_map({"clause": clause}) if template else ""


def range_fault(text: str) -> tuple[str, str]:
    """What is wrong with a range, as a template, and the clause that it names; both "" for a right one."""
    clauses = [clause for clause in (part.strip() for part in text.split(",")) if clause]
    if not clauses:
        return EMPTY, ""
    for clause in clauses:
        operator = next((known for known in OPERATORS if clause.startswith(known)), "")
        if not operator and "," in text:
            return NO_SIGN, clause
        if not _clause(operator, clause[len(operator) :].strip()):
            return (COMPARES_NOTHING, clause) if operator else (NO_VERSION, clause)
    return "", ""


def _clause(operator: str, version: str) -> bool:
    low = version.lower()
    if operator == "===":
        return bool(low) and not any(char.isspace() for char in low)
    numbers = low.split(".")
    if all(_digits(number) for number in numbers):
        return operator != "~=" or len(numbers) > 1
    # Only versions that are more than numbers pay for compiling these.
    import re

    if operator in ("==", "!=", "") and low.endswith(".*"):
        return operator != "" and re.fullmatch(_PREFIX, low[:-2]) is not None
    release = re.match(_PREFIX, low)
    if operator == "~=" and (release is None or "." not in release[0]):
        return False
    local = _LOCAL if operator in ("==", "!=", "") else ""
    return re.fullmatch(_VERSION + local, low) is not None


def empty_range(text: str) -> tuple[str, str]:
    """The two clauses that no version can satisfy together (`>=4.42`, `<4.40`), or ("", "").

    Only plain release numbers are compared; what is left open is not called empty.
    """
    lower: tuple[tuple[int, ...], bool, str] | None = None
    upper: tuple[tuple[int, ...], bool, str] | None = None
    for clause in (part.strip() for part in text.split(",")):
        operator = next((known for known in OPERATORS if clause.startswith(known)), "")
        release = _release(clause[len(operator) :])
        if release is None:
            continue
        strict = operator in ("<", ">")
        if operator in (">=", ">", "==") and (lower is None or (release, strict) > lower[:2]):
            lower = (release, strict, clause)
        if operator in ("<=", "<", "==") and (
            upper is None or (release, not strict) < (upper[0], not upper[1])
        ):
            upper = (release, strict, clause)
    if lower is None or upper is None or lower[0] < upper[0]:
        return "", ""
    if lower[0] == upper[0] and not (lower[1] or upper[1]):
        return "", ""
    return lower[2], upper[2]


def _release(text: str) -> tuple[int, ...] | None:
    """`4.40.0` as numbers without trailing zeros, or None when it is more than that."""
    parts = text.strip().split(".")
    if not all(_digits(part) and len(part) < 20 for part in parts):
        return None
    numbers = [int(part) for part in parts]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
