"""Texts with a grammar of their own: Step ids, environment names, call targets.

Each form is known twice, as a regular expression (for the schemas) and as a plain function (for
the linter, which must not pay for `re`); a test holds the two together.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_WORD = _LETTERS | frozenset("0123456789")
_ID_FIRST = _WORD - {"_"}
_HEX = frozenset("0123456789abcdefABCDEF")
_ID = _WORD | frozenset(".-")
_DIGITS = frozenset("0123456789")
_EXTRAS = _ID | frozenset(", ")


class Form(Record):
    """A grammar, what it is called, and what it looks like."""

    says: str
    """Completes the sentence "... must be "."""
    pattern: str
    accepts: Callable[[str], bool]
    example: str


def is_step_id(text: str) -> bool:
    """1 to 64 letters, digits, `_`, `.` and `-`, beginning with a letter or digit."""
    return 0 < len(text) <= 64 and text[0] in _ID_FIRST and _ID.issuperset(text)


def is_env_name(text: str) -> bool:
    """A portable environment variable name."""
    return bool(text) and text[0] in _LETTERS and _WORD.issuperset(text)


def is_call(text: str) -> bool:
    """`module:function`, the module possibly dotted."""
    module, colon, function = text.partition(":")
    return bool(colon) and is_env_name(function) and all(is_env_name(part) for part in module.split("."))


REDUCTIONS = ("sum", "mean", "max", "min")
"""What is done with arrays that several parts of a Step have written."""


def is_reduction(text: str) -> bool:
    """A reduction by name, or a call."""
    return text in REDUCTIONS or is_call(text)


def is_content_hash(text: str) -> bool:
    """`blake3:` or `sha256:` and 64 hexadecimal digits."""
    algorithm, _, digits = text.partition(":")
    return algorithm in ("blake3", "sha256") and len(digits) == 64 and _HEX.issuperset(digits)


_BLANK = (*range(0x21), *range(0x7F, 0xA1), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)
"""Blanks, line ends and characters that control or are none."""
_NOT_IN_HOST = frozenset(map(chr, _BLANK)) | frozenset("/:@?#")


def is_host(text: str) -> bool:
    """A host name or address without scheme, port and path; `*` and ranges of addresses are left to rules."""
    if _NOT_IN_HOST.isdisjoint(text):
        return bool(text)
    address, slash, length = text.partition("/")
    if slash and not (length and _DIGITS.issuperset(length)):
        return False
    if address.count(":") > 1:
        return _HEX.union(".:").issuperset(address)
    return bool(slash and address) and _DIGITS.union(".").issuperset(address)


def is_package_name(text: str) -> bool:
    """A distribution's name by PEP 508, with extras in brackets or without."""
    name, bracket, extras = text.partition("[")
    if bracket and not (extras.endswith("]") and _EXTRAS.issuperset(extras[:-1])):
        return False
    return bool(name) and name[0] in _ID_FIRST and name[-1] in _ID_FIRST and _ID.issuperset(name)


_NAME = say("a letter or digit followed by at most 63 letters, digits, '_', '.' or '-'")
_NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
FORMS = {
    "step id": Form(_NAME, _NAME_PATTERN, is_step_id, "S2.policy-forward"),
    "token name": Form(_NAME, _NAME_PATTERN, is_step_id, "judge-api"),
    "variable name": Form(
        say("letters, digits and '_', not beginning with a digit"),
        "^[A-Za-z_][A-Za-z0-9_]*$",
        is_env_name,
        "TOOL_API_KEY",
    ),
    "call": Form(
        say("module:function"),
        "^[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*$",
        is_call,
        "policy:forward",
    ),
    "host name": Form(
        say("a host name or an address, without scheme, port and path"),
        "^([^\\u0000-\\u0020/:@?#\\u007f-\\u00a0\\u2028\\u2029\\ufeff\\ufffe\\uffff]+|[0-9.]+/[0-9]+|[0-9A-Fa-f.]*:[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(/[0-9]+)?)$",
        is_host,
        "api.websearch.com",
    ),
    "package name": Form(
        say("the name of a Python package, with extras in brackets or without"),
        "^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?(\\[[A-Za-z0-9_., -]*\\])?$",
        is_package_name,
        "transformers",
    ),
    "reduction": Form(
        say("sum, mean, max, min or module:function"),
        "^(sum|mean|max|min|[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*)$",
        is_reduction,
        "mean",
    ),
    "content hash": Form(
        say("blake3: or sha256: and 64 hexadecimal digits, as dsec hash prints it"),
        "^(blake3|sha256):[0-9A-Fa-f]{64}$",
        is_content_hash,
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
}
