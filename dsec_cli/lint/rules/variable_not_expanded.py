"""A variable in a place where nothing is expanded: the Step gets the letters `${NAME}`.

Why: A contract has no interpolation. `OPENAI_API_KEY: ${OPENAI_API_KEY}` hides the real key behind
these letters, and the Step is refused by the service an hour later. A variable of the environment
that a run is started in is named by its source; in a script (`run: |`) the shell expands it. The same
holds for `$(command)`, for `%NAME%`, and for the `{{ ... }}` of templates.

Bad (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      env_vars:
        - name: TOOL_API_KEY
          value: ${TOOL_API_KEY}

Good (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      env_vars:
        - name: TOOL_API_KEY
          source: env://TOOL_API_KEY

Source: compose files and workflows, which expand such texts, and users who bring them along.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Step
    from dsec_cli.source.tree import Path

FIRST = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
LETTERS = FIRST | frozenset("0123456789")
SHOWN = 60
_RESOLVERS = ("oc.env:", "env:")
_WHOLE = (("${{", "}}"), ("{{", "}}"), ("$(", ")"), ("`", "`"), ("%", "%"))
"""How other tools write what they replace."""


class Reference(Record):
    """A variable as a text names it, or another text that some other tool would replace."""

    written: str
    """`${NAME:-4}`, as it stands there."""
    name: str
    """"" where no variable is named."""
    whole: bool
    """It is all of the text, and has no default or other operator."""


def check(facts: Facts) -> Iterator[Finding]:
    """Variables in environments, in working folders, and in the paths of inputs, outputs and mounts."""
    contract = facts.contract
    for one in contract.env_vars:
        for key, text in (("value", one.value), ("source", one.source)):
            if text is not None and (found := reference(text)) is not None:
                yield _of_variable(facts, (*one.path, key), one.name or "?", found=found)
    for step in contract.steps:
        for name, value in step.env:
            found = reference(value)
            if found is not None:
                yield _of_variable(facts, (*step.path, "env", name), name, found=found)
        yield from _of_paths(step)
    for mount in contract.mounts:
        for key, text in (("path", mount.target), ("source", mount.source)):
            if text is not None and (found := reference(text)) is not None:
                yield _finding((*mount.path, key), found, _PATHS)


_PATHS = say("write the path itself")
_RUN_FOLDER = say("write {place} for the run's folder", place="{run}")


def _of_paths(step: Step) -> Iterator[Finding]:
    cwd = (((*step.path, "cwd"), step.cwd),) if step.cwd else ()
    for path, text in (*cwd, *step.inputs, *step.outputs):
        found = reference(text)
        if found is not None:
            # The run's folder has a placeholder, in the paths that have placeholders.
            folder = found.name == "DSEC_RUN_DIR" and path[-1] != "cwd"
            yield _finding(path, found, _RUN_FOLDER if folder else _PATHS)


def reference(text: str) -> Reference | None:
    """The first variable that a text names, or what it is as a whole; None for dollars of other meanings."""
    whole = _whole(text.strip())
    if whole is not None:
        return whole
    at = text.find("$")
    while at >= 0:
        escaped = text[at - 1 : at] in ("$", "\\")
        found = None if escaped else _at(text, at)
        if found is not None:
            return found
        at = text.find("$", at + 1)
    return None


def _whole(text: str) -> Reference | None:
    """A text that is one template, command or variable of another tool: `{{ x }}`, `$(x)`, `%X%`."""
    for begin, end in _WHOLE:
        inner = text[len(begin) : -len(end)]
        if text.startswith(begin) and text.endswith(end) and inner and begin not in inner:
            variable = begin == "%" and inner.isidentifier()
            if begin != "%" or variable:
                return Reference(text[:SHOWN], inner if variable else "", whole=variable)
    return None


def _at(text: str, at: int) -> Reference | None:
    braces = text[at + 1 : at + 2] == "{"
    start = at + 1 + braces
    end = start
    while end < len(text) and text[end] in LETTERS:
        end += 1
    name = text[start:end]
    if braces and text[end : end + 1] in (".", ":") and text[start:].startswith(_RESOLVERS):
        # OmegaConf and editors: `${oc.env:NAME,default}`.
        start = end = text.index(":", start) + 1
        while end < len(text) and text[end] in LETTERS:
            end += 1
        name = text[start:end]
    if name[:1] not in FIRST:
        return None
    if not braces:
        # A command for a shell may hold such a word; a path or a value is one word.
        blank = any(char.isspace() for char in text)
        return None if blank else Reference(text[at:end], name, whole=at == 0 and end == len(text))
    close = text.find("}", end)
    if close < 0:
        return None
    whole = at == 0 and close == end and close + 1 == len(text)
    return Reference(text[at : min(close + 1, at + SHOWN)], name, whole=whole)


def _of_variable(facts: Facts, path: Path, name: str, *, found: Reference) -> Finding:
    same = found.whole and found.name == name
    advice = (
        say("write `source: env://{name}` in runtime_context.env_vars instead", name=name)
        if same
        else say(
            "set {name} where the run is started and write `source: env://{name}`, or {written} in a script",
            name=name,
            written=f"${found.name or name}",
        )
    )
    finding = _finding(path, found, advice, name=name)
    if not same:
        if found.whole and path[-1] == "source":
            return finding._replace(help=say("write source: env://{name}", name=found.name))
        return finding
    from dsec_cli.lint.environment_source import with_source  # only a finding pays for it

    return with_source(facts, finding, path, name)


def _finding(path: Path, found: Reference, advice: str, *, name: str = "") -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=say(
            "{written} is not expanded here: {name} gets these letters",
            "letters",
            written=found.written,
            name=name,
        )
        if name
        else say("{written} is not expanded here: it stays as these letters", "stays", written=found.written),
        reason=say("a contract has no interpolation: only a shell expands variables, in `run: |`"),
        help=advice,
    )


RULE = Rule("DS610", "variable-not-expanded", Severity.ERROR, check, when=("unexpanded",))
