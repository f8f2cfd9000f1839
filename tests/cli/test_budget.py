"""A rule that takes too long is stopped; all others are heard, and the process is left as it was."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dsec_cli.commands.budget import Budget, profile
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import Facts, OverBudgetError, Rule, find_rules
from dsec_cli.source.text import SourceText

from .conftest import ROOT, Ran

TEXT = SourceText.from_bytes("dsandbox.yaml", (ROOT / "examples" / "bad" / "dsandbox.yaml").read_bytes())


def endless(_facts: Facts) -> Iterator[Finding]:
    """Take time until somebody stops it."""
    while True:
        yield from ()


def stubborn(_facts: Facts) -> Iterator[Finding]:
    """Swallow the first attempts to stop it, as a cleanup that fails would."""
    for _ in range(3):
        try:
            yield from endless(_facts)
        except OverBudgetError:
            continue
    yield from endless(_facts)


def matching(_facts: Facts) -> Iterator[Finding]:
    """Spend its time inside one call of the library."""
    re.match("(a*)*b", "a" * 60)
    yield from ()


@pytest.fixture
def budget() -> Iterator[Budget]:
    found = Budget(most_s=0.08, measure=True)
    yield found
    found.disarm()
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.parametrize("check", [endless, stubborn, matching])
def test_a_rule_that_does_not_end_is_stopped_and_hides_nothing(
    budget: Budget, check: Callable[[Facts], Iterator[Finding]]
) -> None:
    slow = Rule("DS104", "slow", Severity.ERROR, check)
    rules = (slow, *(rule for rule in find_rules() if rule.code in ("DS503", "DS998", "DS999")))
    budget.arm()
    found = lint(TEXT, rules=rules, watch=budget.watch)
    assert [one.code for one in found] == ["DS998", "DS503"]
    assert "DS104" in found[0].message
    assert 0.05 < budget.taken["DS104"] < 20


def test_many_quick_rules_are_not_one_slow_one(budget: Budget) -> None:
    def quick(_facts: Facts) -> Iterator[Finding]:
        end = time.process_time() + 0.03
        while time.process_time() < end:
            yield from ()

    rules = tuple(Rule(f"DS70{at}", f"quick-{at}", Severity.ERROR, quick) for at in range(9))
    budget.arm()
    assert lint(TEXT, rules=rules, watch=budget.watch) == ()


def test_rules_that_end_are_measured(budget: Budget) -> None:
    budget.arm()
    plain = lint(TEXT)
    assert lint(TEXT, watch=budget.watch) == plain
    assert set(budget.taken) >= {"DS101", "DS503", "DS505", "DS601"}
    assert all(0 <= taken < 1 for taken in budget.taken.values())


@pytest.mark.battery
def test_what_happens_between_rules_is_never_stopped(budget: Budget) -> None:
    budget.arm()
    end = time.process_time() + 0.4
    while time.process_time() < end:
        pass


def test_without_measuring_no_clock_is_read() -> None:
    budget = Budget()
    lint(TEXT, watch=budget.watch)
    assert budget.taken == {}


def test_other_threads_are_never_stopped() -> None:
    budget, found = Budget(most_s=0.004), []

    def run() -> None:
        budget.arm()
        found.extend(lint(TEXT, watch=budget.watch))
        budget.disarm()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=60)
    assert tuple(found) == lint(TEXT)
    assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL


def test_a_program_that_uses_the_signal_keeps_it() -> None:
    def own(_number: int, _frame: object) -> None: ...

    before = signal.signal(signal.SIGPROF, own)
    try:
        budget = Budget()
        budget.arm()
        assert signal.getsignal(signal.SIGPROF) is own
        budget.disarm()
        assert signal.getsignal(signal.SIGPROF) is own
    finally:
        signal.signal(signal.SIGPROF, before)


def test_the_table_has_the_slowest_first() -> None:
    shown = profile({"DS2": 0.001, "DS1": 0.001, "DS3": 0.5}, {"DS1": "one", "DS2": "two", "DS3": "three"})
    assert shown.splitlines() == [
        "  500.000 ms  DS3  three",
        "    1.000 ms  DS1  one",
        "    1.000 ms  DS2  two",
        "  502.000 ms  in 3 rules",
    ]


def test_profile_rules(ds: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_bytes(TEXT.data)
    ran = ds("ds-contract-lint", "--profile-rules", "--select", "DS5", "-q")
    plain = ds("ds-contract-lint", "--select", "DS5", "-q")
    assert (ran.returncode, ran.stdout) == (plain.returncode, plain.stdout)
    rows = ran.stderr.decode().splitlines()
    times = [float(row.split()[0]) for row in rows]
    assert times[:-1] == sorted(times[:-1], reverse=True)
    assert times[-1] > 0
    assert any("DS503  dependency-cycle" in row for row in rows)
