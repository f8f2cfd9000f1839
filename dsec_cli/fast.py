"""The programs: a lint of what has not changed is answered at once, all else goes to its command.

Nothing is imported before the cache was asked: an unchanged file is to cost what a bare interpreter
costs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.commands.cached import Ticket
    from dsec_cli.options import Args


_QUICK = frozenset(("code", "dag", "plan", "run", "resume", "snapshot"))
"""Commands of which looking for garbage, and taking the interpreter apart, is a good part."""
_NOT_FOUND_OUT = 3
_INTERRUPTED = 130
"""As `exit` has it, which is not imported yet where this is needed."""


def dsec() -> int:
    """Entry of `dsec`."""
    return _enter("dsec")


def contract_lint() -> int:
    """Entry of `ds-contract-lint`, the same as `dsec lint`."""
    return _enter("ds-contract-lint", lints=True)


def dag_analyze() -> int:
    """Entry of `ds-dag-analyze`, the same as `dsec dag`."""
    return _enter("ds-dag-analyze")


def plugin_scan() -> int:
    """Entry of `ds-plugin-scan`, the same as `dsec plugin scan`."""
    return _enter("ds-plugin-scan")


def dsctl() -> int:
    """Entry of `dsctl`, which holds the user settings."""
    return _enter("dsctl")


def netcheck() -> int:
    """Entry of `ds-netcheck`: `ds-netcheck run` is `dsec netcheck run`."""
    return _enter("ds-netcheck")


def leave(code: int) -> int:
    """End the process now: a lint leaves nothing to put in order, and standard output is flushed.

    Taking the interpreter apart object by object costs a fifth of a whole lint, and 20 us of each Step
    that is run.
    """
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)


def _enter(program: str, *, lints: bool = False) -> int:
    try:
        return _entered(program, lints=lints)
    except KeyboardInterrupt:  # while modules were imported, or the cache was asked
        return leave(_INTERRUPTED)
    except (MemoryError, OSError) as problem:  # so little is left that not even our modules can be imported
        os.write(2, f"dsec: error: {str(problem) or 'out of memory'}\n".encode("utf-8", "replace"))
        return leave(_NOT_FOUND_OUT)


def _entered(program: str, *, lints: bool) -> int:
    argv = sys.argv[1:]
    if f"_{program.replace('-', '_').upper()}_COMPLETE" in os.environ:
        return _completed(program)
    if not lints and argv[:1] != ["lint"]:
        from dsec_cli.exit import guarded

        if program == "ds-dag-analyze" or (argv and argv[0] in _QUICK):
            return leave(_without_collections(program, argv, None))
        return guarded(lambda: run(program, argv), _translation(argv))
    from dsec_cli.commands import cached

    ticket = cached.draw(argv if lints else argv[1:])
    code = cached.answer(ticket) if ticket is not None else None
    return leave(_without_collections(program, argv, ticket) if code is None else code)


def _completed(program: str) -> int:
    """Answer a shell that asks what may be written; Typer has the scripts that ask."""
    from dsec_cli.completing import answer
    from dsec_cli.exit import guarded

    def answered() -> int:
        found = answer(program, os.environ)
        if found is None:
            from dsec_cli.cli import parse

            parse(program, [])
            return 0
        sys.stdout.write(found[0])
        return found[1]

    return guarded(answered)


def _without_collections(program: str, argv: list[str], ticket: Ticket | None) -> int:
    import gc

    from dsec_cli.exit import guarded

    # They keep nearly all that they make until they end; looking for garbage is a fifth of a lint's time.
    gc.disable()
    return guarded(lambda: run(program, argv, ticket), _translation(argv))


def _explained(program: str, argv: list[str]) -> tuple[str, Args]:
    """What the fast parser left: a mistake is told; help and completion leave by SystemExit."""
    from dsec_cli.mistakes import mistake

    wrong = mistake(program, argv)
    if wrong is not None:
        raise wrong
    from dsec_cli.cli import parse

    return parse(program, argv)


def _translation(argv: list[str]) -> Callable[[str], str]:
    """How an error is said to whoever wrote this command line; the choice is made when there is one."""

    def translate(text: str) -> str:
        from dsec_cli.commands.speaking import of_words

        return of_words(argv)(text)

    return translate


def run(program: str, argv: list[str], ticket: Ticket | None = None) -> int:
    """Parse `argv` as `program` does, run the command, and give its exit code.

    A lint that has drawn a `ticket` leaves its answer with the cache.
    """
    if argv == ["--version"]:
        from dsec import __version__

        sys.stdout.write(f"{program} {__version__}\n")
        return 0
    from dsec_cli.grammar import parse

    parsed = parse(program, argv)
    if parsed is None:
        parsed = _explained(program, argv)
    name, args = parsed
    module = f"dsec_cli.commands.{name.replace('-', '_').replace(' ', '_')}"
    __import__(module)
    if ticket is not None and name == "lint":
        vars(args)["ticket"] = ticket
    code: int = sys.modules[module].main(args)
    return code
