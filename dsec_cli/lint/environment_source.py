"""The fix that names where a variable comes from: `source: env://NAME` for `${NAME}`."""

from __future__ import annotations

from dsec_cli.diagnostics import Fix
from dsec_cli.lint.edits import Written, appended, inserted, renamed, replaced
from dsec_cli.lint.removal import removed
from dsec_cli.source.tree import Mapping, Sequence
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Edit, Finding
    from dsec_cli.lint.rule import Facts
    from dsec_cli.source.tree import Path

CONTEXT = ("runtime_context",)
VARIABLES = (*CONTEXT, "env_vars")


def with_source(facts: Facts, finding: Finding, path: Path, name: str) -> Finding:
    """The finding with a safe fix, where edits could be made of it.

    Safe, as a variable from the environment reaches every Step, and the letters served none.
    """
    edits = _in_place(facts, path, name) if path[:1] == CONTEXT else _moved(facts, path, name)
    title = say("write {key}: {value}", key="source", value=f"env://{name}")
    return finding._replace(fixes=(*finding.fixes, Fix(title, edits, safe=True))) if edits else finding


def _in_place(facts: Facts, path: Path, name: str) -> tuple[Edit, ...]:
    """`value: ${NAME}`, and `source: $NAME`, become `source: env://NAME`."""
    value = replaced(facts, path, f"env://{name}")
    if path[-1] == "source":
        return value
    key = renamed(facts, path, "source")
    return (*key, *value) if key and value else ()


def _moved(facts: Facts, path: Path, name: str) -> tuple[Edit, ...]:
    """The entry of a Step's `env` becomes one of `runtime_context.env_vars`."""
    env = facts.node(path[:-1])
    alone = isinstance(env, Mapping) and len(env.entries) == 1
    gone = removed(facts, path[:-1] if alone else path)
    given = any(one.name == name for one in facts.contract.env_vars)
    added = () if given else _added(facts, name)
    return (*gone, *added) if gone and (added or given) else ()


def _added(facts: Facts, name: str) -> tuple[Edit, ...]:
    item = f"{{name: {name}, source: env://{name}}}"
    if isinstance(facts.node(VARIABLES), Sequence):
        return appended(facts, VARIABLES, Written(item))
    if isinstance(facts.node(CONTEXT), Mapping):
        return inserted(facts, CONTEXT, "env_vars", Written(f"[{item}]"))
    return inserted(facts, (), *CONTEXT, Written(f"{{env_vars: [{item}]}}"))
