"""The shell of a script: its words, and what a script has that only bash understands."""

from __future__ import annotations

SH, BASH = "sh", "bash"
PLAIN_SH = (("sh",), ("/bin/sh",))
"""Shells that a plan's `shell` stands for."""
_PLAIN = frozenset(("sh", "dash", "ash", "posh", "busybox"))
"""Programs that know what POSIX asks of a shell, and little more."""
_WORDS = frozenset(
    (
        "[[",
        "source",
        "function",
        "declare",
        "typeset",
        "shopt",
        "mapfile",
        "readarray",
        "pushd",
        "popd",
        "let",
    )
) | {"select", "disown", "compgen"}
"""Commands and words at the beginning of a command."""
_SIGNS = (
    "<(",
    ">(",
    "<<<",
    "&>",
    "|&",
    "((",
    "+=(",
    "[@]",
    "[*]",
    "$'",
    "${!",
    "^^}",
    ",,}",
    "$RANDOM",
    "$BASH",
)
_STARTS = frozenset(("then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "exec"))


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


def bashism(script: str) -> str:
    """The first thing in a script that sh does not understand, or ""; quotations do not count."""
    bare = _bare(script)
    found = [(at, sign) for sign in _SIGNS if (at := _sign(bare, sign)) >= 0]
    for at, word in _commands(bare):
        before, equals, after = word.partition("=")
        if word in _WORDS:
            found.append((at, word))
        elif equals and after.startswith("(") and before.removesuffix("+").isidentifier():
            found.append((at, f"{before}=("))
    at = bare.find("pipefail")
    if at >= 0:
        found.append((at, "pipefail"))
    return min(found)[1] if found else ""


def _sign(bare: str, sign: str) -> int:
    """Where a sign stands; `$((` is arithmetic of sh, too."""
    at = bare.find(sign)
    while at > 0 and sign == "((" and bare[at - 1] == "$":
        at = bare.find(sign, at + 2)
    return at


def _commands(bare: str) -> list[tuple[int, str]]:
    """Every word that begins a command, with its place."""
    found, at, first = [], 0, True
    for line in bare.split("\n"):
        first = True
        for part in line.replace(";", " ; ").replace("&&", " ; ").replace("||", " ; ").split(" "):
            if part in (";", "|", "(", "&"):
                first = True
            elif part.strip():
                if first:
                    found.append((at, part.strip()))
                first = part.strip() in _STARTS
        at += len(line) + 1
    return found


def _bare(script: str) -> str:
    """The script with quotations, comments and here-documents blanked out; `$'` stays as a sign of bash."""
    kept: list[str] = []
    ends: list[str] = []
    for line in script.split("\n"):
        if ends:
            if line.strip() == ends[0]:
                ends.pop(0)
            kept.append("")
            continue
        kept.append(line)
        ends += _heredocs(line)
    return _unquoted("\n".join(kept))


def _heredocs(line: str) -> list[str]:
    found = []
    for part in line.replace("<<<", "   ").split("<<")[1:]:
        word = part.removeprefix("-").split()
        if word:
            found.append(word[0].strip("\"'\\;|&"))
    return [one for one in found if one and not one[0].isdecimal()]


_KEPT = frozenset("$@*[]{}!^,RANDOMBSH")
"""What expansions within double quotes are made of."""


def _unquoted(text: str) -> str:
    parts: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            part, at = " ", at + 2
        elif char == "'":
            part, at = ("'" if parts[-1:] == ["$"] else " "), _behind(text, "'", at + 1)
        elif char == '"':
            end = _behind(text, '"', at + 1)
            part = "".join(one if one in _KEPT else " " for one in text[at:end])
            at = end
        elif char == "#" and (at == 0 or text[at - 1] in " \t\n;"):
            part, at = " ", _behind(text, "\n", at) - 1
        else:
            part, at = char, at + 1
        parts.append(part)
    return "".join(parts)


def _behind(text: str, sign: str, at: int) -> int:
    """Behind the next `sign` that no backslash stands before; behind the text where there is none."""
    found = text.find(sign, at)
    while sign == '"' and found > 0 and text[found - 1] == "\\":
        found = text.find(sign, found + 1)
    return found + 1 if found >= 0 else len(text) + 1
