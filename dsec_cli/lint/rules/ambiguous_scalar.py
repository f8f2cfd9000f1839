"""A value without quotes that YAML 1.1 and YAML 1.2 read differently.

Why: `no` is false to one reader and the text `no` to the other, `010` is eight or ten, `1_000` a
number or a text, `22:30` is 1350 or a text. DSec reads YAML 1.2; PyYAML, and much of what is built
upon it, reads 1.1. Only values are told whose reading can hurt: numbers of the contract,
environment variables, and what is handed to calls, plugins and actions. There, too, `1e-4` and
dates are read as they look, so they are left alone.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: train
        call: train:main
        args: {shuffle: no, buffer: 1_000}
        timeout: 1h

Good (yaml):
    # ds_config.yaml
    steps:
      - id: train
        call: train:main
        args: {shuffle: false, buffer: 1000}
        timeout: 1h

Source: YAML 1.1 and 1.2 core types; the reports of other linters' users on `yes`, `on` and `0o100`.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Edit, Finding, Fix, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Node, Path

WORDS = frozenset(form for word in ("yes", "no", "on", "off") for form in (word, word.title(), word.upper()))
TRUE = ("yes", "on")
NUMBERS = frozenset(
    (
        *("count", "min_count", "max_count", "cpu", "retries", "max", "factor", "ports"),
        *("max_staleness", "in_flight", "max_steps_per_episode", "checkpoint_interval_steps"),
        *("max_gpu_hours", "min_gpu_hours", "instances", "concurrency", "warmup_steps"),
    )
)
"""Keys that hold numbers; what is none there is another rule's finding."""
FREE = {"steps": "args", "policies": "args", "plugins": "config"}
DIGITS = frozenset("0123456789")
OCTAL = frozenset("01234567")
LONGEST = 40
"""Characters of a number that is looked at."""
TEXT = "text"


def check(facts: Facts) -> Iterator[Finding]:
    """Plain scalars with two readings; the tree is walked only when the text has such a word."""
    if not _suspected(facts):
        return
    single: set[str] = set()
    waiting: list[tuple[Path, Node | None]] = [((), facts.document.root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, Scalar):
            yield from _told(path, node)
        elif isinstance(node, Mapping):
            waiting += [
                ((*path, key.text), value)
                for key, value in node.entries
                if isinstance(key, Scalar) and _may_tell(value, single)
            ]
        elif isinstance(node, Sequence):
            waiting += [((*path, at), item) for at, item in enumerate(node.items) if _may_tell(item, single)]


def _may_tell(node: Node, single: set[str]) -> bool:
    """Whether there is something to look at; texts with one reading, nearly all, go into `single`."""
    if type(node) is not Scalar:
        return True
    if node.style != "plain" or node.tag is not None or node.text in single:
        return False
    if readings(node.text) != ("", ""):
        return True
    single.add(node.text)
    return False


def _suspected(facts: Facts) -> bool:
    """Whether such a word stands outside the comments, which are full of `no` and `on`."""
    text, pieces, at = facts.text.text, [], 0
    for comment in facts.tree.comments:
        pieces.append(text[at : comment.span.start])
        at = comment.span.end
    text = "".join((*pieces, text[at:]))
    for sign in ",[]{}":
        text = text.replace(sign, " ")
    return any(word in WORDS or (word[0] in "+-0123456789" and _number(word)) for word in set(text.split()))


def _told(path: Path, node: Scalar) -> Iterator[Finding]:
    place = _place(path)
    if not place:
        return
    old, new = readings(node.text)
    if not old or (place == "number" and not new):
        return
    if place == "written":
        # A variable gets the text as it stands, so only a reader of 1.1 sees something else.
        new = ""
        if old == TEXT:
            return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=say(
            "{text} has two readings: YAML 1.1 reads {old}, DSec reads {new}",
            "two",
            text=node.text,
            old=_said(old, node.text),
            new=_said(new or TEXT, node.text),
        ),
        reason=say("tools that read this file by the older rules see another value, and say nothing"),
        help=_advice(node.text, old, new, number=place == "number"),
        fixes=(_fix(node, new, safe=place == "written"),),
    )


