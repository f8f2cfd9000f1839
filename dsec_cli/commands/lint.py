"""`dsec lint` and `ds-contract-lint`: files in, findings out."""

from __future__ import annotations

import os
import sys

from dsec.errors import FileProblem
from dsec_cli import exit as codes
from dsec_cli.commands.checking import Checker
from dsec_cli.commands.configuring import Configuration
from dsec_cli.commands.language import speech
from dsec_cli.commands.outputs import spare, wanted, write
from dsec_cli.commands.sources import STDIN, expand, read_source
from dsec_cli.diagnostics import SEVERITIES, Severity
from dsec_cli.report.format import Report
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.errors import DSecError
    from dsec_cli.commands.checking import Checked
    from dsec_cli.commands.configuring import Configured
    from dsec_cli.commands.language import Speech
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.lint.rule import Rule
    from dsec_cli.options import Args
    from dsec_cli.report.format import RuleInfo
    from dsec_cli.source.text import SourceText

_COUNTS = {
    "error": (Severity.ERROR,),
    "warning": (Severity.ERROR, Severity.WARNING),
    "info": SEVERITIES,
    "never": (),
}
"""What makes the exit code 1, by --fail-on."""


def main(args: Args) -> int:
    """Lint every file, show the findings, and say by the exit code whether they matter."""
    configuration = Configuration(isolated=args.isolated)
    here = configuration.here()
    if args.show_config:
        from dsec_cli.commands.configuration_shown import show

        return show(args, configuration)
    _refuse_contradictions(args)
    outputs = wanted(args, here)
    speaking = speech(args.lang, here.text("lang"))
    texts, problems, left_out = _read_all(args, configuration)
    spare(outputs, (text.name for text in texts))
    checker = Checker(args, configuration)
    put, mending = write, args.fix or args.diff or args.unsafe_fixes
    if mending:
        from dsec_cli.commands import fixing  # few runs mend anything
        from dsec_cli.commands.speaking import teller

        tell = teller(speaking.of("text"))

        def judged(text: SourceText) -> tuple[Diagnostic, ...]:
            return _compared(args, [text], checker.check([text]), here).diagnostics

        if args.diff:
            code = fixing.show(args, texts, judged, read=checker.read, tell=tell)
            return _say(problems, speaking) or code
        texts = fixing.mend(args, texts, judged, read=checker.read, problems=problems, tell=tell)
        put = fixing.written_aside if STDIN in args.paths else write
    checked = checker.check(texts)
    if args.write_baseline is not None:
        _write_baseline(args, texts, checked, speaking.of("text"))
        return _say(problems, speaking) or codes.YES
    checked = _compared(args, texts, checked, here)
    report = _report(texts, checked, left_out)
    shown: str | None = ""
    if texts or not problems:
        shown = put(report, outputs, args, speech=speaking, problems=problems)
    if args.profile_rules:
        _tell_profile(checker, checked)
    code = _say(problems, speaking) or _verdict(args, here, checked.diagnostics)
    aside = any(one.file for one in outputs)
    if shown is not None and not (problems or mending or aside or args.profile_rules):
        _remember(args, report, shown, code, left_out=left_out)
    return code


def _refuse_contradictions(args: Args) -> None:
    """Raise UsageError where one option would leave another without effect."""
    report = args.output or args.format is not None
    if args.diff and report:
        raise codes.UsageError(
            "--diff writes no report, so no --output goes with it", hint="-o FILE takes the diff"
        )
    if args.write_baseline is None:
        return
    if args.since is not None:
        raise codes.UsageError(
            "--write-baseline needs all findings, and --since leaves some out", hint="give one of the two"
        )
    if args.diff or report or args.output_file is not None:
        raise codes.UsageError(
            "--write-baseline writes neither a report nor a diff", hint="ask for one of them in a second call"
        )


def _remember(args: Args, report: Report, shown: str, code: int, *, left_out: list[str]) -> None:
    """Leave the answer with the cache, where it was asked and the same answer will be right again."""
    ticket = vars(args).get("ticket")
    timely = any(one.code in ("DS998", "DS999") for one in report.diagnostics)
    if ticket is not None and not timely:
        from dsec_cli.commands.caching import keep_lint

        keep_lint(ticket, shown, code, paths=args.paths, read=(*report.files, *left_out))


