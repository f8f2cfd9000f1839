"""The structural findings in words: each names the thing, what it is, what it must be, and what to do."""

from __future__ import annotations

from dsec.record import Record
from dsec.units import UnitProblem
from dsec_cli.contract import quantities
from dsec_cli.contract.forms import FORMS
from dsec_cli.contract.kinds import DIMENSIONS
from dsec_cli.contract.table import SECTIONS
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Node, Path, Scalar, Sequence
from dsec_cli.words import joined, say

DIMENSION_EXAMPLES = {
    "baseline": "baseline: {gpu: {count: 1, memory: 24Gi, type: a100-pcie-40gb}, cpu: 8, memory: 64Gi}",
    "elasticity": "elasticity: {gpu: {min_count: 1, max_count: 2}}",
    "fault_tolerance": "fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s}",
    "dependencies": "dependencies: []",
}
KIND_NAMES = {
    "deploy": say("a deployment"),
    "plugin": say("a plugin manifest"),
    "environment": say("an environment"),
}
NOUNS = {
    "size": say("size"),
    "bandwidth": say("bandwidth"),
    "byte rate": say("byte rate"),
    "FLOP rate": say("FLOP rate"),
    "duration": say("duration"),
    "temperature": say("temperature"),
    "request rate": say("request rate"),
    "GPU memory": say("GPU memory"),
    "step id": say("step id"),
    "token name": say("token name"),
    "variable name": say("variable name"),
    "host name": say("host name"),
    "package name": say("package name"),
    "call": say("call"),
    "reduction": say("reduction"),
    "content hash": say("content hash"),
}
"""What kinds of quantities and forms are called."""


def dotted(path: Path) -> str:
    """A path as people write it: `steps[2].needs[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or say("the document")


def shown(text: str) -> str:
    """Text in quotes, shortened."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def what_is(node: Node, value: object) -> str:
    """What was found, in words."""
    if isinstance(node, Mapping):
        return say("a mapping")
    if isinstance(node, Sequence):
        return say("a list")
    if isinstance(value, bool):
        return "true" if value else "false"
    text = shown(node.text if isinstance(node, Scalar) else str(value))
    return (
        say("the number {text}", text=text[1:-1])
        if isinstance(value, int | float)
        else say("the text {text}", text=text)
    )


def _error(code: str, at: Path, message: str, advice: str = "", *, part: str = "value") -> Finding:
    return Finding(code, Severity.ERROR, at, message, help=advice, part=part)


_MAPPING = say("a mapping")


def wrong_type(node: Node, value: object, at: Path, want: str) -> Finding:
    """DS104: another type than the key takes."""
    if isinstance(node, Scalar) and value is None:
        return _error(
            "DS104",
            at,
            say("{at} is empty: it must be {want}", "empty-must-2", at=dotted(at), want=want),
            say("give it entries, or write [] for none")
            if at == ("dependencies",)  # which every contract has, though it may need none
            else say("give it a value, or remove the key"),
        )
    finding = _error(
        "DS104",
        at,
        say("{at} must be {want}, not {node}", "must", at=dotted(at), want=want, node=what_is(node, value)),
    )
    if isinstance(node, Scalar):
        from dsec_cli.contract.amending import mended

        return mended(finding, node, value, want)
    if isinstance(node, Sequence) and want.startswith(str(_MAPPING)):
        from dsec_cli.contract.amending import as_mapping

        return as_mapping(finding, node)
    if isinstance(node, Mapping) and want.startswith("a list"):
        from dsec_cli.contract.amending import as_list

        return as_list(finding, node)
    if isinstance(node, Sequence) and node.items and isinstance(node.items[0], Scalar):
        first = node.items[0].text
        if len(node.items) == 1:
            return finding._replace(help=say("write {text} without the brackets", text=first))
        return finding._replace(help=say("write one value, for example {text}", text=first))
    return finding


def out_of_range(node: Node, value: object, at: Path, want: str) -> Finding:
    """DS104: a number of the right type that is too small or too large."""
    return _error(
        "DS104",
        at,
        say("{at} must be {want}, not {node}", "must-2", at=dotted(at), want=want, node=what_is(node, value)),
    )


