"""`write_allowed` covers the root, somebody's home or the system.

Why: What may be written may be destroyed, and what starts at the next login or boot may be changed.
A job writes to its output and to `/tmp`; whoever lists `/` has switched the sandbox off.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      filesystem:
        write_allowed: [/workspace/output, /home/alice]

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    security_policy:
      filesystem:
        write_allowed: [/workspace/output, /tmp]

Source: seed B section 2 (`write_allowed: [/workspace/output, /tmp]`).
"""

from __future__ import annotations

from dsec.core.paths import normal
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.stated import texts
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

AT = ("security_policy", "filesystem", "write_allowed")
HOMES = ("/home", "/root", "/Users", "~", "$HOME", "${HOME}")
SYSTEM = frozenset(
    (
        *("/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/var"),
        *("/var/run", "/run", "/opt", "/usr/bin", "/usr/lib", "/usr/local", "/etc/cron.d", "/usr/local/bin"),
    )
)


def check(facts: Facts) -> Iterator[Finding]:
    """Each writable path by what lies below it."""
    policy = facts.contract.security_policy
    if policy is None or not policy.write_allowed:
        return
    for path, text in texts(facts.node(AT), AT):
        covers = _covers(text)
        if covers:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=path,
                message=say("write_allowed {path} covers {what}", "wide", path=text, what=covers),
                reason=say("what may be written may be destroyed, or changed so that it runs later"),
                help=say("list the folders that the job writes to, such as /workspace/output and /tmp"),
            )


def _covers(text: str) -> str:
    """What important thing lies at or below the path, in words; "" for none."""
    bare = normal(text.rstrip("*").rstrip("/") or "/")
    if bare == "/":
        return say("the whole file system")
    if bare in SYSTEM:
        return say("a part of the system")
    for home in HOMES:
        below = bare.removeprefix(home)
        if below == bare:
            continue
        # /root and ~ are a home themselves, /home holds one folder for each.
        own = home not in ("/home", "/Users")
        if not below or (not own and below[:1] == "/" and below.count("/") == 1):
            return say("a home folder") if below or own else say("all home folders")
    return ""


RULE = Rule("DS604", "write-access-too-wide", Severity.ERROR, check, when=("security_policy",))
