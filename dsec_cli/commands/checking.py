"""Runs the rules that are wanted over texts, each under the configuration nearest to it."""

from __future__ import annotations

import os
import time

from dsec.record import Record
from dsec_cli.commands.budget import Budget
from dsec_cli.commands.choosing import chosen
from dsec_cli.commands.configuring import NOTHING
from dsec_cli.commands.sources import steps_beside
from dsec_cli.commands.tabled import tabled
from dsec_cli.lint.linter import Linter
from dsec_cli.lint.register import known_rules
from dsec_cli.lint.rule import Surroundings
from dsec_cli.source.yaml import Once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dsec.inventory import Inventory
    from dsec_cli.commands.configuring import Configuration, Configured
    from dsec_cli.commands.silencing import Use
    from dsec_cli.contract.memory import Memory
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.lint.rule import Beside, Rule
    from dsec_cli.options import Args
    from dsec_cli.source.text import SourceText


class Checked(Record):
    """What the linter found in all texts."""

    diagnostics: tuple[Diagnostic, ...]
    """By file and place; those that do not count are marked."""
    rules: tuple[Rule, ...]
    """Those that ran on any text, by code."""
    notes: tuple[str, ...] = ()
    """What there is to say besides."""
    code: Mapping[str, SourceText] = {}
    """The agent's Python files by name; findings point into them."""

    def codes(self) -> frozenset[str]:
        """Codes of the rules that ran."""
        return frozenset(rule.code for rule in self.rules)


class Checker:
    """The linter as one command line wants it; `budget` knows afterwards what each rule took."""

    def __init__(self, args: Args, configuration: Configuration, *, memory: Memory | None = None) -> None:
        self._memory = memory
        self.budget = Budget(measure=args.profile_rules)
        self._args = args
        self._configuration = configuration
        self._every = known_rules()
        chosen(args, NOTHING, self._every)  # a code that no rule has is refused whatever there is to check
        self._around = Surroundings(inventory=_inventory(args.inventory), today=_today())
        self._linters: dict[str, Linter] = {}
        self._used: dict[str, Configured] = {}
        self._silent: dict[str, Use] = {}
        self._tables: dict[str, object] = {}
        self._code: dict[str, SourceText] = {}
        self._mended: dict[str, tuple[SourceText, Surroundings, tuple[Diagnostic, ...]]] = {}
        """Of each file that is being mended, what was found in it last: its report asks once more."""
        self.read = Once()

    def check(self, texts: list[SourceText]) -> Checked:
        """Every text, in order."""
        if self._around.inventory is not None and len(texts) > 1:
            from dsec_cli.lint.together import growths

            self._around = self._around._replace(growths=growths(texts))
        if self._args.since is None:
            return self._checked(texts, self._all_of)
        from dsec_cli.commands.since import Since

        since = Since(self._args.since, self._all_of)
        checked = self._checked(texts, since)
        return checked._replace(notes=checked.notes + since.notes())

    def _checked(
        self, texts: list[SourceText], lint: Callable[[SourceText], Iterable[Diagnostic]]
    ) -> Checked:
        self.budget.arm()
        try:
            found = [one for text in texts for one in lint(text)]
        finally:
            self.budget.disarm()
        ran = {rule.code for linter in self._linters.values() for rule in linter.wanted}
        rules = tuple(rule for rule in self._every if rule.code in ran)
        notes = tuple(self._ended(frozenset(ran)))
        return Checked(tuple(sorted(found, key=_by_place)), rules, notes, dict(self._code))

    def _all_of(self, text: SourceText) -> tuple[Diagnostic, ...]:
        """All that is found in one text; what a comment or the configuration silences is marked."""
        configured = self._configuration.of(text.name)
        around = self._around._replace(
            packages=self._packages(os.path.dirname(text.name)),
            needs=self._needs(text),
            beside=self._beside(text),
        )
        found = self._found(text, around, configured)
        if "per-file-ignores" not in configured.values:
            return found
        from dsec_cli.commands.silencing import Use, silenced

        use = self._silent.setdefault(configured.file, Use())
        return silenced(found, text.name, configured, use, today=self._around.today)

    def _found(
        self, text: SourceText, around: Surroundings, configured: Configured
    ) -> tuple[Diagnostic, ...]:
        if not self._args.fix:
            return self._linter(configured).all(text, around)
        last, beside, found = self._mended.get(text.name, (None, None, ()))
        if last is not text or beside != around:
            found = self._linter(configured).all(text, around)
            self._mended[text.name] = text, around, found
        return found

    def _needs(self, text: SourceText) -> object:
        """What the code of `--code` needs, as the contract in `text` gives it its variables."""
        if self._args.code is None:
            return None
        from dsec_cli.commands.agentcode import read_needs
        from dsec_cli.contract.build import build_all

        built = build_all(self.read(text), text.name)
        needs, code = read_needs(self._args.code, built[0].contract if built else None)
        self._code.update(code)
        return needs

    def _beside(self, text: SourceText) -> Beside | None:
        """The `ds_config.yaml` of a contract's folder, which plan and run read with it."""
        path = steps_beside(text.name) if os.path.isfile(text.name) else None
        if path is None:
            return None
        from dsec_cli.commands.opened import beside_of  # few contracts have one

        return beside_of(path)

    def _packages(self, folder: str) -> object:
        """The user's own tables of packages that count in a folder, read once."""
        if folder not in self._tables:
            self._tables[folder] = tabled(folder)
        return self._tables[folder]

    def _linter(self, configured: Configured) -> Linter:
        """The one with the rules that a configuration and the command line want."""
        if configured.file not in self._linters:
            rules = chosen(self._args, configured, self._every)
            self._linters[configured.file] = Linter(
                self._every, rules, watch=self.budget.watch, memory=self._memory, read=self.read
            )
            self._used[configured.file] = configured
        return self._linters[configured.file]

    def _ended(self, ran: frozenset[str]) -> Iterator[str]:
        """What to say about exceptions whose last day is over, and about those that silence nothing."""
        for configured in self._used.values():
            if "per-file-ignores" in configured.values:
                from dsec_cli.commands.silencing import expired, idle

                yield from expired(configured, today=self._around.today)
                if self._args.since is None:  # then it is not known what all findings are
                    paths = self._args.paths
                    whole = not paths or any(map(os.path.isdir, paths))
                    missing = frozenset(rule.code for rule in self._every) - ran
                    yield from idle(configured, self._silent[configured.file], missing=missing, whole=whole)


def _by_place(one: Diagnostic) -> tuple[str, int, int, str, str]:
    return (one.place.file, one.place.span.start, one.place.span.end, one.code, one.message)


def _today() -> str:
    """The day by which suppressions end, in UTC: the same on every machine of a team."""
    return time.strftime("%Y-%m-%d", time.gmtime())


def _inventory(path: str | None) -> Inventory | None:
    if path is None:
        return None
    from dsec_cli.commands.inventory import read_inventory

    return read_inventory(path)
