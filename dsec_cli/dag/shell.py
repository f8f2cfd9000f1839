"""The shell of a script: its words, and which language it reads."""

from __future__ import annotations

SH, BASH = "sh", "bash"
PLAIN_SH = (("sh",), ("/bin/sh",))
"""Shells that a plan's `shell` stands for."""
_PLAIN = frozenset(("sh", "dash", "ash", "posh", "busybox"))
"""Programs that know what POSIX asks of a shell, and little more."""


def shell_words(text: str) -> tuple[str, ...]:
    """`bash -o pipefail` as words; sh where nothing is written."""
    return tuple(text.split()) or (SH,)


def is_plain(text: str) -> bool:
    """Whether a shell knows no more than sh does."""
    return shell_words(text)[0].rpartition("/")[2] in _PLAIN


_LANGUAGES = ("python", "pypy", "perl", "node", "ruby", "julia", "lua", "Rscript", "php", "deno", "bun")


def other_language(text: str) -> str:
    """The interpreter that `#!...` or the words of a shell name, where it is no shell; "" else."""
    words = text.removeprefix("#!").split()
    if words and words[0].rpartition("/")[2] == "env":
        words = [one for one in words[1:] if one[0] != "-" and "=" not in one]
    name = words[0].rpartition("/")[2] if words else ""
    return name if name.startswith(_LANGUAGES) else ""
