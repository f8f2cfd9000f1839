"""Where a script breaks the grammar of a shell: what is opened and not closed, or the other way round.

After POSIX.1-2024, Shell Command Language, 2.4 (reserved words) and 2.10 (grammar), with what bash adds. What
this reader is not sure of it takes for right: a shell has the last word.
"""

from __future__ import annotations

from dsec.record import Record

BLANKS = " \t\r"
ENDS = {"if": "fi", "for": "done", "while": "done", "until": "done", "select": "done", "case": "esac"} | {
    "{": "}",
    "(": ")",
}
"""What closes what a word opens."""
_OPERATORS = (";;&", ";;", ";&", "&&", "||", "|&", ";", "&", "|", "(", ")", "\n")
_LOOPS = frozenset(("for", "while", "until", "select"))
_STARTS = {
    "then": "if",
    "elif": "if",
    "else": "if",
    "fi": "if",
    "do": "for",
    "done": "do",
    "esac": "case",
} | {
    "}": "{",
    ")": "(",
}
"""What has to stand before a word."""


class Break(Record):
    """The first place that breaks the grammar."""

    kind: str
    """`open`: a word is not closed; `stray`: it belongs to nothing; `instead`: another is meant;
    `joined`: a `;` is missing before it; `quote`; `spaced`: `[` lacks its `]`."""
    word: str
    line: int
    wanted: str
    """What is missing."""


class _Unsure(Exception):
    """Something that is not read here."""


class _Open:
    """A construct that has begun: its word, its line, and the part that it is in."""

    __slots__ = ("line", "part", "word")

    def __init__(self, word: str, line: int, part: str) -> None:
        self.word, self.line, self.part = word, line, part


def first_break(script: str) -> Break | None:
    """The first thing in a script that no shell reads; None where there is none, or it is not sure."""
    reader = _Reader(script)
    try:
        return reader.read()
    except _Unsure:
        return None


