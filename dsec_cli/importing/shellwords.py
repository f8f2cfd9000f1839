"""What a shell script calls and which of its arguments it uses, as far as one pass over its text tells.

Comments and texts in single quotes are skipped. A word is a command at the beginning of a line and behind
`;`, `&`, `|`, `(`, a backtick, `then`, `do`, `exec`, assignments and their like, and where a variable is made
of it (`RUN="srun -n 8"`).
"""

from __future__ import annotations

import re
import shlex

from dsec_cli.source.text import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_BEFORE = frozenset(
    ("then", "do", "else", "elif", "if", "while", "until", "!", "exec", "time", "nohup", "command", "sudo")
) | {"env", "eval", "numactl", "xargs", "builtin"}
_PLAIN = r"[^\s;&|()<>`\"\'$\\{}]"
_PARTS = re.compile(
    rf"""
      (?<![^\s;])\#[^\n]*                                   # a comment
    | \\.                                                   # an escaped character
    | \'[^\']*\'
    | \$\{{(?P<braced>[1-9@*])(?P<default>:?[-+=])?[^}}]*\}}
    | \$(?P<argument>[1-9@*\#])
    | \$\{{[^}}]*\}}
    | (?P<sign>\$\(|[\n;&|()`{{}}])
    | (?P<name>[A-Za-z_]\w*)=(?P<quote>"?)(?P<value>{_PLAIN}*)
    | (?P<word>{_PLAIN}+)
    """,
    re.VERBOSE | re.DOTALL,
)


MOST_OF_A_LINE = 16_384
"""Characters that are split into words: Python's splitter takes time by their square."""


def split_line(line: str, *, comments: bool = False) -> list[str]:
    """The words of a line, as a shell splits them; raises ValueError, also for a line that is too long."""
    if len(line) > MOST_OF_A_LINE:
        raise ValueError(len(line))
    return shlex.split(line, comments=comments)


def command_words(text: str, start: int, names: Collection[str]) -> Iterator[tuple[str, Span]]:
    """Every place where one of `names` is called, with or without its folder."""
    first = True
    for part in _PARTS.finditer(text, start):
        if part["sign"]:
            first = True
            continue
        group = "value" if part["name"] else "word"
        word = part[group]
        if word is None:
            continue
        bare = word.rpartition("/")[2]
        if bare in names and (first or part["name"]):
            end = part.end(group)
            yield bare, Span(end - len(bare), end)
        first = first and (bool(part["name"]) or word in _BEFORE or word.startswith("-"))


def arguments(text: str, start: int) -> Iterator[tuple[str, Span]]:
    """`$1`, `${2}`, `$@`, `$*` and `$#` without a default; within a function they are the function's own."""
    depth = 0
    for part in _PARTS.finditer(text, start):
        if part["sign"] in ("{", "}"):
            depth = max(0, depth + (1 if part["sign"] == "{" else -1))
        name = part["argument"] or (part["braced"] if not part["default"] else None)
        if name and not depth:
            yield name, Span(*part.span())
