"""From a contract's file to its plan, or to everything that forbids one: shared by `plan` and `run`."""

from __future__ import annotations

import os
import sys

from dsec import __version__
from dsec.containment import open_beneath
from dsec.core.measures import circles
from dsec.durations import NAME as DURATIONS
from dsec.durations import contract_key, read_durations
from dsec.errors import RunProblem
from dsec.inventory import is_simulated
from dsec.record import Record
from dsec_cli.commands.opened import Opened, diagnose, locator, open_contract
from dsec_cli.commands.statefolder import home
from dsec_cli.dag.cycles import Cycles, order_steps
from dsec_cli.dag.findings import cut_findings, cycle_findings
from dsec_cli.dag.graph import step_graph
from dsec_cli.dag.shell import BASH, SH
from dsec_cli.diagnostics import Finding, Severity, arrange
from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import NOTHING, Beside, Facts, Surroundings
from dsec_cli.lint.rules.input_nobody_writes import check as unwritten_inputs
from dsec_cli.lint.rules.script_for_bash import findings as for_bash_only
from dsec_cli.lint.rules.unknown_step import check as unknown_steps
from dsec_cli.report.format import Report
from dsec_cli.report.formats.text import render
from dsec_cli.report.output import to_stderr
from dsec_cli.report.stage import Stage
from dsec_cli.report.terminal import columns, wants_color
from dsec_cli.source.tree import Tree
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec.core.experience import Experience
    from dsec.inventory import Inventory
    from dsec.plan import Plan
    from dsec_cli.contract.values import Contract
    from dsec_cli.dag.compile import Origin
    from dsec_cli.dag.cycles import Order
    from dsec_cli.dag.graph import StepGraph
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.report.format import Tell
    from dsec_cli.source.text import SourceText


class Refused(Record):
    """Why there is no plan: statements about the user's documents."""

    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, SourceText]


def inventory_at(spec: str | None) -> Inventory:
    """This machine, without what other runs hold of it for a while, or the one that `--inventory` names."""
    from dsec_cli.commands.inventory import read_inventory

    inventory = read_inventory(spec)
    if spec is not None or not inventory.devices:
        return inventory
    from dsec.broker.asked import without_others

    return without_others(inventory)


class Clean(Record):
    """A contract without errors, and the order of its Steps."""

    opened: Opened
    contract: Contract
    order: Order
    lessons: str | None
    """The folder of what earlier runs taught; None: it cannot be read."""
    lang: str | None
    """The language that the user asked for."""


def prepare(
    path: str,
    inventory: Inventory,
    *,
    asked: Mapping[str, int] | None = None,
    durations: Mapping[str, int] | None = None,
    lang: str | None = None,
) -> Plan | Refused:
    """Read, lint, merge, order and compile the contract at `path`; see `planned`."""
    clean = examined(path, lang=lang)
    if isinstance(clean, Refused):
        return clean
    return planned(clean, inventory, asked=asked or {}, durations=durations)


def examined(path: str, *, lang: str | None = None) -> Clean | Refused:
    """The contract at `path`, read, linted, merged and ordered.

    Warnings do not stand in the way of a plan; errors do, and all of them are told at once.
    """
    opened = contract_at(path, lang=lang)
    count = len(opened.contract.steps)
    with Stage(say("checking {count} Steps", count=f"{count:,}"), _teller(lang), steps=count):
        graph = step_graph(opened.contract)
        order = order_steps(graph, circles=circles)
        errors = errors_of(opened, graph, order)
    if errors:
        return _refused(opened, errors)
    if isinstance(order, Cycles):
        raise AssertionError("every cycle is an error, and errors are refused")
    if not graph.steps:
        return _refused(opened, diagnose(opened, (_no_steps(),)))
    from dsec.devicebook import NAME as DEVICES  # drawing a graph does not pay for it

    return Clean(opened, opened.contract, order, lessons_of(opened, DURATIONS, DEVICES, lang=lang), lang)


