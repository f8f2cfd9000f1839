"""What a script has that bash understands and a plain sh does not.

After POSIX.1-2024, Shell Command Language, and what Debian's checkbashisms looks for.
"""

from __future__ import annotations

import re

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
) | {"select", "disown", "compgen", "builtin", "coproc"}
"""Commands and words at the beginning of a command."""
_SIGNS = (
    "<(",
    ">(",
    "<<<",
    "&>",
    "|&",
    "((",
    "+=(",
    "$'",
)
_VARIABLES = frozenset(("RANDOM", "SECONDS", "PIPESTATUS", "EUID", "UID", "HOSTNAME", "OSTYPE", "FUNCNAME"))
"""Variables that bash sets and POSIX does not know, besides those that begin with BASH."""
_EXPANSION = re.compile(r"\$\{?([A-Za-z_]\w*)")
_OPERATOR = re.compile(r"\$\{(![A-Za-z_]|[A-Za-z_@*]\w*(\[|/|\^|,|@|:\s*-?\d|: ))")
"""Operators of an expansion that POSIX does not have: indirection, arrays, `/a/b`, `^^`, `,,`, `:0:3`."""
_BRACES = re.compile(r"(?<![$\w}])[\w./-]*(\{[^\s{}$;]*,[^\s{};]*\}|\{-?\w+\.\.-?\w+(\.\.-?\d+)?\})")
"""`{a,b}` and `{1..3}`, which a plain sh hands over as they are."""
_USES = (
    re.compile(r"(?<!\S)trap\s[^\n;]*\s(ERR|DEBUG|RETURN)\b"),
    re.compile(r"(?<!\S)wait\s+-[npf]"),
    re.compile(r"(?<!\S)echo\s+-[eEn]*e[eEn]*(?!\S)"),
    re.compile(r"(?<!\S)read\s+-[adnNtsu]"),
    re.compile(r"(?<!\S)printf\s+-v"),
    re.compile(r"(?<!\S)export\s+-f"),
    re.compile(r"(?<!\S)\[\s[^\]\n]*\s==\s"),
)
"""Options of commands, and operators of `[`, that sh does not have."""
_STARTS = frozenset(("then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "exec"))


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
    found += _expansions(bare)
    found += [(one.start(), _short(one[0])) for use in _USES if (one := use.search(bare))]
    return min(found)[1] if found else ""


def _expansions(bare: str) -> list[tuple[int, str]]:
    """Variables, operators and braces that only bash expands."""
    found = [
        (one.start(), f"${one[1]}")
        for one in _EXPANSION.finditer(bare)
        if one[1] in _VARIABLES or one[1].startswith("BASH")
    ]
    for kind in (_OPERATOR, _BRACES):
        one = kind.search(bare)
        if one:
            end = bare.find("}", one.start()) + 1 or one.end()
            found.append((one.start(), _short(bare[one.start() : end])))
    return found


def _short(text: str) -> str:
    text = " ".join(text.split())  # quotations between the words are blanked out
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


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


_SHOWN = 40
"""Characters of a script that a finding shows."""
_QUOTED = re.compile(r"\$\{[^{}\"\n]*\}|\$[A-Za-z_]\w*")
"""Expansions within double quotes."""


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
            part = _only_expansions(text[at:end])
            at = end
        elif char == "#" and (at == 0 or text[at - 1] in " \t\n;"):
            part, at = " ", _behind(text, "\n", at) - 1
        else:
            part, at = char, at + 1
        parts.append(part)
    return "".join(parts)


def _only_expansions(text: str) -> str:
    """A text in double quotes with all but its expansions blanked out."""
    parts, at = [], 0
    for one in _QUOTED.finditer(text):
        parts += [" " * (one.start() - at), one[0]]
        at = one.end()
    return "".join((*parts, " " * (len(text) - at)))


def _behind(text: str, sign: str, at: int) -> int:
    """Behind the next `sign` that no backslash stands before; behind the text where there is none."""
    found = text.find(sign, at)
    while sign == '"' and found > 0 and text[found - 1] == "\\":
        found = text.find(sign, found + 1)
    return found + 1 if found >= 0 else len(text) + 1
