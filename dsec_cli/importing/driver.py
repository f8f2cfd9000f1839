"""Calls of `sbatch` in a shell script that submits jobs, and the variables that hold their job ids.

The script is read, never run: a loop, a function or a condition is read once, from top to bottom.
"""

from __future__ import annotations

import shlex

from dsec.record import Record
from dsec_cli.importing.sbatch import Option, parse
from dsec_cli.importing.shellwords import MOST_OF_A_LINE
from dsec_cli.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.text import SourceText

SBATCH = "sbatch"
_ENDS = frozenset((")", "|", "||", "&&", "&", ";", ";;", ">", ">>", "<", "<<", "<<<", "(", "))", ");"))
_OPENS = frozenset(("for", "while", "until", "if", "case", "{", "do", "then"))
_OPEN_ONCE = frozenset(("for", "while", "until", "if", "case"))
_CLOSES = frozenset(("done", "fi", "esac"))
_OF_AWK = ("NF", "NR")
_LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789")


class Submission(Record):
    """One call of sbatch."""

    source: SourceText
    span: Span
    options: tuple[Option, ...]
    words: tuple[str, ...]
    """The script and its arguments."""
    holder: str
    """Variable that gets the job's id, or ""."""
    conditional: bool
    """Stands in a loop, a function or a condition."""
    garbled: bool


def submissions(source: SourceText) -> tuple[tuple[Submission, ...], dict[str, str]]:
    """Every call in order, and variables that are made of another one (`id=${out##* }`)."""
    found: list[Submission] = []
    aliases: dict[str, str] = {}
    depth = 0
    for line, span in _lines(source.text):
        words = line.replace(";", " ; ").split()
        depth += sum(word in _OPEN_ONCE for word in words[:1]) + line.count("{ ") * ("()" in line)
        at = _call(line)
        if at >= 0:
            found.append(_submission(source, span, line, at=at, conditional=depth > 0))
        else:
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            used = variables(value)
            if equals and name and _LETTERS.issuperset(name) and len(used) == 1:
                aliases[name] = used[0]
        depth = max(0, depth - sum(word in _CLOSES for word in words) - (line.strip() == "}"))
    return tuple(found), aliases


def _lines(text: str) -> Iterator[tuple[str, Span]]:
    """Lines without comments; a backslash at the end joins the next one."""
    joined, start, at = "", 0, 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if not joined:
            start = at
        at += len(line)
        if bare.endswith("\\"):
            joined += bare[:-1] + " "
            continue
        whole, joined = joined + bare, ""
        if not whole.lstrip().startswith("#"):
            yield whole, Span(start + len(whole) - len(whole.lstrip()), at - len(line) + len(bare))


def _call(line: str) -> int:
    """Where `sbatch` stands as a command, or -1."""
    at = line.find(SBATCH)
    while at >= 0:
        before, after = line[:at].rstrip(), line[at + len(SBATCH) :][:1]
        starts = not before or before[-1] in "(`;|&{" or before.split()[-1] in (*_OPENS, "else", "exec")
        if (
            starts
            and line[at - 1 : at] in ("", " ", "\t", "(", "`", ";", "&", "|")
            and after in (" ", "\t", "")
        ):
            return at
        at = line.find(SBATCH, at + 1)
    return -1


def _submission(source: SourceText, span: Span, line: str, *, at: int, conditional: bool) -> Submission:
    words, garbled = _words(line[at + len(SBATCH) :].replace("`", ")"))
    options, rest = parse(words, source, span)
    name, equals, _ = line[:at].strip().rpartition(";")[2].strip().partition("=")
    holder = name.split()[-1] if equals and name.split() else ""
    holder = holder if holder and _LETTERS.issuperset(holder) else ""
    return Submission(source, span, tuple(options), tuple(rest), holder, conditional, garbled)


def _words(text: str) -> tuple[list[str], bool]:
    """Words up to the end of the command, and whether the line could not be split."""
    if len(text) > MOST_OF_A_LINE:
        return [], True
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found: list[str] = []
    try:
        for word in lexer:
            if word in _ENDS or (word[:1] in "()|&;<>" and word[:1]):
                break
            found.append(word)
    except ValueError:
        return found, True
    return found, False


def variables(text: str) -> tuple[str, ...]:
    """Names of the variables that a text uses, in order; `$4` and `$NF` of an awk program are none."""
    found = []
    for part in text.split("$")[1:]:
        bare = part.removeprefix("{")
        end = next((at for at, char in enumerate(bare) if char not in _LETTERS), len(bare))
        if end and not bare[0].isdecimal() and bare[:end] not in _OF_AWK:
            found.append(bare[:end])
    return tuple(dict.fromkeys(found))