def _read_all(
    args: Args, configuration: Configuration
) -> tuple[list[SourceText], list[DSecError], list[str]]:
    """Every text that can be read, why others cannot (one bad name hides no finding), what is excluded."""
    paths, missing = expand(args.paths)
    problems: list[DSecError] = list(missing)
    texts: list[SourceText] = []
    left_out: list[str] = []
    for path in paths:
        if _excluded(args.stdin_name if path == STDIN else path, args, configuration):
            left_out.append(path)
            continue
        try:
            texts.append(read_source(path, stdin_name=args.stdin_name))
        except FileProblem as problem:
            problems.append(problem)
    return texts, problems, left_out


def _excluded(file: str, args: Args, configuration: Configuration) -> bool:
    """Whether the command line's patterns, else the configured ones, leave `file` out."""
    configured = configuration.of(file)
    patterns, folder = (
        (args.exclude, "") if args.exclude else (configured.texts("exclude"), configured.folder)
    )
    if not patterns:
        return False
    from dsec_cli.commands.matching import meant

    return meant(file, patterns, folder=folder) != ""


def _write_baseline(args: Args, texts: list[SourceText], checked: Checked, language: str) -> None:
    from dsec_cli.commands import baselining
    from dsec_cli.commands.speaking import teller
    from dsec_cli.report.output import to_stdout

    names = {text.name: text for text in texts}
    line = baselining.write(args.write_baseline, checked.diagnostics, texts=names, codes=checked.codes())
    to_stdout(teller(language)(line) + "\n")


def _compared(args: Args, texts: list[SourceText], checked: Checked, here: Configured) -> Checked:
    """What was found, with what the baseline knows marked, and with a note about what it knows in vain."""
    path = args.baseline
    if path is None and here.text("baseline") is not None:
        path = here.path(here.text("baseline") or "")
        if os.path.exists(path) and not os.path.isfile(path):  # reading a pipe would wait without end
            raise FileProblem(
                say("{path} is no file", path=path), hint="name another baseline, or use --isolated"
            )
    if path is None:
        return checked
    from dsec_cli.commands import baselining

    compared = baselining.compare(
        path,
        baselining.read(path),
        checked.diagnostics,
        texts={text.name: text for text in texts},
        codes=checked.codes(),
    )
    # With --since what is older was not looked for.
    gone = compared.gone if args.since is None else ()
    notes = checked.notes + baselining.notes(path, gone, compared.moved)
    return checked._replace(diagnostics=compared.diagnostics, notes=notes)


def _report(texts: list[SourceText], checked: Checked, left_out: list[str]) -> Report:
    notes = checked.notes
    if left_out:
        notes = (say("excluded: {files}", files=", ".join(left_out)), *notes)
    return Report(
        files=tuple(text.name for text in texts),
        texts={**checked.code, **{text.name: text for text in texts}},
        diagnostics=checked.diagnostics,
        rules=lambda: _pages(checked.rules),
        notes=notes,
    )


def _pages(rules: tuple[Rule, ...]) -> tuple[RuleInfo, ...]:
    from dsec_cli.lint import page
    from dsec_cli.lint.register import imported
    from dsec_cli.report.format import RuleInfo

    pages = [(rule, page.read(rule)) for rule in map(imported, rules)]
    return tuple(
        RuleInfo(rule.code, rule.name, rule.severity, read.summary, page.markdown(rule), read.why)
        for rule, read in pages
    )


def _tell_profile(checker: Checker, checked: Checked) -> None:
    from dsec_cli.commands.budget import profile

    sys.stdout.flush()
    sys.stderr.write(profile(checker.budget.taken, {rule.code: rule.name for rule in checked.rules}))


def _say(problems: list[DSecError], speaking: Speech) -> int:
    """Tell what could not be read; 0 when there is nothing to tell."""
    if not problems:
        return codes.YES
    from dsec_cli.commands.speaking import teller

    tell = teller(speaking.of("text"))
    for problem in problems:
        codes.say(problem, tell)
    return codes.UNKNOWN


def _verdict(args: Args, here: Configured, diagnostics: tuple[Diagnostic, ...]) -> int:
    counted = _COUNTS[args.fail_on or here.text("fail-on") or "warning"]
    bad = any(one.severity in counted for one in diagnostics if one.silenced is None)
    return codes.NO if bad and not args.exit_zero else codes.YES
