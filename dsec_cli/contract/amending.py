"""How values and keys that are wrong are put right: an advice, and where it is safe an edit.

Imported only for a document with such a finding.
"""

from __future__ import annotations

from dsec.units import UnitProblem
from dsec_cli.contract import quantities
from dsec_cli.contract.forms import FORMS
from dsec_cli.diagnostics import Edit, Finding, Fix
from dsec_cli.source.resolve import follow, pairs, resolve
from dsec_cli.source.spelling import spelled
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.words import say


def mended(finding: Finding, node: Scalar, value: object, want: str) -> Finding:
    """The finding with the advice, and where it is safe the edit, that puts a scalar right."""
    text = node.text
    if isinstance(value, bool) and not isinstance(finding.where, Span) and finding.where[-1:] == ("shell",):
        return finding._replace(help=say("name the shell, such as bash, and write the script below `run: |`"))
    if isinstance(value, bool | int | float) and (want.startswith("text") or want in _FORM_WANTS):
        return replaced(finding._replace(help=say('quote it: "{text}"', text=text)), node, text)
    if want == "true or false" and not text.isascii():
        from dsec_cli.contract.chinese import meant as meant_by

        likely = meant_by(text, ("true", "false"))
        if likely:
            advice = say("did you mean {word}?", word=likely)
            return replaced(finding._replace(help=advice), node, likely == "true")
    if want == "true or false" and text.lower() in ("yes", "no", "on", "off", "y", "n"):
        meant = "true" if text.lower() in ("yes", "on", "y") else "false"
        return replaced(
            finding._replace(
                help=say("YAML 1.2 reads {text} as text: write {meant}", text=text, meant=meant)
            ),
            node,
            meant == "true",
        )
    if want.startswith("a list") and "\n" not in text:
        return _listed(finding._replace(help=say("write it as a list: [{text}]", text=text)), node)
    if isinstance(value, str) and "number" in want:
        return _as_number(finding, node)
    if want.startswith("a mapping"):
        return _as_entries(finding, node)
    return finding


def _as_entries(finding: Finding, node: Scalar) -> Finding:
    """The finding of a scalar in place of a mapping that has one usual entry: `gpu: 1`, `httpx>=0.27`."""
    where, text = finding.where, node.text
    if isinstance(where, Span):
        return finding
    if where[-2:-1] == (_VARIABLES,):
        return _variable(finding, text.partition("=")[0])
    if where[-1:] in (("gpu",), ("iterations",)) and text.isascii() and text.isdecimal():
        return _instead(finding, node, f"{{count: {int(text)}}}")
    if where[:1] == ("dependencies",) and len(where) == 2:
        from dsec_cli.contract.suggest import package_in

        name, rest = package_in(text)
        if not name:
            name = text if FORMS["package name"].accepts(text) else ""
        if name:
            version = f', version: "{rest}"' if rest else ""
            return _instead(finding, node, f"{{package: {name}{version}}}")
    return finding


_VARIABLES = "env_vars"


def as_list(finding: Finding, node: Mapping) -> Finding:
    """The finding of a mapping in place of a list; variables are often written as `NAME: value`."""
    if not isinstance(finding.where, Span) and finding.where[-1:] == (_VARIABLES,) and node.entries:
        first = node.entries[0].key
        return _variable(finding, first.text if isinstance(first, Scalar) else "")
    if finding.where == ("dependencies",) and node.entries:
        return _requirements(finding, node)
    if finding.where in (("steps",), ("tasks",)) and node.entries and isinstance(node.entries[0].key, Scalar):
        name = "id" if finding.where == ("steps",) else "name"
        return finding._replace(
            help=say(
                "write `- {name}: {key}`, and what is below it beside that",
                name=name,
                key=node.entries[0].key.text,
            )
        )
    return finding._replace(help=say("begin each entry with `- `"))


def _requirements(finding: Finding, node: Mapping) -> Finding:
    """How packages are written that stand there as `NAME: RANGE`, by the first of them."""
    key, value = follow(node.entries[0].key), follow(node.entries[0].value)
    if not isinstance(key, Scalar) or not FORMS["package name"].accepts(key.text):
        return finding._replace(help=say("begin each entry with `- `"))
    stated = f', version: "{value.text}"' if isinstance(value, Scalar) and value.text else ""
    return finding._replace(
        help=say("write each as an entry: {text}", text=f"- {{package: {key.text}{stated}}}")
    )


