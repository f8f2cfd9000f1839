"""A secret is written out in the contract.

Why: A contract is committed, copied, logged and put into snapshots. A secret in it is known to
everyone who ever reads one of those, and stays in the history when the line is gone. A reference
(`vault://`, `env://`, `file://`, `$NAME`) is resolved when the Step starts and never stored.

Bad (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:latest
    runtime_context:
      env_vars:
        - name: TOOL_API_KEY
          value: 9f8b2c4d7e6a1f0b3c5d

Good (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:latest
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

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.secrets import is_secret, tokens
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.lint.secrets import Hit
    from dsec_cli.source.tree import Node, Path

REASON = "everyone who reads this file, its history, a log or a snapshot of it has the secret"
QUOTES = "'\""


def check(facts: Facts) -> Iterator[Finding]:
    """Secrets by their shape anywhere in the document's text, then by their name in its mappings."""
    shaped = list(tokens(facts.text.text, *_extent(facts)))
    found = list(_named(facts.document.root)) if facts.document.root is not None else []
    covered = [node.span for _, _, node in found]
    for path, name, node in found:
        kind = next((hit.kind for hit in shaped if _inside(hit.span, node.span)), "")
        what = f": it looks like {kind}" if kind else ""
        yield _finding(path, f"{name} is a secret in clear text{what}", name)
    for hit in shaped:
        if not any(_inside(hit.span, span) for span in covered):
            yield _shaped(hit)


def _extent(facts: Facts) -> tuple[int, int]:
    """The document's share of the text; comments before it are its own."""
    documents = facts.tree.documents
    at = facts.document.index
    start = facts.document.span.start if at else 0
    after = [document.span.start for document in documents if document.index > at]
    return start, min(after, default=len(facts.text.text))


def _inside(span: Span, outer: Span) -> bool:
    return outer.start <= span.start < outer.end


def _shaped(hit: Hit) -> Finding:
    size = hit.span.end - hit.span.start
    return _finding(hit.span, f"clear-text secret: {size} characters that look like {hit.kind}", "")


def _finding(where: Path | Span, message: str, name: str) -> Finding:
    store = f"vault://.../{name.lower().replace('_', '-')}" if name else "vault://..."
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=where,
        message=message,
        reason=REASON,
        help=f"replace it by a reference such as `{store}` or `$NAME`, and revoke it: it has been in a file",
    )


def _named(root: Node) -> Iterator[tuple[Path, str, Scalar]]:
    """Path, name and value of every scalar whose name says that it is a secret."""
    waiting: list[tuple[Path, Node]] = [((), root)]
    while waiting:
        path, node = waiting.pop()
        if isinstance(node, Mapping):
            yield from _pairs(path, node)
            children = [(_join(path, entry.key), entry.value) for entry in node.entries]
            waiting.extend(reversed(children))
        elif isinstance(node, Sequence):
            yield from _words_of(path, node.items)
            waiting.extend(reversed([((*path, at), item) for at, item in enumerate(node.items)]))


def _join(path: Path, key: Node) -> Path:
    return (*path, key.text if isinstance(key, Scalar) else "")


def _pairs(path: Path, node: Mapping) -> Iterator[tuple[Path, str, Scalar]]:
    texts = {
        entry.key.text: entry.value
        for entry in node.entries
        if isinstance(entry.key, Scalar) and isinstance(entry.value, Scalar)
    }
    for key, scalar in texts.items():
        if key == "run":
            yield from _on_command_line((*path, key), scalar)
        elif is_secret(key, scalar.text):
            yield (*path, key), key, scalar
    name, value = texts.get("name"), texts.get("value")
    if name is not None and value is not None and is_secret(name.text, value.text):
        yield (*path, "value"), name.text, value


def _words_of(path: Path, items: tuple[Node, ...]) -> Iterator[tuple[Path, str, Scalar]]:
    """`--api-key`, `VALUE` as two items, or `NAME=VALUE` as one."""
    texts = [item.text if isinstance(item, Scalar) else "" for item in items]
    for at, (name, value) in _settings(texts):
        item = items[at]
        if isinstance(item, Scalar) and is_secret(name, value):
            yield (*path, at), name, item


def _on_command_line(path: Path, node: Scalar) -> Iterator[tuple[Path, str, Scalar]]:
    for _, (name, value) in _settings(node.text.split()):
        if is_secret(name, value):
            yield path, name, node
            return


def _settings(words: Iterable[str]) -> Iterator[tuple[int, tuple[str, str]]]:
    """Index, name and value of `NAME=VALUE`, `--name=VALUE` and `--name VALUE` among words."""
    option = ""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if equals:
            yield at, (name.lstrip("-"), value.strip(QUOTES))
            option = ""
        elif option and not word.startswith("-"):
            yield at, (option, word.strip(QUOTES))
            option = ""
        else:
            option = word.lstrip("-") if word.startswith("--") else ""


RULE = Rule("DS601", "clear-text-secret", Severity.ERROR, check)