def _said(reading: str, text: str) -> str:
    return say("the text {text!r}", text=text) if reading == TEXT else reading


def _advice(text: str, old: str, new: str, *, number: bool) -> str:
    if number:
        octal = "" if old == TEXT else old
        if not octal:
            return say("write {new}", new=new)
        return say("write {new}, or {octal} if the digits are octal", new=new, octal=octal)
    if text in WORDS:
        return say('write {meant} for the truth value, or "{text}" for the text', meant=old, text=text)
    return say('write "{text}" for the text, or {number} for the number', number=new or old, text=text)


def _fix(node: Scalar, new: str, *, safe: bool) -> Fix:
    """What DSec reads, written so that every reader sees it; whether that was meant, nobody knows."""
    plain = new or f'"{node.text}"'
    return Fix(say("write {new}", new=plain), (Edit(node.span, plain),), safe=safe)


def _place(path: Path) -> str:
    """`free`, `written` or `number` where the reading of a value matters, else ""."""
    if len(path) > 3 and path[2] == FREE.get(str(path[0])):
        return "free"
    if len(path) == 4 and path[0] == "steps" and path[2] == "env":
        return "written"
    if path[:2] == ("runtime_context", "env_vars") and path[-1] == "value":
        return "written"
    last = path[-2] if len(path) > 1 and isinstance(path[-1], int) else path[-1] if path else ""
    return "number" if last in NUMBERS else ""


def readings(text: str) -> tuple[str, str]:
    """What YAML 1.1 reads (TEXT: the text itself), and the number that YAML 1.2 reads, if it is one.

    Both are "" where the two agree.
    """
    if text in WORDS:
        return ("true" if text.lower() in TRUE else "false"), ""
    if not text or text[0] not in "+-0123456789":
        return "", ""
    return _number(text) or ("", "")


def _number(text: str) -> tuple[str, str] | None:
    bare = text[1:] if text[:1] in "+-" else text
    sign = -1 if text[:1] == "-" else 1
    if bare[:2] == "0o":
        readable = bare == text and len(bare) > 2 and OCTAL.issuperset(bare[2:])
        return (TEXT, str(int(bare[2:], 8))) if readable else None
    if bare[:2] == "0b" and bare[2:].strip("_") and not bare[2:].strip("01_"):
        return str(sign * int(bare[2:].replace("_", ""), 2)), ""
    if not bare[:1].isdecimal() or not bare.isascii() or len(bare) > LONGEST:
        return None
    if DIGITS.issuperset(bare):
        return _leading_zero(bare, sign)
    if ":" in bare:
        return _sixties(bare, sign)
    return _underscored(bare, sign)


def _underscored(bare: str, sign: int) -> tuple[str, str] | None:
    digits = bare.replace("_", "")
    octal = bare[0] == "0"
    if digits == bare or not (OCTAL if octal else DIGITS).issuperset(digits):
        return None
    return str(sign * int(digits, 8 if octal else 10)), ""


def _leading_zero(bare: str, sign: int) -> tuple[str, str] | None:
    if bare[0] != "0" or len(bare) < 2:
        return None
    new = str(sign * int(bare))
    old = str(sign * int(bare, 8)) if OCTAL.issuperset(bare) else TEXT
    return None if old == new else (old, new)


def _sixties(bare: str, sign: int) -> tuple[str, str] | None:
    first, *rest = bare.split(":")
    if not first.isdecimal() or first[0] == "0" or not all(_below_sixty(part) for part in rest):
        return None
    value = 0
    for part in (first, *rest):
        value = value * 60 + int(part)
    return str(sign * value), ""


def _below_sixty(part: str) -> bool:
    return part.isdecimal() and len(part) <= 2 and int(part) < 60


RULE = Rule("DS006", "ambiguous-scalar", Severity.WARNING, check, when=("two-readings",))