def _variable(finding: Finding, name: str) -> Finding:
    """How a variable is written. Its value may be a secret, so it is not repeated."""
    if not name.replace("_", "a").isalnum():
        name = "NAME"
    return finding._replace(
        help=say(
            "write `- {{name: {name}, value: ...}}`, and for a secret `- {{name: {name}, source: env://{name}}}`",
            name=name,
        )
    )


def _instead(finding: Finding, node: Scalar, text: str) -> Finding:
    return _written(finding._replace(help=say("write {text}", text=text)), node, text, safe=False)


def as_mapping(finding: Finding, node: Sequence) -> Finding:
    """The finding of a list of `NAME=value` in place of a mapping, with the mapping."""
    entries = []
    tokens = not isinstance(finding.where, Span) and finding.where[-1:] == ("tokens",)
    if node.items and all(isinstance(follow(item), Mapping) for item in node.items):
        return _named_entries(finding, node)
    for item in node.items:
        if tokens and isinstance(item, Scalar) and item.text.replace("-", "_").isidentifier():
            entries.append(f"{item.text}: 1")
            continue
        name, equals, value = item.text.partition("=") if isinstance(item, Scalar) else ("", "", "")
        if not equals or not name.replace("_", "a").isalnum():
            return finding
        entries.append(f"{name}: {spelled(value, 'double', flow=True)}")
    if not entries or node.anchor or not node.flow:
        return finding._replace(help=say("write {text}", text=", ".join(entries))) if entries else finding
    text = f"{{{', '.join(entries)}}}"
    told = finding._replace(help=say("write {text}", text=text))
    return told._replace(fixes=(Fix(say("write {text}", text=text), (Edit(node.span, text),), safe=False),))


def _named_entries(finding: Finding, node: Sequence) -> Finding:
    """The finding of a list of variables in place of their mapping. Values are not repeated."""
    names = []
    for item in node.items:
        entry = follow(item)
        stated = {pair.key: follow(pair.value) for pair in pairs(entry)} if isinstance(entry, Mapping) else {}
        named = stated.get("name", stated.get("key"))
        names.append(
            named.text if isinstance(named, Scalar) else next(iter(stated), "") if len(stated) == 1 else ""
        )
    if not all(names):
        return finding
    return finding._replace(
        help=say("write one mapping: {text}", text=f"{{{', '.join(f'{name}: ...' for name in names[:3])}}}")
    )


_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _as_number(finding: Finding, node: Scalar) -> Finding:
    """The finding of a text that holds a number, with the advice that leaves the number."""
    if node.text.lower() in _NUMBERS:
        number = str(_NUMBERS.index(node.text.lower()))
        return _instead(finding, node, number)
    bounds = _bounds(node.text)
    if node.style in ("single", "double") and not bounds and not node.text.strip("+-.0123456789eE_"):
        return _bare(finding._replace(help=say("remove the quotes")), node)
    number, remark, _ = node.text.partition("#")
    if remark and number.rstrip().isdecimal():
        return finding._replace(help=say("a comment needs a space before its `#`"))
    if bounds:
        return finding._replace(help=_range_advice(finding, *bounds))
    number = node.text.rstrip("m")
    if not isinstance(finding.where, Span) and finding.where[-1:] == ("cpu",) and _thousandths(node.text):
        return _instead(finding, node, f"{int(number) / 1000:g}")
    number = node.text.rstrip(_ENDS)
    if number != node.text and number.isdecimal():
        return finding._replace(help=say("remove the `{end}`", end=node.text[len(number) :]))
    number = node.text.strip().lower().removeprefix("x").removesuffix("x").strip()
    if _worded(number):
        return finding._replace(help=say("write {text}", text=_worded(number)))
    return finding


_LIKE_DIGITS = {ord("o"): "0", ord("l"): "1", ord("i"): "1"}
"""Letters that are typed for digits."""


