"""A secret is written out in the contract.

Why: A contract is committed, copied, logged and put into snapshots. A secret in it is known to
everyone who ever reads one of those, and stays in the history when the line is gone. A reference
(`source: vault://...`, `source: env://NAME`) names where it is, and is never stored.

Bad (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      env_vars:
        - name: TOOL_API_KEY
          value: 9f8b2c4d7e6a1f0b3c5d

Good (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      env_vars:
        - name: TOOL_API_KEY
          source: vault://prod/agent-tools/websearch-key
          ttl: 2h

Source: seed B section 2 (tokens are injected from `vault://`, never written). Well-known token
shapes, private keys and passwords in URLs are found anywhere in the file, comments too; elsewhere
the name decides.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.secrets import is_secret, name_strength, tokens
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Node, Path, Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Chain = tuple["Chain", str | int] | tuple[()]

REASON = say("everyone who reads this file, its history, a log or a snapshot of it has the secret")
QUOTES = "'\""
COMMANDS = ("run", "script")
CLIENTS = ("curl", "/usr/bin/curl")
CREDENTIALS = ("-u", "--user", "--proxy-user")
"""Options of these programs that take USER:PASSWORD."""


class Named(Record):
    """A scalar that holds a secret by its name."""

    path: Path
    name: str
    node: Scalar
    value: str
    """The secret itself: all of the scalar, or a part of it."""


def check(facts: Facts) -> Iterator[Finding]:
    """Secrets by their name in the document's mappings and commands, then by their shape anywhere."""
    shaped = list(tokens(facts.text.text, *_extent(facts)))
    told: list[Span] = []
    for one in _named(facts.document.root) if facts.document.root is not None else ():
        span = _span(facts, one)
        kind = next((hit.kind for hit in shaped if _inside(hit.span, span)), "")
        what = say(": it looks like {kind}", kind=kind) if kind else ""
        where = one.path if span == one.node.span else span
        told.append(span)
        message = say("{name} is a secret in clear text{what}", "named", name=one.name, what=what)
        yield _finding(where, message, one.name)
    for hit in shaped:
        if not any(_inside(hit.span, span) for span in told):
            size = hit.span.end - hit.span.start
            message = say(
                "clear-text secret: {size} characters that look like {kind}",
                "shaped",
                size=size,
                kind=hit.kind,
            )
            yield _finding(hit.span, message, "")


def _extent(facts: Facts) -> tuple[int, int]:
    """The document's share of the text; comments before the first are its own."""
    documents, at = facts.tree.documents, facts.document.index
    end = documents[at + 1].span.start if at + 1 < len(documents) else len(facts.text.text)
    return facts.document.span.start if at else 0, end


def _span(facts: Facts, one: Named) -> Span:
    """Where the secret stands: the whole scalar, or the part of a command that it is."""
    if one.value == one.node.text:
        return one.node.span
    at = facts.text.text.find(one.value, one.node.span.start, one.node.span.end)
    return Span(at, at + len(one.value)) if at >= 0 else one.node.span


def _inside(span: Span, outer: Span) -> bool:
    return outer.start <= span.start < outer.end


def _finding(where: Path | Span, message: str, name: str) -> Finding:
    store = f"vault://.../{name.lower().replace('_', '-')}" if name else "vault://..."
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=where,
        message=message,
        reason=REASON,
        help=say(
            "replace it by `source: {store}` or `source: env://NAME`, and revoke it: it has been in a file",
            store=store,
        ),
    )


def _named(root: Node) -> Iterator[Named]:
    """Every scalar whose name says that it is a secret, and every command that spells one out."""
    # A place is a chain of links until somebody asks for it: nearly no scalar is a secret.
    waiting: list[tuple[Chain, Node]] = [((), root)]
    harmless: set[str] = set()
    while waiting:
        at, node = waiting.pop()
        inner: list[tuple[Chain, Node]] = []
        if isinstance(node, Mapping):
            yield from _entries(at, node, inner, harmless)
        elif isinstance(node, Sequence):
            yield from _items(at, node.items)
            inner = [((at, index), item) for index, item in enumerate(node.items) if type(item) is not Scalar]
        waiting.extend(reversed(inner))


def _path(at: Chain) -> Path:
    path: list[str | int] = []
    while at:
        at, part = at
        path.append(part)
    return tuple(reversed(path))


def _name(key: Node) -> str:
    return key.text if isinstance(key, Scalar) else ""


def _entries(
    at: Chain, node: Mapping, inner: list[tuple[Chain, Node]], harmless: set[str]
) -> Iterator[Named]:
    """The secrets of a mapping; its collections go into `inner`, names that mean none into `harmless`."""
    for key, value in node.entries:
        name = key.text if type(key) is Scalar else ""
        if type(value) is not Scalar:
            inner.append(((at, name), value))
        elif name in harmless:
            continue
        elif name in COMMANDS:
            yield from _command((*_path(at), name), value)
        elif name == "value":
            label = _label(node)
            if is_secret(label, value.text):
                yield Named((*_path(at), name), label, value, value.text)
        elif not name_strength(name):
            harmless.add(name)
        elif is_secret(name, value.text):
            yield Named((*_path(at), name), name, value, value.text)


def _label(node: Mapping) -> str:
    """The text beside a `value` that says what it is the value of."""
    names = [entry.value for entry in node.entries if _name(entry.key) == "name"]
    return next((name.text for name in reversed(names) if isinstance(name, Scalar)), "")


def _items(at: Chain, items: tuple[Node, ...]) -> Iterator[Named]:
    """`--api-key`, `VALUE` as two items, or `NAME=VALUE` as one."""
    words = [item.text if type(item) is Scalar else "" for item in items]
    joined = "\n".join(["", *words])
    if "=" not in joined and "\n-" not in joined:
        return
    for index, name, value in _settings(words):
        item = items[index]
        if isinstance(item, Scalar) and is_secret(name, value):
            yield Named((*_path(at), index), name, item, value)


def _command(path: Path, node: Scalar) -> Iterator[Named]:
    if "=" not in node.text and "-" not in node.text:
        return
    for _, name, value in _settings(node.text.split()):
        if is_secret(name, value):
            yield Named(path, name, node, value)


def _settings(words: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Index, name and value of `NAME=VALUE`, `--name=VALUE`, `--name VALUE` and `curl -u USER:VALUE`."""
    option, program = "", ""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if option in CREDENTIALS and program and ":" in word:
            yield at, "password", word.strip(QUOTES).partition(":")[2]
        elif option and not word.startswith("-"):
            yield at, option, word.strip(QUOTES)
        elif equals:
            yield at, name.lstrip("-"), value.strip(QUOTES)
        program = word if word in CLIENTS else program
        takes_value = word.startswith("--") or (word in CREDENTIALS and program)
        option = (word if word in CREDENTIALS else word.lstrip("-")) if takes_value and not equals else ""


RULE = Rule("DS601", "clear-text-secret", Severity.ERROR, check, when=("secret",))
