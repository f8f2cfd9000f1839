"""Shell syntax in a `run` that no shell reads.

Why: `run: command` is split into words and started as it is, so that arguments arrive unchanged and
signals reach the program itself. A pipe, a redirection, `&&`, `$NAME` or `*` then is a plain word
that the program gets as an argument. A block (`run: |`) is a script for a shell.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: load
        run: python load.py > load.log && echo done
        timeout: 60s

Good (yaml):
    # ds_config.yaml
    steps:
      - id: load
        run: |
          python load.py > load.log && echo done
        timeout: 60s

Source: users write shell scripts (research on training recipes); a shell only where the Step says
so.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.source.tree import Scalar, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Path

OPERATORS = ("&&", "||", "|", ";", "&", ">", "<", "`")
SIGNS = ("&", "|", ";", ">", "<", "`", "$", "*", "~/")
"""A command without any of these holds no shell syntax; most are told by that alone."""
BUILTINS = frozenset(
    ("cd", "export", "source", ".", "set", "unset", "ulimit", "if", "for", "while", "case", "eval")
)
LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
KEYS = {"step": (("run",),), "task": (("script",), ("compute_unit", "script"))}
STYLES = ("plain", "single", "double")


def check(facts: Facts) -> Iterator[Finding]:
    """One-line `run` texts with something in them that only a shell would understand."""
    for step in facts.contract.steps:
        if step.kind == "step" and step.run is not None and len(step.run.argv) == 1:
            yield from _one_item((*step.path, "run"), step.id, step.run.argv[0], facts=facts)
        if step.kind == "step" and step.run is not None and not _suspected(step.run.argv):
            continue  # written out by a shell's rules it says the same, and looking it up costs more
        for key in KEYS[step.kind]:
            path = (*step.path, *key)
            node = facts.node(path)
            if isinstance(node, Scalar) and node.style in STYLES:
                who = say("task {id}", id=step.id) if step.kind == "task" else say("Step {id}", id=step.id)
                yield from _finding(facts, path, who, found=shell_syntax(node.text))


def _one_item(path: Path, step: str, item: str, *, facts: Facts) -> Iterator[Finding]:
    """`run: [python train.py]`: the whole line is taken for the name of a program."""
    if not isinstance(facts.node(path), Sequence) or item.startswith(("/", ".")) or len(item.split()) < 2:
        return
    from dsec_cli.contract.complaints import shown  # only a finding pays for it

    yield Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*path, 0),
        message=say(
            "Step {step} starts one program whose name has blanks in it: {item}",
            "name-with-blanks",
            step=step,
            item=shown(item),
        ),
        reason=say("each item of a list is one word of the command, and the first is the program"),
        help=say("write the command as text, without the brackets, or each of its words as an item"),
    )


def _suspected(words: tuple[str, ...]) -> bool:
    """Whether a command that has been split may have had shell syntax in it; quotes hide none of it."""
    if not words:
        return False
    text = " ".join(words)
    return words[0] in BUILTINS or "=" in words[0] or any(sign in text for sign in SIGNS)


def _finding(facts: Facts, path: Path, who: str, *, found: str) -> Iterator[Finding]:
    if found:
        from dsec_cli.lint.edits import as_block_text  # only a finding pays for them
        from dsec_cli.lint.mend import with_fix

        told = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=path,
            message=say(
                "{who} runs without a shell: {found} is handed to the program as it is",
                "runs-without-shell",
                who=who,
                found=found,
            ),
            reason=say("a one-line command is split into words and started directly"),
            help=say("write it below `run: |` for a shell to read it, or quote what is meant literally"),
        )
        title = say("write it below `{key}: |`", key=path[-1])
        yield with_fix(told, title, as_block_text(facts, path), safe=False)


def shell_syntax(command: str) -> str:
    """The first piece of a command line that means something to a shell only, or ""."""
    words = command.split()
    if words and words[0] in BUILTINS:
        return f"`{words[0]}`"
    if words and _assigns(words[0]):
        return f"`{words[0].partition('=')[0]}=...`"
    if not any(sign in command for sign in SIGNS):
        return ""
    quote = ""
    at = 0
    while at < len(command):
        char = command[at]
        if char == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        if quote != "'":
            found = _expansion(command, at) or ("" if quote else _operator(command, at))
            if found:
                return f"`{found}`"
        at += 1
    return ""


def _assigns(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name[:1] in LETTERS and all(char in LETTERS or char.isdigit() for char in name)


def _expansion(command: str, at: int) -> str:
    """`$NAME`, `${NAME}` or `$(...)` at this place: a shell expands them in double quotes, too."""
    if command[at] != "$" or at + 1 >= len(command):
        return ""
    after = command[at + 1]
    if after in "({":
        return command[at : at + 2] + "..." + (")" if after == "(" else "}")
    stop = at + 1
    while stop < len(command) and (command[stop] in LETTERS or command[stop].isdigit()):
        stop += 1
    return command[at:stop] if after in LETTERS else ""


def _operator(command: str, at: int) -> str:
    for operator in OPERATORS:
        if command.startswith(operator, at):
            return operator
    starts_word = at == 0 or command[at - 1].isspace()
    if command.startswith("~/", at) and starts_word:
        return "~/"
    return "*" if command[at] == "*" else ""


RULE = Rule("DS511", "shell-syntax-without-shell", Severity.WARNING, check, when=("step",))
