"""A folder is mounted that the job may not read, or mounted for writing and may not be written.

Why: Mounts and file rules are two lists that must agree: what is not listed is refused. A mount that
is missing in the rules is there, and every attempt to open something in it fails.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      mounts:
        - path: /workspace/config
          source: configmap://agent-configs/retrieval-v3
    security_policy:
      filesystem:
        read_allowed: [/workspace/data]

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      mounts:
        - path: /workspace/config
          source: configmap://agent-configs/retrieval-v3
    security_policy:
      filesystem:
        read_allowed: [/workspace/data, /workspace/config]

Source: seed B section 2 (`read_allowed` lists every mount of its example).
"""

from __future__ import annotations

from dsec.core.paths import normal
from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.contract.values import Mount

FILES = ("security_policy", "filesystem")


def check(facts: Facts) -> Iterator[Finding]:
    """Every mount against the lists of the file rules, where there are such lists."""
    policy = facts.contract.security_policy
    if policy is None or not facts.contract.mounts or facts.document.gaps:
        return
    readable, writable = facts.states((*FILES, "read_allowed")), facts.states((*FILES, "write_allowed"))
    for mount in facts.contract.mounts:
        if mount.target is None:
            continue
        if mount.mode == "rw" and writable and not _below(mount.target, policy.write_allowed):
            yield _finding(facts, mount, "write_allowed", what=say("may not be written"))
        elif readable and not _below(mount.target, (*policy.read_allowed, *policy.write_allowed)):
            yield _finding(facts, mount, "read_allowed", what=say("may not be read"))


def _below(path: str, allowed: Iterable[str]) -> bool:
    """Whether a path lies in one of the folders, or holds one of them."""
    here = normal(path)
    for one in allowed:
        folder = normal(one.rstrip("*"))
        if folder == "/" or f"{here}/".startswith(f"{folder}/") or f"{folder}/".startswith(f"{here}/"):
            return True
    return False


def _finding(facts: Facts, mount: Mount, key: str, *, what: str) -> Finding:
    from dsec_cli.lint.edits import appended  # only a finding pays for them
    from dsec_cli.lint.mend import with_fix

    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=(*mount.path, "path"),
        message=say(
            "{path} is mounted, but {what}: {key} does not list it",
            "unlisted",
            path=mount.target,
            what=what,
            key=key,
        ),
        reason=say("what the file rules do not list is refused"),
        help=say("add {path} to {key}, or remove the mount", path=mount.target, key=key),
        related=(Related((*FILES, key), say("the list")),),
    )
    title = say("add {item} to {key}", item=mount.target, key=key)
    return with_fix(found, title, appended(facts, (*FILES, key), mount.target or ""), safe=False)


RULE = Rule("DS609", "mount-not-accessible", Severity.WARNING, check, when=("mount", "security_policy"))