_STEP_BYTES = 100
"""A Step of a large contract takes at least so much of its file."""


def contract_at(path: str, *, lang: str | None = None) -> Opened:
    """The contract at `path`; that it is being read is shown where this takes long."""
    with Stage(say("reading {path}", path=path), _teller(lang), steps=_steps_within(path)):
        return open_contract(path)


def _steps_within(path: str) -> int:
    """About how many Steps a file may state, by its size."""
    try:
        return os.stat(path).st_size // _STEP_BYTES
    except OSError:
        return 0  # whoever opens it says why


def planned(
    clean: Clean, inventory: Inventory, *, asked: Mapping[str, int], durations: Mapping[str, int] | None
) -> Plan | Refused:
    """The plan of a contract on an inventory; Steps that fit no device of it are split.

    `asked`: parts of Steps, by id, as `--split` has them. `durations`: milliseconds by Step id that
    count instead of what earlier runs took.
    """
    from dsec_cli.dag.compile import Infeasible, compile_plan

    opened, order, contract = clean.opened, clean.order, clean.contract
    known: Mapping[str, int] = learned(opened, clean.lessons, inventory) if durations is None else durations
    if asked or any(step.layers for step in order.graph.steps):
        from dsec_cli.dag.splitting import split_order

        cut = split_order(order, contract, inventory, asked=asked, learned=known)
        if cut.findings:
            return _refused(opened, diagnose(opened, cut.findings))
        order, contract, known = cut.order, cut.contract, cut.learned
    count = len(contract.steps)
    with Stage(say("planning {count} Steps", count=f"{count:,}"), _teller(clean.lang), steps=count):
        plan = compile_plan(
            order,
            contract,
            inventory=inventory,
            origin=_origin(opened),
            learned=known,
            known=_experience(clean, inventory),
        )
    if isinstance(plan, Infeasible):
        return _refused(opened, diagnose(opened, plan.findings))
    return plan


_JOINT = ("DS501", "DS503", "DS504", "DS514")
"""Questions about Steps that only the merged contract can answer."""


def errors_of(
    opened: Opened, graph: StepGraph, order: Order | Cycles, *, select: tuple[str, ...] = ()
) -> tuple[Diagnostic, ...]:
    """What lint refuses in any of the contract's files, and in all of them taken together.

    `select` narrows the former to codes that begin so.
    """
    beside = [Beside(os.path.basename(part.text.name), part.contract.stated) for part in opened.parts[1:]]
    surroundings = [Surroundings(beside=beside[0] if beside else None), *[NOTHING for _ in beside]]
    alone = [
        one
        for part, around in zip(opened.parts, surroundings, strict=True)
        for one in lint(part.text, around=around, select=select, ignore=_JOINT, reading=part.reading)
    ]
    facts = _facts(opened)
    joint = (
        *unknown_steps(facts),
        *cycle_findings(order),
        *cut_findings(graph),
        *unwritten_inputs(facts),
        *(() if _shell() == BASH else for_bash_only(facts, SH, Severity.ERROR)),
    )
    errors = [one for one in alone if one.severity is Severity.ERROR]
    return (*errors, *diagnose(opened, joint))


def _facts(opened: Opened) -> Facts:
    """The merged contract, for a rule that asks for Steps and their files only.

    Places of the parts are mixed here: such a rule asks whether there are gaps, never where.
    """
    own = opened.parts[0]
    gaps = tuple(gap for part in opened.parts for gap in part.document.gaps)
    return Facts(
        text=own.text,
        tree=Tree((own.document,), (), ()),
        document=own.document._replace(gaps=gaps),
        contract=opened.contract,
        structural=tuple(found for part in opened.parts for found in part.structural),
        around=NOTHING,
        file_name=own.text.name,
        codes=frozenset(),
        suppressions=(),
        drawn=[],
    )


