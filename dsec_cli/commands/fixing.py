"""`--fix` and `--diff` of `dsec lint`: mends the files, or shows how it would."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from dsec.errors import DSecError
from dsec_cli import exit as codes
from dsec_cli.commands.outputs import write
from dsec_cli.commands.rewriting import difference, rewrite, to_stdout
from dsec_cli.commands.sources import STDIN
from dsec_cli.lint.fix import fixed
from dsec_cli.report.output import emit_diff, refuse_stray
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.language import Speech
    from dsec_cli.commands.outputs import Output
    from dsec_cli.lint.fix import Kept, Lint, Mended, Outcome, Read
    from dsec_cli.options import Args
    from dsec_cli.report.format import Report, Tell
    from dsec_cli.source.text import SourceText


def show(args: Args, texts: list[SourceText], lint: Lint, *, read: Read, tell: Tell) -> int:
    """`--diff`: print what `--fix` would change; NO when that is anything."""
    outcomes = [fixed(text, lint, unsafe=args.unsafe_fixes, read=read) for text in texts]
    diff = "".join(difference(text, outcome.text) for text, outcome in zip(texts, outcomes, strict=True))
    if diff:
        emit_diff(diff, args.output_file)
    for outcome in outcomes:
        _tell_kept(outcome, tell)
    return codes.NO if diff else codes.YES


def mend(
    args: Args,
    texts: list[SourceText],
    lint: Lint,
    *,
    read: Read,
    problems: list[DSecError],
    tell: Tell,
) -> list[SourceText]:
    """`--fix`: the texts as they are now; files that could not be written join the `problems`.

    Standard input is printed, mended or not.
    """
    if not args.fix:
        raise codes.UsageError("--unsafe-fixes alone mends nothing", hint="add --fix, or --diff to see it")
    mended: list[SourceText] = []
    for text in texts:
        outcome = fixed(text, lint, unsafe=args.unsafe_fixes, read=read)
        try:
            _store(text, outcome.text, printed=STDIN in args.paths and text.name == args.stdin_name)
        except DSecError as problem:
            problems.append(problem)
            mended.append(text)
            continue
        for one in () if args.quiet else outcome.mended:
            codes.tell(tell(_said_mended(text.name, one)))
        _tell_kept(outcome, tell)
        mended.append(outcome.text)
    return mended


def _store(old: SourceText, new: SourceText, *, printed: bool) -> None:
    if printed:
        to_stdout(new.data)
    elif new.data != old.data:
        refuse_stray(old.name)
        rewrite(old.name, old=old.data, new=new.data)


def written_aside(
    report: Report, outputs: tuple[Output, ...], args: Args, *, speech: Speech, problems: list[DSecError]
) -> str | None:
    """The report on standard error, as standard output holds the text that was mended."""
    with redirect_stdout(sys.stderr):
        return write(report, outputs, args, speech=speech, problems=problems)


def _said_mended(name: str, one: Mended) -> str:
    line = say("{place}: fixed[{code}] {title}", place=_place(name, one), code=one.code, title=one.title)
    if not one.comments:
        return line
    return say("{line}; removed with it: {comments}", line=line, comments=" ".join(one.comments))


def _tell_kept(outcome: Outcome, tell: Tell) -> None:
    for one in outcome.kept:
        line = tell(
            say(
                "{place}: not fixed[{code}] {title}: {why}",
                place=_place(outcome.text.name, one),
                code=one.code,
                title=one.title,
                why=one.why,
            )
        )
        codes.tell(line)


def _place(name: str, one: Mended | Kept) -> str:
    return f"{name}:{one.at.line}:{one.at.column}"