class _Reader:
    """Reads words and operators in turn, and keeps what is open."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.open: list[_Open] = []
        self.command: list[str] = []
        self.line_of_command = 1
        self.heredocs: list[tuple[str, bool]] = []

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def read(self) -> Break | None:
        broken: Break | None = None
        while self.at < len(self.text) and broken is None:
            self._skip_blanks()
            if self.at >= len(self.text):
                break
            operator = next((one for one in _OPERATORS if self.text.startswith(one, self.at)), "")
            if operator:
                broken = self._operator(operator)
            elif self.text[self.at] in "<>":
                self._redirection()
            else:
                broken = self._word()
        return broken or self._end_command() or self._unclosed()

    def _unclosed(self) -> Break | None:
        if not self.open:
            return None
        inner = self.open[-1]
        wanted = ENDS[inner.word]
        if inner.part in ("condition", "words", "do"):
            wanted = "then" if inner.word == "if" else "do"
        return Break("open", inner.word, inner.line, wanted)

    def _skip_blanks(self) -> None:
        text = self.text
        while self.at < len(text):
            if text[self.at] in BLANKS:
                self.at += 1
            elif text.startswith("\\\n", self.at):
                self.at += 2
            elif text[self.at] == "#":
                end = text.find("\n", self.at)
                self.at = end if end >= 0 else len(text)
            else:
                return

    def _redirection(self) -> None:
        text = self.text
        start = self.at
        while self.at < len(text) and text[self.at] in "<>&|-" and self.at - start < 3:
            self.at += 1
        sign = text[start : self.at]
        if text.startswith("(", self.at) and sign in ("<", ">"):
            self.at = self._behind_parentheses(self.at)
            self.command.append(sign)
        elif sign in ("<<", "<<-"):
            self._skip_blanks()
            word = self._take_word()[0]
            self.heredocs.append((word.replace("'", "").replace('"', "").replace("\\", ""), sign == "<<-"))
        else:
            self._skip_blanks()
            if self.at < len(text) and text[self.at] not in ";&|()\n<>":
                self._take_word()

    def _operator(self, operator: str) -> Break | None:
        start, line = self.at, self.line(self.at)
        self.at += len(operator)
        top = self.open[-1] if self.open else None
        if operator == "(":
            return self._open_parenthesis(start, line)
        if operator == ")":
            return self._close_parenthesis(line)
        if operator == "\n":
            self._skip_heredocs()
        broken = self._end_command()
        if operator in (";;", ";&", ";;&") and top is not None and top.word == "case":
            top.part = "patterns"
        return broken

    def _open_parenthesis(self, start: int, line: int) -> Break | None:
        top = self.open[-1] if self.open else None
        if top is not None and top.word == "case" and top.part == "patterns":
            return None
        if self.text.startswith("((", start) and (not self.command or self.command == ["for"]):
            self.at = self._behind_parentheses(start)
            self.command.append("((")
            return None
        if self.command:
            behind = self.text[self.at :].lstrip(BLANKS)
            if len(self.command) == 1 and behind[:1] == ")":  # the name of a function
                self.at = self.text.index(")", self.at) + 1
                self.command = []
                return None
            raise _Unsure
        self.open.append(_Open("(", line, "body"))
        return None

    def _close_parenthesis(self, line: int) -> Break | None:
        top = self.open[-1] if self.open else None
        if top is not None and top.word == "case" and top.part == "patterns":
            top.part, self.command = "body", []
            return None
        broken = self._end_command()
        if broken is not None:
            return broken
        if top is None or top.word != "(":
            return self._stray(")", line)
        self.open.pop()
        self.command = [")"]
        return None

    def _stray(self, word: str, line: int) -> Break:
        """A word that nothing before it waits for; what is open says more, where there is something."""
        top = self.open[-1] if self.open else None
        if top is not None and top.part == "condition" and word in ("do", "then"):
            return Break("instead", word, line, "then" if top.word == "if" else "do")
        if top is not None and top.part in ("condition", "words", "do"):
            return Break("open", top.word, top.line, "then" if top.word == "if" else "do")
        if top is not None:
            return Break("open", top.word, top.line, ENDS[top.word])
        return Break("stray", word, line, _STARTS[word])

    def _word(self) -> Break | None:
        line = self.line(self.at)
        word, problem = self._take_word()
        if problem:
            return Break("quote", problem, self.line(self.at), problem if problem != "$(" else ")")
        if word.isdecimal() and self.text[self.at : self.at + 1] in ("<", ">"):
            return None  # the number of a redirection
        top = self.open[-1] if self.open else None
        if top is not None and top.word == "case" and top.part in ("word", "patterns"):
            return self._in_case(top, word)
        if top is not None and top.part == "words" and word == "do" and len(self.command) == 2:
            top.part, self.command = "body", []  # `for name do`, which takes the arguments
        elif word in _RESERVED and not self.command:
            return self._reserved(word, line)
        else:
            self._add(word, line)
        return None

    def _add(self, word: str, line: int) -> None:
        if not self.command:
            self.line_of_command = line
        self.command.append(word)

    def _in_case(self, top: _Open, word: str) -> Break | None:
        if top.part == "word":
            if word == "in":
                top.part, self.command = "patterns", []
        elif word == "esac" and not self.command:
            self.open.pop()
            self.command = ["esac"]
        else:
            self.command.append(word)
        return None

    def _reserved(self, word: str, line: int) -> Break | None:
        top = self.open[-1] if self.open else None
        if word in ("function", "coproc"):
            raise _Unsure
        if word == "[[":
            end = self.text.find("]]", self.at)
            if end < 0:
                return Break("open", "[[", line, "]]")
            self.at = end + 2
            self.command = ["[["]
        elif word in ENDS:
            part = {"if": "condition", "while": "condition", "until": "condition", "case": "word"}
            self.open.append(_Open(word, line, part.get(word, "body" if word == "{" else "words")))
            self.command = [word] if word in ("for", "select") else []
        elif word in _STARTS:
            return self._goes_on(top, word, line)
        return None

    def _goes_on(self, top: _Open | None, word: str, line: int) -> Break | None:
        """A word that goes on with a construct, or ends it."""
        here = (top.word, top.part) if top is not None else ("", "")
        follows = {
            "then": here[0] == "if" and here[1] == "condition",
            "elif": here == ("if", "body"),
            "else": here == ("if", "body"),
            "fi": here in (("if", "body"), ("if", "else")),
            "do": here[0] in _LOOPS and here[1] in ("condition", "do"),
            "done": here[0] in _LOOPS and here[1] == "body",
            "esac": here == ("case", "body"),
            "}": here[0] == "{",
        }
        if top is None or not follows[word]:
            return self._stray(word, line)
        if word in ("fi", "done", "esac", "}"):
            self.open.pop()
            self.command = [word]
        else:
            top.part = {"elif": "condition", "else": "else"}.get(word, "body")
        return None

    def _end_command(self) -> Break | None:
        """Ends a command: a loop's list of words is complete, and a test has to be closed."""
        words, self.command = self.command, []
        top = self.open[-1] if self.open else None
        if top is not None and top.part == "words" and words and words[0] in ("for", "select"):
            top.part = "do"
            if len(words) > 3 and words[-1] == "do":
                return Break("joined", top.word, top.line, "do")
            return None
        if words and words[0] == "[" and words[-1] != "]":
            return Break("spaced", "[", self.line_of_command, "]")
        return None

    def _skip_heredocs(self) -> None:
        for word, tabs in self.heredocs:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = end if end >= 0 else len(self.text)
                row = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                if (row.lstrip("\t") if tabs else row) == word:
                    break
        self.heredocs = []

    def _take_word(self) -> tuple[str, str]:
        """The word that begins here, and the quotation or expansion that is not closed."""
        text, start = self.text, self.at
        while self.at < len(text) and text[self.at] not in BLANKS + ";&|()<>\n":
            before = self.at
            behind = self._behind_part(before)
            if behind < 0:
                opened = "$(" if text.startswith("$(", before) else text[before]
                return text[start:], opened
            self.at = behind
            if text.startswith("(", self.at) and text[self.at - 1] in "=?*+@!" and self.at > start:
                self.at = self._behind_parentheses(self.at)  # an array, or a pattern of bash
        if self.at == start:
            raise _Unsure
        return text[start : self.at], ""

    def _behind_part(self, at: int) -> int:
        """Behind a quotation, an expansion or a letter; -1 where it is not closed."""
        text = self.text
        if text[at] == "\\":
            return min(at + 2, len(text))
        if text.startswith("$'", at):
            return _behind_escaped(text, "'", at + 2)
        if text[at] == "'":
            return text.find("'", at + 1) + 1 or -1
        if text[at] == "`":
            return _behind_escaped(text, "`", at + 1)
        if text[at] == '"':
            return self._behind_double(at + 1)
        if text.startswith("$(", at):
            return self._behind_parentheses(at + 1, sure=False)
        if text.startswith("${", at):
            return self._behind_braces(at + 2)
        return at + 1

    def _behind_double(self, at: int) -> int:
        text = self.text
        while at < len(text):
            if text[at] == '"':
                return at + 1
            if text[at] == "\\" or text[at] == "`" or text.startswith(("$(", "${"), at):
                at = self._behind_part(at)
                if at < 0:
                    raise _Unsure
            else:
                at += 1
        return -1

    def _behind_braces(self, at: int) -> int:
        text = self.text
        while at < len(text):
            if text[at] == "}":
                return at + 1
            if text[at] == "'":
                raise _Unsure  # a quotation, or a letter where the whole stands in double quotes
            at = self._behind_part(at)
            if at < 0:
                raise _Unsure
        raise _Unsure

    def _behind_parentheses(self, at: int, *, sure: bool = True) -> int:
        """Behind what parentheses hold; -1 where they are not closed, and that is certain."""
        text, depth, begin = self.text, 0, at
        while at < len(text):
            if text[at] in "()":
                depth += 1 if text[at] == "(" else -1
                at += 1
                if depth == 0:
                    return at
                continue
            if text.startswith("<<", at) or text[at] == "#":
                raise _Unsure  # a document or a comment in there may hold any sign
            at = self._behind_part(at)
            if at < 0:
                raise _Unsure
        if sure or "case" in text[begin:]:
            raise _Unsure
        return -1


_RESERVED = frozenset((*ENDS, *_STARTS, "!", "time", "function", "coproc", "[[")) - {"(", ")"}


def _behind_escaped(text: str, sign: str, at: int) -> int:
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text[at] == sign:
            return at + 1
        else:
            at += 1
    return -1
