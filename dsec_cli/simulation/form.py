"""Reads a form of known keys out of a located tree; whatever is wrong becomes a finding with its span."""

from __future__ import annotations

from dsec.units import Bytes, Duration, UnitProblem, parse
from dsec_cli.contract.quantities import GPU_MEMORY
from dsec_cli.contract.quantities import read as read_quantity
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.source.resolve import follow, key_problems, pairs, resolve
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Mapping, Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from dsec.plan import Demand
    from dsec_cli.contract.values import GpuMemory
    from dsec_cli.source.tree import Node

MOST = 1_000_000
NAMES = {
    "DS003": "duplicate-key",
    "DS101": "unknown-key",
    "DS104": "wrong-type",
    "DS105": "unknown-choice",
    "DS106": "bad-quantity",
    "DS109": "missing-key",
    "DS202": "minimum-above-maximum",
    "DS210": "demand-no-device-meets",
    "DS501": "unknown-step",
    "DS502": "duplicate-step-id",
    "DS503": "dependency-cycle",
}


def span_of(node: Node) -> Span:
    """Where a node stands."""
    return Span(node.start, node.end) if isinstance(node, Scalar) else node.span


class Form:
    """Collects what is wrong; a value that is wrong reads as its default."""

    def __init__(self) -> None:
        self.wrong: list[Finding] = []
        self.demands: list[tuple[Span, Demand]] = []
        """What is asked for, each with its place."""

    def refuse(self, code: str, span: Span, message: str, advice: str = "") -> None:
        """Note a fault."""
        self.wrong.append(Finding(code, Severity.ERROR, span, message, help=advice))

    def table(self, node: Node | None, known: Collection[str], what: str) -> Table:
        """A mapping that has no other keys."""
        solid = follow(node)
        if not isinstance(solid, Mapping):
            if solid is not None and node is not None:
                self._not_a(node, say("a mapping"))
            return Table(self, {}, span_of(node) if node is not None else Span(0, 0), what)
        for problem in key_problems(solid):
            self.refuse(problem.code, problem.span, problem.message, problem.help)
        rows: dict[str, Node] = {}
        for pair in pairs(solid):
            if pair.key in known:
                rows[pair.key] = pair.value
            else:
                message = say("unknown key {key!r} in {what}", key=pair.key, what=what)
                self.refuse("DS101", span_of(pair.key_node), message, did_you_mean(pair.key, known))
        return Table(self, rows, span_of(solid), what)

    def items(self, node: Node | None) -> list[Node]:
        """The items of a sequence."""
        solid = follow(node)
        if isinstance(solid, Sequence):
            return list(solid.items)
        if node is not None:
            self._not_a(node, say("a list"))
        return []

    def text(self, node: Node | None, default: str = "") -> str:
        """A scalar as it is written."""
        solid = follow(node)
        if isinstance(solid, Scalar) and solid.text.strip():
            return solid.text.strip()
        if node is not None:
            self._not_a(node, say("a text"))
        return default

    def whole(self, node: Node | None, default: int, *, least: int = 0, most: int = MOST) -> int:
        """A whole number within bounds."""
        solid = follow(node)
        value = resolve(solid)[1] if isinstance(solid, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        if node is not None:
            want = say("a whole number from {least} to {most}", least=least, most=most)
            self._not_a(node, want)
        return default

    def decimal(self, node: Node | None, scale: int) -> int | None:
        """A number above 0 times `scale`, read digit by digit; None: it is none."""
        solid = follow(node)
        text = solid.text.strip() if isinstance(solid, Scalar) else ""
        whole, _, part = text.partition(".")
        digits = whole + part
        if digits.isascii() and digits.isdigit() and len(digits) <= 15:
            amount = int(digits) * scale // int(10 ** len(part))
            if amount > 0:
                return amount
        if node is not None:
            self._not_a(node, say("a number above 0, such as 1.5"))
        return None

    def flag(self, node: Node | None, *, default: bool) -> bool:
        """`true` or `false`."""
        solid = follow(node)
        value = resolve(solid)[1] if isinstance(solid, Scalar) else None
        if isinstance(value, bool):
            return value
        if node is not None:
            self._not_a(node, say("true or false"))
        return default

    def choice(self, node: Node | None, known: Collection[str], default: str) -> str:
        """One of the known words."""
        word = self.text(node, default)
        if word in known:
            return word
        if node is not None:
            self.refuse(
                "DS105",
                span_of(node),
                say("{word!r} is not known here", word=word),
                did_you_mean(word, known),
            )
        return default

    def ms(self, node: Node | None, default: int) -> int:
        """A span of time, in milliseconds."""
        if node is None:
            return default
        text = self.text(node)
        try:
            return parse(Duration, text).ms if text else default
        except UnitProblem as problem:
            self._no_quantity(node, problem)
            return default

    def size(self, node: Node | None) -> int:
        """An amount of memory, in bytes."""
        if node is None:
            return 0
        try:
            return int(parse(Bytes, self.text(node) or "0B"))
        except UnitProblem as problem:
            self._no_quantity(node, problem)
            return 0

    def gpu_memory(self, node: Node | None) -> GpuMemory | None:
        """Memory on a GPU, as contracts state it."""
        if node is None:
            return None
        try:
            found = read_quantity(GPU_MEMORY, self.text(node) or "0B")
        except UnitProblem as problem:
            self._no_quantity(node, problem)
            return None
        return found  # type: ignore[return-value]  # what that kind reads as

    def _not_a(self, node: Node, want: str) -> None:
        self.refuse("DS104", span_of(node), say("this must be {want}", want=want))

    def _no_quantity(self, node: Node, problem: UnitProblem) -> None:
        message = say("this is no such quantity: {reason}", reason=problem.reason)
        advice = say("write {text}", text=problem.nearest) if problem.nearest else ""
        self.refuse("DS106", span_of(node), message, advice)


class Table:
    """A mapping that was read, by key."""

    def __init__(self, form: Form, rows: dict[str, Node], span: Span, what: str) -> None:
        self.form = form
        self.rows = rows
        self.span = span
        self.what = what

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def get(self, key: str) -> Node | None:
        """What is written for the key."""
        return self.rows.get(key)

    def need(self, key: str) -> Node | None:
        """The same, for a key that must be there."""
        if key not in self.rows:
            self.form.refuse("DS109", self.span, say("{what} lacks the key {key!r}", what=self.what, key=key))
        return self.rows.get(key)
