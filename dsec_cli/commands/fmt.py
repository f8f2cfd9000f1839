"""`dsec fmt`: contracts in their usual form, with everything they say and every comment kept."""

from __future__ import annotations

import shlex

from dsec.errors import DSecError, FileProblem
from dsec_cli import exit as codes
from dsec_cli.commands.rewriting import difference, rewrite, to_stdout
from dsec_cli.commands.sources import STDIN, expand, read_source
from dsec_cli.commands.speaking import listener
from dsec_cli.lint.tidy import tidied
from dsec_cli.report.output import emit, emit_diff, refuse_stray
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell
    from dsec_cli.source.text import SourceText


def main(args: Args) -> int:
    """Format every file; with --check or --diff only say whether that would change anything."""
    paths, missing = expand(args.paths)
    problems: list[DSecError] = list(missing)
    changed = done = 0
    tell = listener(args.lang)
    for path in paths:
        try:
            old = read_source(path, stdin_name=args.stdin_name)
            new = _tidied(old, path)
            changed += new.data != old.data
            _deliver(args, path, old, new=new, tell=tell)
            done += 1
        except DSecError as problem:
            problems.append(problem)
    for told in problems:
        codes.say(told, tell)
    if done and not (args.quiet or args.diff or STDIN in paths):
        emit(tell(_summary(changed, done, only=args.check)) + "\n")
    if problems:
        return codes.UNKNOWN
    return codes.NO if changed and (args.check or args.diff) else codes.YES


def _tidied(old: SourceText, path: str) -> SourceText:
    new = tidied(old)
    if new is None:
        raise FileProblem(
            say("{name} cannot be read as a whole, so it is left as it is", name=old.name),
            hint=say("see what is wrong with: dsec lint {name}", name=shlex.quote(path)),
        )
    return new


def _deliver(args: Args, path: str, old: SourceText, *, new: SourceText, tell: Tell) -> None:
    """Show, print or store the formatted text, as asked."""
    if args.diff:
        emit_diff(difference(old, new))
    elif args.check:
        if new.data != old.data and not args.quiet:
            emit(tell(say("{name} would change", name=old.name)) + "\n")
    elif path == STDIN:
        to_stdout(new.data)
    elif new.data != old.data:
        refuse_stray(path)
        rewrite(path, old=old.data, new=new.data)
        if not args.quiet:
            emit(tell(say("{name} formatted", name=old.name)) + "\n")


def _summary(changed: int, files: int, *, only: bool) -> str:
    if files == 1:
        if not changed:
            return say("1 file is in its usual form")
        return say("1 file would change") if only else say("1 file formatted")
    if only:
        return say("{changed} of {files} files would change", changed=changed, files=files)
    return say("{changed} of {files} files formatted", changed=changed, files=files)
