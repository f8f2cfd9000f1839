"""A list in which an entry counts once names it twice.

Why: The second entry changes nothing, so it was meant to be another one, or it was left behind when
lists were joined. Where two entries differ, a reader does not know which of them counts.

Bad (yaml):
    # ds_config.yaml
    steps:
      - {id: rows, run: python rows.py, timeout: 60s}
      - {id: masks, run: python masks.py, timeout: 60s}
      - {id: train, run: python train.py, timeout: 60s, needs: [rows, rows]}

Good (yaml):
    # ds_config.yaml
    steps:
      - {id: rows, run: python rows.py, timeout: 60s}
      - {id: masks, run: python masks.py, timeout: 60s}
      - {id: train, run: python train.py, timeout: 60s, needs: [rows, masks]}

Source: seed A section 3 (the dependency column of the Step table); seed B section 2.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract
    from dsec_cli.source.tree import Path

    Entry = tuple[Path, str, object]
    """Where it stands, what it is called, and all that it says."""


def check(facts: Facts) -> Iterator[Finding]:
    """Every entry that an earlier one of its list already is."""
    for entries in _lists(facts.contract):
        first: dict[str, Entry] = {}
        for entry in entries:
            before = first.setdefault(entry[1], entry)
            if before is not entry:
                yield _told(facts, before, entry)


def _lists(contract: Contract) -> Iterator[list[Entry]]:
    """The lists in which an entry counts once."""
    for step in contract.steps:
        yield [(need.path, f"{need.step} {need.carried}", need.step) for need in step.needs]
        yield [(path, text, text) for path, text in step.inputs]
        yield [(path, text, text) for path, text in step.outputs]
    yield [(one.path, one.name, one[2:]) for one in contract.env_vars if one.name]
    yield [(one.path, one.target, one[2:]) for one in contract.mounts if one.target]
    yield [
        (one.path, f"{one.package} {one.version}", one[2:])
        for one in contract.dependencies
        if one.package is not None
    ]
    yield [(one.path, one.name, one[2:]) for one in contract.dependencies if one.name]
    policy = contract.security_policy
    if policy is None:
        return
    yield [(one.path, str(one[1:]), one[1:]) for one in policy.egress if one.domain]
    for key, texts in (("read_allowed", policy.read_allowed), ("write_allowed", policy.write_allowed)):
        yield [((*policy.path, "filesystem", key, at), text, text) for at, text in enumerate(texts)]


def _told(facts: Facts, first: Entry, second: Entry) -> Finding:
    from dsec_cli.contract.complaints import dotted  # only a finding pays for it
    from dsec_cli.lint.mend import without

    path, _, said = second
    name = _name(facts, path)
    same = said == first[2]
    key = dotted(path[:-1])
    message = (
        say("{key} names {name} twice", "twice", key=key, name=name)
        if same
        else say("{key} names {name} twice, and the two differ", "differ", key=key, name=name)
    )
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=message,
        reason=say("the second entry changes nothing")
        if same
        else say("nobody can tell which of them counts"),
        help=say("remove one of the two, or write the one that was meant"),
        part="entry",
        related=(Related(first[0], say("{name} is named here first", name=name)),),
    )
    return without(facts, found, path, safe=same)


def _name(facts: Facts, path: Path) -> str:
    """The entry in a word: its text, or the value that names it."""
    node = facts.node(path)
    for key in ("name", "package", "domain", "path", "step"):
        inner = facts.node((*path, key))
        if inner is not None:
            node = inner
            break
    return str(getattr(node, "text", path[-1]))


RULE = Rule("DS113", "entry-twice", Severity.WARNING, check, when=("entry-twice",))