def lessons_of(opened: Opened, *names: str, lang: str | None = None) -> str | None:
    """The folder of what earlier runs taught; None where one of `names` is not ours to read, as is said.

    A plan is as good as its estimates, and there is one without what was learned, too.
    """
    try:
        state = home(opened.folder, os.environ)
    except RunProblem as problem:
        _tell_untaught(say("{what} (hint: {hint})", what=problem.what, hint=problem.hint), lang)
        return None
    for name in names:
        try:
            os.close(open_beneath(state, name))
        except FileNotFoundError:
            continue
        except OSError as problem:
            _tell_untaught(say("{path}: {why}", path=os.path.join(state, name), why=system(problem)), lang)
            return None
    return state


def _tell_untaught(why: str, lang: str | None) -> None:
    line = say("note: planned without what earlier runs taught, which cannot be read: {why}", why=why)
    to_stderr(f"dsec: {_teller(lang)(line)}\n")


def _teller(lang: str | None) -> Tell:
    """How texts are said to the user, found out when the first one is."""

    def tell(text: str) -> str:
        from dsec_cli.commands.speaking import listener

        return listener(lang)(text)

    return tell


def _experience(clean: Clean, inventory: Inventory) -> Experience:
    from dsec.core.experience import NOTHING as UNTAUGHT
    from dsec.devicebook import read_devices

    if clean.lessons is None:
        return UNTAUGHT
    return read_devices(clean.lessons, _key(clean.opened, inventory))


def learned(opened: Opened, lessons: str | None, inventory: Inventory | None) -> dict[str, int]:
    """Milliseconds per Step id, as earlier runs of the contract took for the same work.

    `lessons`: see `lessons_of`. `inventory`: what is planned for; None: what the contract describes.
    """
    if lessons is None:
        return {}
    known = read_durations(lessons, _key(opened, inventory))
    if not known:
        return {}
    from dsec_cli.commands.history import matching  # the first run of a contract has none

    return matching(opened.contract, known, inventory)


def _key(opened: Opened, inventory: Inventory | None) -> str:
    """By what name that which earlier runs taught is kept."""
    simulated = inventory is not None and is_simulated(inventory.devices)
    return contract_key(opened.path, opened.contract.name or "", simulated=simulated)


def show(refused: Refused, lang: str | None = None) -> None:
    """Put the reasons on standard error, as lint would."""
    report = Report(
        files=tuple(refused.texts),
        texts=refused.texts,
        diagnostics=arrange(refused.diagnostics),
        rules=lambda: (),
        color=wants_color("auto", sys.stderr),
        width=columns(sys.stderr),
    )
    from dsec_cli.commands.speaking import locally  # only what is refused is told

    sys.stdout.flush()
    to_stderr(render(locally(report, lang=lang)))


def _refused(opened: Opened, diagnostics: tuple[Diagnostic, ...]) -> Refused:
    return Refused(diagnostics, {part.text.name: part.text for part in opened.parts})


def _origin(opened: Opened) -> Origin:
    from dsec_cli.dag.compile import Origin

    return Origin(
        file=os.path.basename(opened.path),
        content=tuple(part.text.data for part in opened.parts),
        tool=f"dsec {__version__}",
        locate=locator(opened, os.path.basename),
        notes=opened.notes,
        shell=_shell(),
    )


def _shell() -> str:
    """What reads scripts where the contract does not say it."""
    # As `shutil.which`, whose module costs drawing a graph a third of its start.
    folders = filter(None, os.environ.get("PATH", os.defpath).split(os.pathsep))
    return BASH if any(os.access(os.path.join(folder, BASH), os.X_OK) for folder in folders) else SH


def _no_steps() -> Finding:
    return Finding(
        code="DS109",
        severity=Severity.ERROR,
        where=(),
        message=say("no Steps are stated, neither here nor in ds_config.yaml"),
        reason=say("a plan says what is executed"),
        help=say("add steps: with at least an id, a run and a timeout"),
    )
