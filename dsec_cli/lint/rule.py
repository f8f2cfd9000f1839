"""What a lint rule is, what it is given, and the few questions that most rules ask."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.discovery import instances
from dsec_cli.source.resolve import MERGE, follow, pairs
from dsec_cli.source.tree import Mapping, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dsec.inventory import Inventory
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.lint.suppress import Suppression
    from dsec_cli.lint.together import Growth
    from dsec_cli.source.text import SourceText
    from dsec_cli.source.tree import Document, Node, Path, Scalar, Tree

TEXT, DOCUMENT, AFTER = "text", "document", "after"
"""A rule runs once per text, once per document, or once when all other findings are known."""


class OverBudgetError(Exception):
    """Raised by a watch inside a rule that takes too long; caught by the linter."""


class Crash(Record):
    """A rule that raised instead of answering, or took too long (`error` is then "")."""

    code: str
    name: str
    error: str


class Beside(Record):
    """A `ds_config.yaml` in the contract's folder."""

    file: str
    keys: frozenset[str]
    """Root keys that it states."""


class Surroundings(Record):
    """What a lint knows besides the text."""

    inventory: Inventory | None = None
    today: str = ""
    """ISO date by which suppressions expire; "" when none does."""
    needs: object = None
    """What the agent's code was found to need (`dsec_cli.code`); None: no code was read."""
    packages: object = None
    """Installed or published packages to hold the contract against; None: none were read."""
    growths: tuple[Growth, ...] = ()
    """How far each contract of the run may grow, where there are several."""
    beside: Beside | None = None
    """None: the contract has no such file beside it, or it was not looked for."""


NOTHING = Surroundings()


class Facts(Record):
    """All that is known about one document of a text; a rule decides from nothing else."""

    text: SourceText
    tree: Tree
    document: Document
    contract: Contract
    structural: tuple[Finding, ...]
    """What `contract.build` could not accept."""
    around: Surroundings
    file_name: str
    codes: frozenset[str]
    """Codes of all rules there are."""
    suppressions: tuple[Suppression, ...]
    drawn: list[StepGraph]
    """The Step graph, once a rule has asked for it."""
    unused: tuple[Suppression, ...] = ()
    """Suppressions that matched no finding; filled for rules that run afterwards, like `crashes`."""
    crashes: tuple[Crash, ...] = ()

    @property
    def inventory(self) -> Inventory | None:
        """The machines the contract is judged against; None when none are given."""
        return self.around.inventory

    def graph(self) -> StepGraph:
        """The contract's Step graph: drawn once, as several rules look at it."""
        if not self.drawn:
            from dsec_cli.dag.graph import step_graph  # a contract without Steps does not pay for it

            self.drawn.append(step_graph(self.contract))
        return self.drawn[0]

    def node(self, path: Path) -> Scalar | Sequence | Mapping | None:
        """What stands at `path`, through aliases and merge keys; None where nothing does."""
        here = follow(self.document.root)
        for part in path:
            here = follow(_child(here, part))
        return here

    def states(self, path: Path) -> bool:
        """Whether `path` is stated at all: rightly, wrongly, or so that it cannot be read."""
        return _child(self.node(path[:-1]), path[-1]) is not None

    def lacks(self, path: Path) -> bool:
        """Whether the key at the end of `path` is missing: not stated, not misspelt, not unreadable."""
        return not (self.states(path) or self._unread(path[:-1]) or self._misspelt(path))

    def _unread(self, path: Path) -> bool:
        """Whether a part of the section at `path` could not be read; what is missing may stand there."""
        section = self.node(path)
        if section is None or _merges_unknown(section):
            return True
        start, end = section.span
        text = self.text.text
        for gap in self.document.gaps:
            between = text[gap.end : start] if gap.end < start else text[end : gap.start]
            if _only_space(between):
                return True
        return False

    def _misspelt(self, path: Path) -> bool:
        """Whether the section has a key that most likely means the last one of `path`."""
        section = self.node(path[:-1])
        if not isinstance(section, Mapping):
            return False
        # Only a contract that lacks something pays for the import.
        from dsec_cli.contract.suggest import nearest

        return any(nearest(pair.key, (str(path[-1]),)) is not None for pair in pairs(section))


def _child(node: Node | None, part: str | int) -> Node | None:
    if isinstance(node, Mapping):
        if node.plain:  # looking through the entries costs less than pairing them all
            return next((value for key, value in node.entries if key.text == part), None)  # type: ignore[union-attr]
        return next((pair.value for pair in pairs(node) if pair.key == part), None)
    if isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
        return node.items[part]
    return None


def _merges_unknown(node: Node) -> bool:
    """Whether a mapping takes keys from an alias whose target is not known."""
    return isinstance(node, Mapping) and any(
        pair.key == MERGE and follow(pair.value) is None for pair in pairs(node)
    )


def _only_space(text: str) -> bool:
    """Whether nothing but blank lines and comments stands in `text`."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines())


class Rule(Record):
    """One question about a contract; its module's docstring is its documentation page."""

    code: str
    name: str
    severity: Severity
    check: Callable[[Facts], Iterable[Finding]]
    scope: str = DOCUMENT
    when: tuple[str, ...] = ()
    """Words of `lint.occasions` that must all hold for the rule to be asked; none: it always is."""


def find_rules() -> tuple[Rule, ...]:
    """Every rule there is, by code, all imported; a file in `lint/rules/` with a `Rule` value is one."""
    return tuple(sorted(instances("dsec_cli.lint.rules", Rule), key=lambda rule: rule.code))


def structural(facts: Facts, code: str) -> Iterator[Finding]:
    """The findings of `code` that building the contract has already made."""
    return (finding for finding in facts.structural if finding.code == code)


def problems(facts: Facts, code: str, severity: Severity) -> Iterator[Finding]:
    """What the reader of the text could not accept, as findings of `code`."""
    for problem in facts.tree.problems:
        if problem.code == code:
            yield Finding(
                code=code,
                severity=severity,
                where=problem.span,
                message=problem.message,
                help=problem.help,
                related=tuple(Related(span, label) for span, label in problem.related),
            )
