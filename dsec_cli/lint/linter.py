"""Runs rules over one text: all findings in one pass, the same whatever order the rules come in."""

from __future__ import annotations

from bisect import bisect_left

from dsec_cli.contract.build import build_all, other_kind
from dsec_cli.contract.kinds import has_key_of_contract
from dsec_cli.diagnostics import arrange, concretise
from dsec_cli.lint import occasions, suppress
from dsec_cli.lint.register import Unread, known_rules
from dsec_cli.lint.rule import (
    AFTER,
    DOCUMENT,
    NOTHING,
    TEXT,
    Crash,
    Facts,
    OverBudgetError,
    Rule,
    Surroundings,
)
from dsec_cli.lint.suspects import ODD
from dsec_cli.source.locate import Keys, step_ids
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Tree, with_document
from dsec_cli.source.yaml import parse
from dsec_cli.words import rewritten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dsec_cli.contract.build import Built
    from dsec_cli.contract.memory import Memory
    from dsec_cli.diagnostics import Diagnostic, Finding
    from dsec_cli.lint.suppress import Suppression
    from dsec_cli.source.text import SourceText

    Reading = tuple[Tree, tuple[Built, ...]]
    """A text's tree and what its documents state."""
    Watch = Callable[[Rule, Callable[[], tuple[Finding, ...]]], tuple[Finding, ...]]

UNUSED, CRASHED, SLOW, SECRET = "DS901", "DS999", "DS998", "DS601"
HIDDEN = "(secret)"
SHORTEST_SECRET = 4
"""Shorter ones would be replaced in the middle of words."""


def lint(
    text: SourceText,
    *,
    around: Surroundings = NOTHING,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    rules: tuple[Rule, ...] | None = None,
    watch: Watch | None = None,
    reading: Reading | None = None,
) -> tuple[Diagnostic, ...]:
    """Everything the rules find in `text`, by place and code, less what a comment silences.

    `select` and `ignore` are code prefixes (`DS2`) or names and narrow `rules` (default: all there
    are). A rule that is not wanted does not run, unless a suppression names it and unused
    suppressions are asked for. `watch` is called around every rule: it may measure it, and stop it
    by an OverBudgetError. `reading` is what was read of the text already.
    """
    found = lint_all(
        text, around=around, select=select, ignore=ignore, rules=rules, watch=watch, reading=reading
    )
    return tuple(one for one in found if one.silenced is None)


def lint_all(
    text: SourceText,
    *,
    around: Surroundings = NOTHING,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    rules: tuple[Rule, ...] | None = None,
    every: tuple[Rule, ...] | None = None,
    watch: Watch | None = None,
    reading: Reading | None = None,
) -> tuple[Diagnostic, ...]:
    """Like `lint`, with what comments silence, marked so; `every` are all rules there are."""
    every = known_rules() if every is None else every
    wanted = chosen(every if rules is None else rules, select=tuple(select), ignore=tuple(ignore))
    return Linter(every, wanted, watch=watch).all(text, around, reading)