def _worded(text: str) -> str:
    """The number of `3`, `3 times`, `8 gpus`, `5 retries`; "" for any other text."""
    meant = text.translate(_LIKE_DIGITS)
    if meant.isdecimal() and text[:1].isdecimal():
        return meant if len(meant) < _MOST_DIGITS else ""
    number, _, word = text.partition(" ")
    digits = number.rstrip("abcdefghijklmnopqrstuvwxyz")
    plain = digits.isascii() and digits.isdecimal() and len(digits) < _MOST_DIGITS
    return (
        digits
        if plain and (number == digits or not word) and word.replace(" ", "a").isalpha() | (not word)
        else ""
    )


def _thousandths(text: str) -> bool:
    """Whether it is an amount of processors as Kubernetes has it: `500m`."""
    return text[-1:] == "m" and text.isascii() and text[:-1].isdecimal() and len(text) < _MOST_DIGITS


def _bounds(text: str) -> tuple[str, str] | None:
    """Both ends of what is written as a range: `2-4`, `2..4`, `2 to 4`."""
    low = text[: len(text) - len(text.lstrip(_DIGITS))]
    high = text[len(text.rstrip(_DIGITS)) :]
    between = text[len(low) : len(text) - len(high)].strip()
    return (low, high) if low and high and between in _TO else None


def _range_advice(finding: Finding, low: str, high: str) -> str:
    where = finding.where
    if not isinstance(where, Span) and where[-2:] == ("gpu", "count"):
        if where[0] == "baseline":
            return say(
                "write count: {low} here, and in elasticity: gpu: {{min_count: {low}, max_count: {high}}}",
                low=low,
                high=high,
            )
        return say("write count: {low}, min_count: {low}, max_count: {high}", low=low, high=high)
    if not isinstance(where, Span) and where[-2:-1] == ("ports",) and low.isascii() and high.isascii():
        first, last = int(low), int(high)
        if 0 < first < last < _MOST_PORT and last - first < _MOST_LISTED:
            return say("list each port: {ports}", ports=", ".join(map(str, range(first, last + 1))))
        return say("list each port: there are no ranges")
    return say("write one number: {low} or {high}", low=low, high=high)


_MOST_PORT, _MOST_LISTED = 65536, 10


_DIGITS = "0123456789"
_TO = ("-", "\u2013", "\u2014", "~", "\uff5e", "..", "...", "to")
_ENDS = ",;"
"""What other languages end an entry with."""


_FORM_WANTS = frozenset(form.says for form in FORMS.values())


def replaced(finding: Finding, node: Scalar, value: str | bool, *, safe: bool = True) -> Finding:
    """The finding with the edit that writes `value`, a text in the quotes that the scalar has."""
    text = spelled(value, node.style, flow=True)
    return _written(finding, node, text, safe=safe)


def _written(finding: Finding, node: Scalar, text: str, *, safe: bool) -> Finding:
    """An anchored scalar is read in other places too, so it is left alone; a text of lines is no word."""
    if node.anchor or node.tag or node.style in ("literal", "folded") or node.start == node.end:
        return finding
    return finding._replace(fixes=(Fix(say("write {text}", text=text), (Edit(node.span, text),), safe),))


def _listed(finding: Finding, node: Scalar) -> Finding:
    """One word is one item; where there are several, only their writer knows what divides them."""
    items = [item.strip() for item in node.text.split(",")]
    if not all(items):
        return finding
    inside = ", ".join(spelled(item, flow=True) for item in items)
    return _written(finding, node, f"[{inside}]", safe=len(node.text.split()) == len(items) == 1)


def _bare(finding: Finding, node: Scalar) -> Finding:
    """The number that stands in quotes, without them."""
    plain = Scalar(node.span, node.text, "plain", None, None)
    return _written(finding, node, node.text, safe=True) if resolve(plain)[0] in ("int", "float") else finding


def meant_quantity(kind: str, text: str) -> str:
    """The quantity that a text means which is none: with a sign at its end, a clock's time, in Chinese."""
    if not text.isascii():
        from dsec_cli.contract.chinese import quantity  # few documents have such words

        return quantity(kind, text)
    if kind == "duration" and ":" in text:
        return _clock(text)
    if kind == "duration" and text[:1] in "pP":
        return _iso_duration(text)
    return _without_end(kind, text) or _rewritten(kind, text)


