"""Exit codes, and the one place where errors become words.

0 yes, 1 no, 2 asked wrongly, 3 could not find out, 70 our fault, 130 and 143 interrupted and
terminated, 141 the reader of our output went away (as a shell reports it).
"""

from __future__ import annotations

import os
import sys

from dsec.errors import DSecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Tell = Callable[[str], str]
    """How a text of ours is said to this user: in English, or in another language."""

YES = 0
NO = 1
USAGE = 2
UNKNOWN = 3
OURS = 70
INTERRUPTED = 130
NO_READER = 141
TERMINATED = 143


class Terminated(BaseException):
    """SIGTERM arrived in a command that has something to put in order first."""


class UsageError(DSecError):
    """The command line parsed but asks for something that does not exist (a key, a code)."""


def guarded(run: Callable[[], int], translate: Tell = str) -> int:
    """Run a command; whatever happens becomes an exit code and at most a line or two on stderr."""
    if sys.stdout is None:
        # The next file that is opened would get its number, and our output.
        return _say(UNKNOWN, "standard output is closed", "redirect it to a file, or to /dev/null", translate)
    try:
        code = run()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else OURS if leaving.code else YES
    except DSecError as problem:
        code = say(problem, translate)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except Terminated:
        code = TERMINATED
    except BrokenPipeError:
        code = NO_READER
    except Exception as problem:  # noqa: BLE001  # the one place where any failure becomes words
        code = _failed(problem, translate)
    return _flushed(code, translate)


def _failed(problem: Exception, translate: Tell) -> int:
    """Whatever else failed: the machine that had too little, the system, or we."""
    try:
        from dsec_cli.shortage import shortage

        short = shortage(problem)
        if short is not None:
            return _say(UNKNOWN, *short, translate)
        if isinstance(problem, OSError):
            return _os_error(problem, translate)
        return _crashed(translate)
    except (MemoryError, ImportError, RuntimeError, OSError):
        # So little is left that no words can be loaded for it.
        tell("dsec: error: out of memory, processes or open files (hint: raise ulimit -v, -u, -n)")
        return UNKNOWN


def say(problem: DSecError, translate: Tell = str) -> int:
    """Put an error into one line on stderr; the exit code that belongs to it."""
    return _say(USAGE if isinstance(problem, UsageError) else UNKNOWN, problem.what, problem.hint, translate)


def _say(code: int, what: str, hint: str, translate: Tell) -> int:
    from dsec.words import said  # only who fails pays for words
    from dsec.words import say as filled

    # A text without arguments may be raised as it stands; it is a template all the same.
    what, hint = said(what), said(hint)
    line = (
        filled("dsec: error: {what} (hint: {hint})", what=what, hint=hint)
        if hint
        else filled("dsec: error: {what}", what=what)
    )
    try:
        shown = translate(line)
    except Exception:  # noqa: BLE001  # what has failed may be the translation; the error is told all the same
        shown = line
    tell(" ".join(shown.split("\n")))
    return code


def tell(line: str) -> None:
    """Write a line to stderr; a closed or full stderr leaves only the exit code to speak."""
    try:
        sys.stderr.write(_printable(line) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return


def _printable(text: str) -> str:
    """`text` without what a terminal would obey and what stderr cannot encode."""
    return "".join(
        ch if ch.isprintable() else ch.encode("unicode_escape", "surrogatepass").decode() for ch in text
    )


def _os_error(problem: OSError, translate: Tell) -> int:
    """An operating-system error that no command foresaw: named, never a trace."""
    from errno import EACCES, EDQUOT, EFBIG, ENOENT, ENOSPC, EPERM

    from dsec.wholefile import remedy
    from dsec.words import say as filled
    from dsec.words import system

    if not problem.filename and problem.errno == ENOSPC:  # every file that is written is named
        what = filled(
            "{path} could not be written: {why}", path=filled("standard output"), why=system(problem)
        )
        return _say(UNKNOWN, what, "free some space, or write to another place", translate)
    if not problem.filename and problem.errno == ENOENT:  # it was the system that named one, and could not
        return _say(UNKNOWN, "the current folder is gone", "change to one that is there", translate)
    if not problem.filename:
        return _say(UNKNOWN, system(problem), "", translate)
    hint = remedy(problem) if problem.errno in (EDQUOT, EFBIG, ENOSPC) else ""
    if problem.errno in (EACCES, EPERM):
        path = str(problem.filename)
        hint = (
            filled("this state is another user's; DSEC_HOME names another folder for your own")
            if "/.dsec/" in path
            else filled("ls -ld {path} shows who may", path=path)
        )
    return _say(UNKNOWN, filled("{path}: {why}", path=problem.filename, why=system(problem)), hint, translate)


def _crashed(translate: Tell) -> int:
    from dsec.words import say as filled
    from dsec_cli.report.crash import write_crash

    try:
        path = write_crash(sys.argv)
    except OSError:
        path = ""
    what = (
        filled("DSec failed, this is a bug in DSec; details are in {path}", path=path)
        if path
        else filled("DSec failed, this is a bug in DSec; the details could not be written")
    )
    return _say(OURS, what, "please report it together with that file", translate)


def _flushed(code: int, translate: Tell) -> int:
    """Flush standard output, so that the interpreter has nothing left to fail on."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code if code in (INTERRUPTED, TERMINATED) else NO_READER
        _drop_stdout()
    except (OSError, ValueError) as problem:
        from dsec.words import say as filled

        why = filled(getattr(problem, "strerror", None) or str(problem))
        code = _say(UNKNOWN, filled("standard output: {why}", why=why), "", translate)
        _drop_stdout()
    return code


def _drop_stdout() -> None:
    """Point standard output nowhere: what is still buffered has no reader."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
