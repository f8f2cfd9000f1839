"""Which file a command reads its program from, where its words say so beyond doubt."""

from __future__ import annotations

import re
import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_PYTHON = re.compile(r"(python|pypy)[\d.]*")
_SHELLS = frozenset(("sh", "bash", "dash", "ash", "ksh", "zsh"))
_ALONE = {
    "python": re.compile(r"-[bBdEiIOPqRsSuvx]+"),
    "shell": re.compile(r"[-+][abefhkmnptuvxBCEHP]+|--(norc|noprofile|posix|login|verbose)|-l"),
}
"""Options that take no word after them, and leave the file to the first word that is none."""
_PAIRS = {"python": ("-W", "-X", "--check-hash-based-pycs"), "shell": ("-o", "+o", "-O", "+O")}
_LEADING = re.compile(
    r"set [-+].*|export [A-Za-z_]\w*(=\S*)?|[A-Za-z_]\w*=[^\s$`(]*|:|true|umask \d+"
    r"|(echo|printf|mkdir|date|sleep|hostname|pwd|ls|nvidia-smi|df|free|ulimit|trap|which)\b[^<>|;&`(]*"
)
"""Lines of a script before its first command: none of them makes a file, or goes to another folder."""
_BEFORE = frozenset(("exec", "env", "nohup", "nice", "time"))
_SPECIAL = re.compile(r"[$`*?\[\]{}~<>|&;()!#\\]")
_LONGEST = 4096


def command_of(argv: Sequence[str], script: str) -> tuple[str, ...]:
    """The words of a Step's first command, from its program on; () where that is not clear."""
    if script:
        return first_command(script)
    words = program_of(argv)
    inner = _inner(words)
    return words if inner is None else first_command(inner)


def program_of(words: Sequence[str]) -> tuple[str, ...]:
    """The words from the program on, without `nohup`, `env NAME=VALUE` and such; () where unclear."""
    left = list(words)
    while left and left[0].rpartition("/")[2] in _BEFORE:
        left = _behind_assignments(left[1:])
        if left and left[0].startswith("-"):
            return ()
    return tuple(left)


def _inner(words: Sequence[str]) -> str | None:
    """The script in `bash -e -c SCRIPT`; None: the words are another command."""
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return None
    for at, word in enumerate(words[1:-1], 1):
        if word.startswith("-") and word[1:2] != "-" and word.endswith("c"):
            return words[at + 1]
        if word[:1] not in ("-", "+") and words[at - 1] not in _PAIRS["shell"]:
            return None
    return None


def _behind_assignments(words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and words[at].partition("=")[0].isidentifier() and "=" in words[at]:
        at += 1
    return words[at:]


def script_of(words: Sequence[str]) -> tuple[str, bool]:
    """The file that an interpreter is to read, or "", and whether it also looks for it on PATH."""
    name = words[0].rpartition("/")[2] if words else ""
    kind = "python" if _PYTHON.fullmatch(name) else "shell" if name in _SHELLS else ""
    if not kind:
        return "", False
    at = 1
    while at < len(words) and words[at][:1] in ("-", "+"):
        if words[at] == "--":
            at += 1
            break
        if words[at] in _PAIRS[kind]:
            at += 2
        elif _ALONE[kind].fullmatch(words[at]) or (kind == "python" and words[at].startswith(("-W", "-X"))):
            at += 1
        else:
            return "", False  # -c, -m, -, or an option that we do not know
    found = words[at] if at < len(words) else ""
    return found, kind == "shell" and "/" not in found


def first_command(script: str) -> tuple[str, ...]:
    """The words of a script's first command up to its first sign that a shell reads; () where unclear."""
    for line in _lines(script[:_LONGEST].splitlines()):
        if _LEADING.fullmatch(line):
            continue
        return _plain_words(line)
    return ()


def _lines(lines: Iterable[str]) -> Iterable[str]:
    return (line.strip() for line in lines if line.strip() and not line.strip().startswith("#"))


def _plain_words(line: str) -> tuple[str, ...]:
    """The words before anything that a shell changes; a word that it changes in part does not count."""
    sign = _SPECIAL.search(line)
    end = sign.start() if sign else len(line)
    if end < len(line) and not line[end - 1 : end].isspace():
        end = max(line.rfind(" ", 0, end), 0)  # the sign is part of a word
    line = line[:end]
    try:
        words = shlex.split(line) if '"' in line or "'" in line else line.split()
        return program_of(_behind_assignments(words))
    except ValueError:
        return ()  # a quotation that ends behind the sign
