"""Options of `sbatch`: from the #SBATCH lines of a script, or from a command line."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.importing.shellwords import split_line
from dsec_cli.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dsec_cli.source.text import SourceText

MARK = "#SBATCH"
SHORT = {
    "A": "account",
    "a": "array",
    "B": "extra-node-info",
    "b": "begin",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "i": "input",
    "J": "job-name",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "O": "overcommit",
    "o": "output",
    "p": "partition",
    "Q": "quiet",
    "q": "qos",
    "S": "core-spec",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}
FLAGS = frozenset(
    (
        *("hold", "overcommit", "quiet", "oversubscribe", "verbose", "wait", "requeue", "no-requeue"),
        *("parsable", "exclusive", "contiguous", "spread-job", "use-min-nodes", "reboot", "test-only"),
        *("ignore-pbs", "get-user-env", "no-kill", "help", "usage", "version"),
    )
)
"""Options whose value is never the next word."""


class Option(Record):
    """One option as it was given; a flag has no value."""

    name: str
    value: str
    source: SourceText
    span: Span


class Script(Record):
    """A job script: its directives, and where its commands begin."""

    source: SourceText
    options: tuple[Option, ...]
    interpreter: str
    """Of the #! line, `bash` where there is none."""
    commands: Span
    garbled: tuple[Span, ...]
    """Directives that could not be split into words."""


def read_script(source: SourceText) -> Script:
    """The directives in front of the first command; those after it mean nothing to Slurm either."""
    options: list[Option] = []
    garbled: list[Span] = []
    interpreter, start, at = "bash", 0, 0
    for line in source.text.splitlines(keepends=True):
        bare, span = line.strip(), Span(at, at + len(line.rstrip()))
        at += len(line)
        if bare and not bare.startswith("#"):
            return Script(source, tuple(options), interpreter, Span(start, len(source.text)), tuple(garbled))
        start = at
        if bare.startswith("#!") and span.start == 0:
            interpreter = _interpreter(bare[2:]) or "bash"
        elif line.startswith(MARK) and line[len(MARK) : len(MARK) + 1] in (" ", "\t", "\n", ""):
            try:
                words = split_line(bare[len(MARK) :], comments=True)
            except ValueError:
                garbled.append(span)
                continue
            options += parse(words, source, span)[0]
    return Script(source, tuple(options), interpreter, Span(start, len(source.text)), tuple(garbled))


def _interpreter(line: str) -> str:
    words = line.split()
    if words and words[0].rpartition("/")[2] == "env":
        words = [word for word in words[1:] if not word.startswith("-")]
    return words[0].rpartition("/")[2] if words else ""


def parse(words: Sequence[str], source: SourceText, span: Span) -> tuple[list[Option], list[str]]:
    """Options in front, then the script and its arguments."""
    found: list[Option] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        for name, value, wants in _split(word):
            if wants and rest:
                value = rest.pop(0)
            found.append(Option(name, value, source, span))
    return found, rest


def _split(word: str) -> Iterator[tuple[str, str, bool]]:
    """(name, value, whether the value is the next word) of one word; `-Hp gpu` has two."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        yield name, value, not equals and name not in FLAGS
        return
    letters = word[1:]
    while letters:
        name, letters = SHORT.get(letters[0], letters[0]), letters[1:]
        if name not in FLAGS:
            yield name, letters.removeprefix("="), not letters
            return
        yield name, "", False