def chosen(rules: tuple[Rule, ...], *, select: tuple[str, ...], ignore: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules that are selected (all, when nothing is) and not ignored."""
    if not select and not ignore:
        return rules
    return tuple(rule for rule in rules if (not select or _named(rule, select)) and not _named(rule, ignore))


def _named(rule: Rule, words: tuple[str, ...]) -> bool:
    return any(rule.name == word or rule.code.startswith(word) for word in words if word)


FOREIGN = "DS114"


_UNREAD = frozenset(("DS001", "DS002", "DS008", "DS010"))
"""Problems that may be the reason why a contract looks like something else."""


def _of_another_kind(documents: tuple[Facts, ...]) -> Facts | None:
    """The first document, if all of the text was read, it is of another kind, and none is a contract."""
    first = documents[0]
    if not _is_foreign(first) or any(one.code in _UNREAD for one in first.tree.problems):
        return None
    stated = frozenset[str]().union(*(one.contract.stated for one in documents[1:] if not _is_foreign(one)))
    return None if has_key_of_contract(stated) else first


def _is_foreign(facts: Facts) -> bool:
    return any(one.code == FOREIGN for one in facts.structural)


class Linter:
    """The rules that are wanted of all there are, for any number of texts."""

    def __init__(
        self,
        every: tuple[Rule, ...],
        wanted: tuple[Rule, ...],
        *,
        watch: Watch | None = None,
        memory: Memory | None = None,
        read: Callable[[SourceText], Tree] = parse,
    ) -> None:
        self.memory = memory
        self.read = read
        self.watch = watch
        self.wanted = wanted
        self.every = every
        self.codes = frozenset(rule.code for rule in every)
        self.shown = {rule.code for rule in wanted} | {CRASHED, SLOW}
        self.late = tuple(rule for rule in every if rule.scope == AFTER and rule.code in self.shown)
        self.inquisitive = not all(rule.when for rule in self.late)
        """Whether a rule is asked at the end even where there is nothing to look back on."""

    @property
    def named(self) -> dict[str, str]:
        """The code that each name of a rule, and each code in small letters, stands for."""
        return {word: rule.code for rule in self.every for word in (rule.name, rule.code.lower())}

    def all(
        self, text: SourceText, around: Surroundings, reading: Reading | None = None
    ) -> tuple[Diagnostic, ...]:
        """What is found in one text, with what comments silence, marked so."""
        return _Run(text, self, reading).all(around)


class _Run:
    """One text under the rules: what is known of it, and which rules have failed on it."""

    def __init__(self, text: SourceText, linter: Linter, reading: Reading | None) -> None:
        self.text = text
        self.reading = reading
        self.linter = linter
        self.script: Finding | None = None
        self.crashes: dict[str, Crash] = {}

    def all(self, around: Surroundings) -> tuple[Diagnostic, ...]:
        tree = self._tree()
        suppressions = suppress.read(self.text.text, tree)
        if suppressions:
            suppressions = suppress.named(suppressions, self.linter.named)
        holding = tuple(one for one in suppressions if not suppress.expired(one, around.today))
        documents = self._facts(tree, suppressions, around)
        rules = self._needed(suppressions)
        found = list(self._diagnose(documents, rules))
        if not (found or suppressions or self.crashes or self.linter.inquisitive):
            return ()
        marked, used = suppress.apply(found, holding)
        ran = {rule.code for rule in rules} if holding else set()
        unused = tuple(one for one in holding if one.code in ran and one not in used)
        after = documents[0]._replace(unused=unused, crashes=tuple(self.crashes.values()))
        marked = self._told_once([one for one in marked if one.code in self.linter.shown])
        marked += self._answers(self.linter.late, after, occasions.of_end(after))
        if not marked:
            return ()
        hidden = {one.place.span for one in found if one.code == SECRET}
        secrets = sorted(span for span in hidden if span.end - span.start >= SHORTEST_SECRET)
        return arrange(self._fit_to_show(one, secrets) for one in marked)

    def _tree(self) -> Tree:
        """The text as YAML; a program is none, and one word on it tells more than all that YAML lacks."""
        if self.reading is not None:
            return self.reading[0]
        nothing = Tree((), (), ())
        tree = nothing if self.text.text.startswith("#!") else self.linter.read(self.text)
        self.script = other_kind(tree, self.text.text, self.text.name)
        return tree if self.script is None else nothing

    def _told_once(self, marked: list[Diagnostic]) -> list[Diagnostic]:
        if not any(one.code == ODD for one in marked):
            return marked
        from dsec_cli.lint.oddities import told_once  # few texts have an odd character

        return told_once(marked, self.text.text)

    def _fit_to_show(self, one: Diagnostic, secrets: list[Span]) -> Diagnostic:
        """The diagnostic with its words on one line, and without a secret of the place it quotes."""
        hidden = [self.text.text[start:end] for start, end in _overlapping(secrets, one.place.span)]

        def fit(text: str) -> str:
            for secret in hidden:
                text = text.replace(secret, HIDDEN)
            return _one_line(text)

        message, advice = fit(one.message), fit(one.help)
        if message == one.message and advice == one.help:
            return one
        return one._replace(message=rewritten(one.message, fit), help=rewritten(one.help, fit))

    def _facts(
        self, tree: Tree, suppressions: tuple[Suppression, ...], around: Surroundings
    ) -> tuple[Facts, ...]:
        tree = with_document(tree, len(self.text.text))
        by_index = {document.index: document for document in tree.documents}
        return tuple(
            Facts(
                text=self.text,
                tree=tree,
                document=by_index[built.contract.document],
                contract=built.contract,
                structural=built.findings,
                around=around,
                file_name=self.text.name,
                codes=self.linter.codes,
                suppressions=suppressions,
                drawn=[],
            )
            for built in self._built(tree)
        )

    def _built(self, tree: Tree) -> tuple[Built, ...]:
        if self.reading is not None:
            return self.reading[1]
        built = build_all(tree, self.text.name, self._memory(tree))
        return built if self.script is None else (built[0]._replace(findings=(self.script,)),)

    def _memory(self, tree: Tree) -> Memory | None:
        """What is known of the text before this one; nothing where the text is not as it is written."""
        memory = self.linter.memory
        if memory is None or tree.problems:
            return None
        memory.turn_to(self.text.text)
        return memory

    def _needed(self, suppressions: tuple[Suppression, ...]) -> tuple[Rule, ...]:
        """The wanted rules, and those without which nobody can say whether a suppression is used."""
        wanted = self.linter.wanted
        if not suppressions or UNUSED not in self.linter.shown:
            return wanted
        extra = {one.code for one in suppressions} - {rule.code for rule in wanted}
        return (*wanted, *(rule for rule in self.linter.every if rule.code in extra))

    def _diagnose(self, documents: tuple[Facts, ...], rules: tuple[Rule, ...]) -> Iterator[Diagnostic]:
        words = occasions.of_text(documents[0])
        other = _of_another_kind(documents)
        if other is not None:
            # What YAML or a contract would have otherwise is no mistake of such a file.
            only = [rule for rule in rules if rule.code == FOREIGN]
            yield from self._answers(only, other, words | occasions.of_document(other))
            return
        yield from self._answers([rule for rule in rules if rule.scope == TEXT], documents[0], words)
        each = [rule for rule in rules if rule.scope == DOCUMENT]
        for facts in documents:
            asked = each
            if _is_foreign(facts):
                asked = [
                    rule for rule in each if rule.code == FOREIGN
                ]  # what it lacks of a contract is nothing
            yield from self._answers(asked, facts, words | occasions.of_document(facts))

    def _answers(self, rules: Iterable[Rule], facts: Facts, words: frozenset[str]) -> Iterator[Diagnostic]:
        """What the rules say for which there is occasion."""
        ids, keys = None, Keys()
        for rule in rules:
            if not words.issuperset(rule.when):
                continue
            for finding in self._ask(rule, facts):
                ids = step_ids(facts.document) if ids is None else ids
                yield concretise(
                    finding, rule.name, text=self.text, document=facts.document, ids=ids, keys=keys
                )

    def _ask(self, rule: Rule, facts: Facts) -> tuple[Finding, ...]:
        """The rule's findings; a rule that fails is noted instead, so that it hides no other's.

        What a rule has found before it takes too long is told.
        """
        found: list[Finding] = []
        try:
            # It is imported before anybody looks at the clock.
            check = rule.check.read() if isinstance(rule.check, Unread) else rule.check
            if self.linter.watch is not None:
                return self.linter.watch(rule, lambda: _kept(check(facts), found))
            return tuple(check(facts))
        except OverBudgetError:
            self.crashes.setdefault(rule.code, Crash(rule.code, rule.name, ""))
            return tuple(found)
        # The one broad catch besides `exit.guarded`: what a rule may raise is by definition not known,
        # and one broken rule must not take the findings of all others with it.
        except Exception as error:  # noqa: BLE001
            self.crashes.setdefault(
                rule.code, Crash(rule.code, rule.name, f"{type(error).__name__}: {error}")
            )
            return ()


def _kept(findings: Iterable[Finding], into: list[Finding]) -> tuple[Finding, ...]:
    """All findings, each of them noted as soon as it is known."""
    for finding in findings:
        into.append(finding)  # noqa: PERF402  # what stops in the midst keeps what is there
    return tuple(into)


def _overlapping(spans: list[Span], place: Span) -> list[Span]:
    """Those of sorted, disjoint `spans` that share a character with `place`."""
    if not spans:
        return []
    first = bisect_left(spans, place)
    if first and spans[first - 1].end > place.start:
        first -= 1
    return spans[first : bisect_left(spans, Span(place.end, place.end))]


def _one_line(text: str) -> str:
    return text if text.isprintable() else " ".join(text.split())