def _rewritten(kind: str, text: str) -> str:
    """The quantity whose comma, last unit, `/s` or cut class is put right; "" where none comes of it."""
    whole, comma, part = text.partition(",")
    if comma:
        thousands = len(part) - len(part.lstrip(_DIGITS)) == _THOUSAND
        meant = f"{whole}{'' if thousands else '.'}{part}"
    elif kind == "duration":
        meant = "".join(text.split()) + "m"
    elif kind in quantities.OF_BYTES and text.endswith("/s"):
        meant = text[:-2]
    elif kind == quantities.GPU_MEMORY and "-" in text[1:]:
        meant = f"{text.partition('-')[0].strip().upper()}{quantities.CLASS}"
    else:
        return ""
    if kind == "duration" and (comma or "h" not in meant):
        return ""
    try:
        quantities.read(kind, meant)
    except UnitProblem:
        return ""
    return meant


_THOUSAND = 3
"""Digits behind a comma that divides thousands."""


def _clock(text: str) -> str:
    """Hours, minutes and seconds, as batch systems have them; "" where minutes might be hours."""
    days, dash, time = text.rpartition("-")
    parts = time.split(":")
    if len(parts) != 3 or not all(part.isdecimal() and len(part) < 4 for part in parts):
        return ""
    if dash and not (days.isdecimal() and len(days) < 4):
        return ""
    amounts = zip((days or "0", *parts), "dhms", strict=True)
    return "".join(f"{int(number)}{unit}" for number, unit in amounts if int(number))


def _iso_duration(text: str) -> str:
    """`PT1H30M` as `1h30m`; "" for what has months, weeks or years."""
    days, _, time = text.upper().removeprefix("P").partition("T")
    spelt = (days + time).lower()
    if any(unit in days for unit in "YMW"):
        return ""
    try:
        quantities.read("duration", spelt)
    except UnitProblem:
        return ""
    return spelt


def _without_end(kind: str, text: str) -> str:
    """The quantity that a text is without the sign at its end; "" when it is none."""
    meant = text.rstrip(_ENDS)
    if meant == text:
        return ""
    try:
        quantities.read(kind, meant)
    except UnitProblem:
        return ""
    return meant


def bits_advice(text: str) -> str:
    """For an amount in bits, what it is in bytes, and the binary unit that is more often meant; else ""."""
    number, unit = text.strip()[:-4].rstrip(), text.strip()[-4:]
    spelt = unit[:1] in "kKMGT" and unit[1:].lower() == "bit"
    if not spelt or not number.isdecimal() or len(number) > _MOST_DIGITS:
        return ""
    prefix, amount = unit[0].upper(), int(number)
    meant = f"{amount // 8}{prefix}B" if amount % 8 == 0 else f"{amount * 125}{_SMALLER[prefix]}B"
    return say(
        "{unit} counts bits: for memory write {amount}{prefix}i (binary) or, if bits are meant, {meant}",
        unit=unit,
        amount=amount,
        prefix=prefix,
        meant=meant,
    )


_MOST_DIGITS = 9
_SMALLER = {"K": "", "M": "k", "G": "M", "T": "G"}
"""An eighth of a unit is 125 of the next smaller one."""

_COLONS = ":\uff1a"
_UNSEEN = {0x200B: None, 0xFEFF: None}


def before_colon(key: str) -> str:
    """What was meant as the key: all before the colon that is not read as one, without odd characters."""
    at = min((found for colon in _COLONS if (found := key.find(colon)) >= 0), default=len(key))
    return key[:at].strip().translate(_UNSEEN)


def unread_colon(key: str) -> str:
    """Why a key holds what was meant as its value; "" for one without a colon in it."""
    name = before_colon(key)
    if not any(colon in key for colon in _COLONS) or not name.replace("-", "_").isidentifier():
        return ""
    if key[len(name) :].lstrip()[0] == _COLONS[0]:
        return say("no space after the colon of `{key}`", key=name)
    return say("the colon after `{key}` is full-width: YAML takes it for a letter", key=name)
