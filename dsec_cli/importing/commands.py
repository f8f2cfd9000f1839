"""How a command of the source becomes a Step's `run`: one program as a line, all else as a script."""

from __future__ import annotations

import shlex

from dsec_cli.contract.forms import is_env_name
from dsec_cli.importing.draft import Command
from dsec_cli.importing.shellwords import split_line
from dsec_cli.lint.rules.shell_syntax_without_shell import shell_syntax
from dsec_cli.lint.rules.variable_not_expanded import reference
from dsec_cli.source.secrets import is_placeholder, is_reference, name_strength, tokens
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.importing.notes import Notes
    from dsec_cli.lint.rules.variable_not_expanded import Reference
    from dsec_cli.source.text import SourceText, Span

HIDDEN = "SECRET"
LEAST = 8
"""Characters of a value that may be a secret by its name alone."""
_OUTSIDE = "it is in the environment that the job is started in: set it there"
UNFIT = "it looks like a secret, which a contract must not hold: give it by a variable"


def shell_command(text: str, source: SourceText, span: Span, notes: Notes) -> Command:
    """What a shell was to read: a line where no shell is needed, else a script."""
    safe = hide(text.strip("\n").rstrip(), source, span, notes)
    if "\n" in safe or shell_syntax(safe) or not _splits(safe):
        return Command(script=safe)
    return Command(line=safe.strip())


def words_command(words: Sequence[str], source: SourceText, span: Span, notes: Notes) -> Command:
    """A program and its arguments, which no shell reads."""
    safe = [hide(word, source, span, notes) for word in words]
    line = shlex.join(safe)
    if line == " ".join(safe) and not shell_syntax(line):
        return Command(line=line)
    return Command(argv=tuple(safe))


def hide(text: str, source: SourceText, span: Span, notes: Notes) -> str:
    """The text without what has the shape of a secret; each one is told, never shown."""
    for hit in sorted(tokens(text, 0, len(text)), reverse=True):
        text = f"{text[: hit.span.start]}{HIDDEN}{text[hit.span.end :]}"
        notes.left(source, span, say("{kind} in a command", kind=hit.kind), UNFIT)
    return text


def _is_secret(name: str, value: str) -> bool:
    """Rather one too many: what is copied by mistake cannot be taken back."""
    if any(True for _ in tokens(value, 0, len(value))):
        return True
    bare = value.strip()
    strength = name_strength(name)
    if not strength or is_reference(bare) or is_placeholder(bare):
        return False
    return strength == 2 or len(bare) >= LEAST


def _splits(line: str) -> bool:
    try:
        return bool(split_line(line))
    except ValueError:
        return False


class Environment:
    """Variables for Steps; what looks like a secret is kept as a name only."""

    def __init__(self, notes: Notes) -> None:
        self.values: dict[str, str] = {}
        self.secrets: dict[str, None] = {}
        self._notes = notes

    def add(self, name: str, value: str, source: SourceText, span: Span) -> None:
        """Take a variable along, unless it is a secret or has no portable name."""
        named = reference(value)
        if _is_secret(name, value):
            self.secret(name, source, span)
        elif named is not None:
            self.from_outside(name, source, span, named=named)
        elif self._is_portable(name, source, span):
            self.values[name] = value

    def secret(self, name: str, source: SourceText, span: Span) -> None:
        """Remember the name of a secret: whoever runs the contract gives its value."""
        if self._is_portable(name, source, span):
            self.secrets[name] = None
        self._notes.left(
            source,
            span,
            say("value of {name}", name=name),
            "a secret: set it in the environment that the job is started in",
        )

    def from_outside(
        self, name: str, source: SourceText, span: Span, *, named: Reference | None = None
    ) -> None:
        """A variable whose value is in the environment that the job is started in."""
        if named is not None and not (named.whole and named.name == name):
            why = say("{written} is not expanded: write the value", written=named.written)
            self._notes.open(source, span, say("value of {name}", name=name), why)
        elif self._is_portable(name, source, span):
            self.secrets[name] = None
            self._notes.left(source, span, say("value of {name}", name=name), _OUTSIDE)

    def _is_portable(self, name: str, source: SourceText, span: Span) -> bool:
        if not is_env_name(name):
            self._notes.left(
                source, span, say("variable {name}", name=name), "no portable name of a variable"
            )
            return False
        return True

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Names and values, in the order of the source."""
        return tuple(self.values.items())