def bad_form(text: str, at: Path, form: str, *, part: str = "value") -> Finding:
    """DS104: text without the grammar that the key asks for."""
    grammar = FORMS[form]
    return _error(
        "DS104",
        at,
        say(
            "{text} is no {form}: it must be {says}",
            "must-3",
            text=shown(text),
            form=NOUNS[form],
            says=grammar.says,
        ),
        _form_advice(text, form, at) or say("for example {example}", example=grammar.example),
        part=part,
    )


def _form_advice(text: str, form: str, at: Path) -> str:
    """What is inside a text that says too much; "" where nothing is."""
    if form == "step id" and not text.isascii() and at[-1:] == ("id",):
        return say("write a short id of ASCII letters, such as S1, and {text} as the Step's name", text=text)
    if form == "variable name":
        meant = "".join(char if char.isascii() and char.isalnum() else "_" for char in text)
        return say("write {text}", text=f"_{meant}" if meant[:1].isdigit() else meant)
    if form == "call" and len(text.split()) > 1:
        return say("write a command as run, and the arguments of a function as args")
    from dsec_cli.contract import choices, suggest

    if form not in ("host name", "package name"):
        meant = choices.well_formed(text, form)
        return say("write {text}", text=meant) if meant else ""

    if form == "package name":
        name, rest = suggest.package_in(text)
        return say("write {name} here, and {rest} as its version", name=name, rest=rest) if name else ""
    host, port = suggest.host_in(text)
    if port:
        return say("write {host} here, and {port} among its ports", host=host, port=port)
    return say("write {host}", host=host) if host else ""


def empty_text(at: Path, want: str) -> Finding:
    """DS104: text of no length."""
    return _error(
        "DS104",
        at,
        say("{at} is empty: it must be {want}", "empty-must", at=dotted(at), want=want),
        say("give it a value, or remove the key"),
    )


def holds_nul(at: Path) -> Finding:
    """DS104: text with a NUL character."""
    return _error(
        "DS104",
        at,
        say(
            "{at} holds a NUL character, with which no command, path or variable can be handed over",
            "holds-nul-character",
            at=dotted(at),
        ),
        say("remove the escape (\\0, \\x00 or \\u0000), or write a file that holds it"),
    )


def not_one_value(at: Path, name: str, *, neither: bool) -> Finding:
    """DS109: a variable that nothing gives, or that two things give."""
    both = say("neither value nor source") if neither else say("both value and source")
    return _error(
        "DS109",
        at,
        say(
            "variable {name} has {both}: it must have exactly one of them",
            "exactly-one-value",
            name=shown(name),
            both=both,
        ),
        say("value: the text itself; source: where a secret is fetched, such as vault://... or env://NAME"),
        part="key",
    )


def too_few(at: Path, least: int) -> Finding:
    """DS104: a list that must not be empty."""
    return _error(
        "DS104",
        at,
        say("{at} must have at least {least} item", "must-have-least", at=dotted(at), least=least),
        say("fill it, or remove the key"),
    )


UNINTERRUPTIBLE, CRITICAL = "uninterruptible", "critical"
"""The design documents use both words for one level; the language has the second."""


_NOTHING = ("none", "null", "nil", "default", "auto", "n/a", "")
"""What people write for a choice that they do not make."""


def not_in_enum(node: Scalar, at: Path, legal: tuple[str, ...]) -> Finding:
    """DS105: a word outside a closed set."""
    words: str = legal[0]
    if len(legal) > 1:
        words = say("{first} or {rest}", first=", ".join(legal[:-1]), rest=legal[-1])
    finding = _error(
        "DS105",
        at,
        say("{at} must be {words}, not {text}", "must-4", at=dotted(at), words=words, text=shown(node.text)),
    )
    from dsec_cli.contract import choices, suggest
    from dsec_cli.contract.amending import replaced

    if node.text == UNINTERRUPTIBLE and CRITICAL in legal:
        advice = say("{word} is called {level} here: write {level}", word=node.text, level=CRITICAL)
        return replaced(finding._replace(help=advice), node, CRITICAL)
    meant = suggest.nearest(node.text, legal)
    likely = (
        meant.word if meant is not None else choices.meant(node.text, legal) or suggest.only(node.text, legal)
    )
    if not likely:
        if node.text.lower() in _NOTHING:
            return finding._replace(help=say("remove {key} to take its default", key=at[-1]))
        return finding
    finding = finding._replace(help=say("did you mean {word}?", word=likely))
    return finding if meant is None else replaced(finding, node, likely, safe=meant.sure)


