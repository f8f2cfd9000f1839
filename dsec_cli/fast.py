"""The programs: a lint of what has not changed is answered at once, all else goes to its command.

Nothing is imported before the cache was asked: an unchanged file is to cost what a bare interpreter
costs.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.cached import Ticket


def dsec() -> int:
    """Entry of `dsec`."""
    return _enter("dsec")


def contract_lint() -> int:
    """Entry of `ds-contract-lint`, the same as `dsec lint`."""
    return _enter("ds-contract-lint", lints=True)


def dag_analyze() -> int:
    """Entry of `ds-dag-analyze`, the same as `dsec dag`."""
    return _enter("ds-dag-analyze")


def dsctl() -> int:
    """Entry of `dsctl`, which holds the user settings."""
    return _enter("dsctl")


def leave(code: int) -> int:
    """End the process now: a lint leaves nothing to put in order, and standard output is flushed.

    Taking the interpreter apart object by object costs a fifth of a whole lint, and 20 us of each Step
    that is run.
    """
    if sys.stderr is not None:
        sys.stderr.flush()
    os._exit(code)


def _enter(program: str, *, lints: bool = False) -> int:
    argv = sys.argv[1:]
    if not lints and argv[:1] != ["lint"]:
        from dsec_cli.exit import guarded

        if program == "ds-dag-analyze" or argv[:1] in (["code"], ["dag"], ["run"], ["resume"]):
            return leave(_without_collections(program, argv, None))
        return guarded(lambda: run(program, argv))
    from dsec_cli.commands import cached

    ticket = cached.draw(argv)
    code = cached.answer(ticket) if ticket is not None else None
    return leave(_without_collections(program, argv, ticket) if code is None else code)


def _without_collections(program: str, argv: list[str], ticket: Ticket | None) -> int:
    import gc

    from dsec_cli.exit import guarded

    # They keep nearly all that they make until they end; looking for garbage is a fifth of a lint's time.
    gc.disable()
    return guarded(lambda: run(program, argv, ticket))


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
        from dsec_cli.cli import parse as parse_with_typer

        parsed = parse_with_typer(program, argv)
    name, args = parsed
    module = f"dsec_cli.commands.{name}"
    __import__(module)
    if ticket is not None and name == "lint":
        vars(args)["ticket"] = ticket
    code: int = sys.modules[module].main(args)
    return code
