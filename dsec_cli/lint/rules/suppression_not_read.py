"""A suppression that is not read: it stands inside a text, or says something that DSec does not know.

Why: In YAML a `#` inside a block of text, or right behind a value, is part of that text and no
comment. What stands there suppresses nothing, while its author believes that it does; so does a
comment with a misspelt order.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: load
        timeout: 60s
        run: |
          python load.py  # dsec: ignore[DS505] the loader never hangs

Good (yaml):
    # ds_config.yaml
    steps:
      - id: load  # dsec: ignore[DS505] the loader never hangs
        run: |
          python load.py

Source: linters' users (ignore comments in scripts and behind multi-line values that fail in silence).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import TEXT, Facts, Rule
from dsec_cli.lint.suppress import MARK, VERB, VERB_FILE, directive
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Node, Tree

ORDERS = (VERB, VERB_FILE)
OF_OTHERS = frozenset(
    (
        "noqa",
        "nosec",
        "nolint",
        "disable",
        "disable-line",
        "ignore",
        "suppress",
        "skip",
        "off",
        "allow",
        "dsec-ignore",
    )
)
"""What other linters call it."""
MOST_BEFORE = 4
"""Words before the code: a longer text is prose about it."""
CODE_LENGTH = 5
_QUOTED = ("single", "double")


def check(facts: Facts) -> Iterator[Finding]:
    """Every `# dsec:` that is no comment, and every one whose order nobody knows."""
    for comment in facts.tree.comments:
        yield from _misspelt(comment.text, comment.span)
    comments = {comment.span.start for comment in facts.tree.comments}
    places = [at for at in _places(facts.text.text) if at not in comments]
    if not places:
        return
    scalars = sorted(_scalars(facts.tree), key=lambda scalar: scalar.start)
    for at in places:
        around = next((one for one in scalars if one.start <= at < one.end), None)
        # Whoever writes quotes means the text itself, such as a script that prints a contract.
        if around is not None and around.style not in _QUOTED:
            yield _buried(Span(at, _line_end(facts.text.text, at)), around)


def _misspelt(comment: str, span: Span) -> Iterator[Finding]:
    body = directive(comment)
    if not body:
        yield from _of_another(comment, span)
        return
    order = body[len(MARK) :].strip().partition("[")[0].split(" ")[0]
    if order in ORDERS:
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=span,
        message=say("{order!r} is nothing that a dsec: comment can ask for", "order", order=order),
        reason=say("it suppresses nothing, although its author believes that it does"),
        help=say("did you mean {word!r}?", word=VERB)
        if order.lower().rstrip("=:") in OF_OTHERS
        else did_you_mean(order, ORDERS) or say("write `# dsec: ignore[CODE] reason`"),
    )


def _of_another(comment: str, span: Span) -> Iterator[Finding]:
    """A comment in the manner of another linter that names a code of ours."""
    words = comment.replace("[", " ").replace("=", " ").replace(":", " ").replace(",", " ").split()
    code = next((word.strip("]") for word in words if _is_code(word.strip("]"))), "")
    low = {word.strip("#").lower() for word in words}
    if (
        not code
        or low.isdisjoint(OF_OTHERS)
        or words.index(next(w for w in words if code in w)) > MOST_BEFORE
    ):
        return
    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=span,
        message=say("this comment names {code}, but not in the way that is read", "of-another", code=code),
        reason=say("it suppresses nothing, although its author believes that it does"),
        help=say("write `# dsec: ignore[{code}] reason`", code=code),
    )


def _is_code(word: str) -> bool:
    return len(word) == CODE_LENGTH and word[:2] == "DS" and word[2:].isdigit()


def _places(text: str) -> Iterator[int]:
    """Where `# dsec: ignore` begins, whatever it is part of."""
    at = text.find(MARK)
    while at >= 0:
        line = text.rfind("\n", 0, at) + 1
        before = text[line:at].rstrip(" \t")
        if before.endswith("#") and text[at + len(MARK) :].lstrip(" \t").startswith(VERB):
            yield line + len(before.rstrip("#"))
        at = text.find(MARK, at + len(MARK))


def _scalars(tree: Tree) -> Iterator[Scalar]:
    waiting: list[Node] = [document.root for document in tree.documents if document.root is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            for entry in node.entries:
                waiting += entry
        elif isinstance(node, Sequence):
            waiting += node.items
        elif isinstance(node, Scalar):
            yield node


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _buried(span: Span, around: Scalar) -> Finding:
    block = around.style != "plain"
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=span,
        message=say("this suppression is part of a block of text, and no comment", "block")
        if block
        else say("this suppression is part of the value before it, and no comment", "glued"),
        reason=say("it suppresses nothing, although its author believes that it does"),
        help=say("write it on the line of the key, or on a line of its own above")
        if block
        else say("put a space before the #"),
    )


RULE = Rule("DS905", "suppression-not-read", Severity.WARNING, check, TEXT, when=("spelt-suppression",))