def bad_quantity(at: Path, kind: str, problem: UnitProblem, *, text: str) -> Finding:
    """DS106: text that is no quantity of the kind, with the nearest legal spelling."""
    sample = quantities.example(kind)
    advice: str = (
        say("did you mean {nearest}?", nearest=problem.nearest)
        if problem.nearest
        else say("write it as in {sample}", sample=sample)
    )
    from dsec_cli.contract import amending

    if (not problem.nearest or not text.isascii()) and (meant := amending.meant_quantity(kind, text)):
        advice = say("did you mean {nearest}?", nearest=meant)
    elif (pair := text.strip().split(":"))[1:] and kind == "duration" and "".join(pair).isdecimal():
        advice = say(
            "write hours and minutes as {first}h{second}m, minutes and seconds as {first}m{second}s",
            first=int(pair[0] or 0),
            second=int(pair[1] or 0),
        )
    if kind in quantities.OF_BYTES:
        advice = amending.bits_advice(text) or advice
    return Finding(
        "DS106",
        Severity.ERROR,
        at,
        say(
            "{at} must be {kind}, not {text}: {why}",
            "no-quantity",
            at=dotted(at),
            kind=with_article(kind),
            text=shown(text),
            why=_why(problem),
        ),
        reason=say(
            "{kind} is a number with a unit, such as {sample}", kind=with_article(kind), sample=sample
        ),
        help=advice,
    )


def _why(problem: UnitProblem) -> str:
    """What is wrong with a quantity, in words that can be translated."""
    args: dict[str, str] = {name: NOUNS.get(arg, arg) for name, arg in problem.args_of_reason.items()}
    return say(problem.template, **args)


class Where(Record):
    """Where an unknown key stands: section, document kind, and the legal keys that are not stated."""

    section: str
    kind: str
    free: tuple[str, ...]


def with_article(kind: str) -> str:
    """The kind of quantity as a noun: `a size`, `an amount of GPU memory`."""
    noun = NOUNS[kind]
    if kind == quantities.GPU_MEMORY:
        return say("an amount of {kind}", kind=noun)
    return say("a {kind}", kind=noun)


def unknown_key(key: str, node: Node, at: Path, where: Where, value: Node | None = None) -> Finding:
    """DS101: a key that the section does not have; says where it belongs, or what was meant."""
    # Only a document with a wrong word pays for what words are near.
    from dsec_cli.contract import amending, foreign_keys, suggest

    section, kind, free = where
    heading = SECTIONS[section][0]
    finding = _error(
        "DS101",
        at,
        say(
            "unknown key {key} in {heading}", "unknown-key", key=shown(key), heading=_place(heading, at, kind)
        ),
        part="key",
    )
    unread = amending.unread_colon(key)
    if unread:
        advice = say("write `{key}: ...`", key=amending.before_colon(key))
        return finding._replace(reason=unread, help=advice)
    if key.startswith(suggest.KEEPING):
        advice = say("put the anchor where its value is first used: there are no keys that only keep anchors")
        return finding._replace(help=advice)
    elsewhere = suggest.of_trainers(key, section)
    if elsewhere:
        return finding._replace(help=elsewhere)
    belongs = suggest.homes(key, section, kind)
    meant = suggest.nearest(key, free)
    brought = foreign_keys.advice(key, value, section, free)
    if brought and not belongs and not (meant and meant.sure):
        return finding._replace(help=brought)
    if section == "Resources" and key in ("limits", "requests"):
        return finding._replace(
            help=say(
                "write what is below {key} directly into resources, once: there are no limits apart", key=key
            )
        )
    if (
        section == "Step"
        and belongs
        and belongs[0] == SECTIONS["Resources"][0]
        and not (meant and meant.sure)
    ):
        return finding._replace(help=say("move {key} into this Step's resources", key=key))
    if belongs and not (meant and (meant.sure or suggest.is_synonym(key, meant))):
        return finding._replace(
            help=say("{key} belongs in {join}", key=key, join=joined(" or ", belongs[:2]))
        )
    if meant is None:
        return finding._replace(help=_begun(key, free) or _legal(free))
    finding = finding._replace(help=say("did you mean {word}?", word=meant.word))
    safe = meant.sure and not belongs  # a word of the language may be meant, in another place
    return amending.replaced(finding, node, meant.word, safe=safe) if isinstance(node, Scalar) else finding


