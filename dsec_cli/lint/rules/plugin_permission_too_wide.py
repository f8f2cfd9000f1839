"""A plugin asks for root, or for everything of a kind.

Why: A plugin is somebody else's code in your job. It gets what it declares, so it declares what it
needs: `read:redis`, `write:s3`. One that asks for root is refused by the sandbox, and the job waits
for ever.

Bad (yaml):
    # plugin.yaml
    name: skill-manager
    version: 1.0.0
    entrypoint: entrypoint.so
    signature: plugin.sig
    permissions: [read:redis, root]

Good (yaml):
    # plugin.yaml
    name: skill-manager
    version: 1.0.0
    entrypoint: entrypoint.so
    signature: plugin.sig
    permissions: [read:redis, write:s3]

Source: seed A section 5.5 (a plugin that asked for root was intercepted; least privilege).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.stated import entries, text, texts
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.source.tree import Path

SUPERUSER = frozenset(("root", "sudo", "admin", "administrator", "superuser", "privileged", "cap_sys_admin"))
EVERYTHING = frozenset(("*", "all", "any", "**", "everything"))


def check(facts: Facts) -> Iterator[Finding]:
    """Permissions of a plugin's manifest, and those that a contract grants."""
    for owner, path, permission in _permissions(facts):
        words = [word.strip().lower() for word in permission.split(":")]
        if SUPERUSER.intersection(words):
            what = say("is root by another name") if "root" not in words else say("is root")
        elif EVERYTHING.intersection(words) or "*" in permission:
            what = say("has no bound")
        else:
            continue
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=path,
            message=say(
                "plugin {plugin} asks for {permission}, which {what}",
                "wide",
                plugin=owner,
                permission=permission,
                what=what,
            ),
            reason=say(
                "a plugin gets what it declares; the sandbox refuses root, and the job waits for ever"
            ),
            help=say("name what it does and to what, such as read:redis or write:s3"),
        )


def _permissions(facts: Facts) -> Iterator[tuple[str, Path, str]]:
    stated = facts.contract.stated
    if "permissions" in stated:
        path: Path = ("permissions",)
        for at, permission in texts(facts.node(path), path):
            yield facts.contract.name or "", at, permission
    if "plugins" in stated:
        for at, plugin in entries(facts, ("plugins",)):
            path = (*at, "permissions")
            for where, permission in texts(plugin.get("permissions"), path):
                yield text(plugin.get("name")) or "", where, permission


RULE = Rule("DS605", "plugin-permission-too-wide", Severity.ERROR, check, when=("permission",))