def _called(heading: str) -> str:
    """A section's heading; all but one are paths."""
    return dotted(()) if heading == dotted(()) else heading


def _place(heading: str, at: Path, kind: str) -> str:
    """Where the key stands: a section by its path, a root by what kind of document it is."""
    return dotted(at[:-1]) if len(at) > 1 else KIND_NAMES.get(kind, _called(heading))


def _begun(key: str, free: tuple[str, ...]) -> str:
    """The advice for the beginning of one legal key, and for a suppression that is no comment."""
    from dsec_cli.contract import suggest

    if key == "dsec":
        return say("a suppression is a comment: write `# dsec: ignore[CODE] REASON`")
    begun = suggest.only(key, free) if len(key) > _SHORT and len(free) > 1 else ""
    return say("did you mean {word}?", word=begun) if begun else ""


_SHORT = 3
"""Letters that begin too many words to say which one is meant."""


def _legal(free: tuple[str, ...]) -> str:
    if not free:
        return say("remove it")
    return say(
        "legal here: {join}{value}", join=", ".join(free[:10]), value=", ..." if len(free) > 10 else ""
    )


def missing_key(key: str, at: Path, *, kind: str, section: str, called: object = None) -> Finding:
    """DS102 for one of the four dimensions of a contract, DS109 for any other required key."""
    if not at and kind == "contract" and key in DIMENSIONS:
        return Finding(
            "DS102",
            Severity.ERROR,
            at,
            say("the contract lacks {key}, one of its four mandatory dimensions", "lacks", key=key),
            reason=say(
                "a contract states {join} and {dimensions}",
                join=", ".join(DIMENSIONS[:-1]),
                dimensions=DIMENSIONS[-1],
            ),
            help=say("add it, for example  {dimension_examples}", dimension_examples=DIMENSION_EXAMPLES[key]),
        )
    owner = dotted(at) if at else KIND_NAMES.get(kind, dotted(()))
    return _error(
        "DS109",
        at,
        say("{owner} lacks the required key {key}", "lacks-required-key", owner=owner, key=key),
        _added(key, section, called),
        part="key",
    )


def _added(key: str, section: str, called: object) -> str:
    """What to add for a key that is missing: one of few words, or an id from the name that stands there."""
    shape = SECTIONS[section][2].get(key, ())
    if shape == ("form", "step id") and isinstance(called, str):
        from dsec_cli.contract import choices

        name = called if FORMS["step id"].accepts(called) else choices.well_formed(called, "step id")
        return say("add {key}: {words}", key=key, words=name) if name else say("add {key}", key=key)
    if shape[:1] == ("enum",):
        return say("add {key}: {words}", key=key, words=joined(" or ", shape[1]))
    return say("add {key}", key=key)


def cut_off() -> Finding:
    """DS102: a further document of a file that has none of the four dimensions."""
    return Finding(
        "DS102",
        Severity.ERROR,
        (),
        say("this document states none of the four mandatory dimensions", "cut-off"),
        reason=say("a line `---` begins a document of its own"),
        help=say("remove the line `---`, if this belongs to the document above"),
    )


def further_document(name: str | None, number: int, first: str | None) -> Finding:
    """DS115: a second contract in one file; each command reads one contract, so it would never run."""
    return Finding(
        "DS115",
        Severity.ERROR,
        (),
        say(
            "this is document {number} of the file: only one can be planned and run", "further", number=number
        ),
        reason=say("each command reads one contract of a file, and would leave the others out in silence"),
        help=say("move {name} into a file of its own", name=name or say("this document"))
        if name != first or not name
        else say("move it into a file of its own, and give it another name"),
    )


def key_not_text(span: Span) -> Finding:
    """DS104: a key that is a list or a mapping."""
    return Finding(
        "DS104", Severity.ERROR, span, say("a key must be text", "key"), help=say("write the key as one word")
    )


def empty_document(span: Span) -> Finding:
    """DS102: nothing at all."""
    advice = say("a contract states {dimensions}", dimensions=", ".join(DIMENSIONS))
    return Finding("DS102", Severity.ERROR, span, say("the document is empty", "empty"), help=advice)
