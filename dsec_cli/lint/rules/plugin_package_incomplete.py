"""A plugin's manifest names no signature, or an entry point that is no shared object.

Why: A plugin's signature is checked before it is loaded, so that it comes from somebody you trust.
Without one there is nothing to check. Its Steps are executed by a shared object; a script in its
place cannot be loaded. Whether the files are really there is for `ds-plugin-scan` to see.

Bad (yaml):
    # plugin.yaml
    name: skill-manager
    version: 1.0.0
    entrypoint: entrypoint.so
    permissions: [read:redis]

Good (yaml):
    # plugin.yaml
    name: skill-manager
    version: 1.0.0
    entrypoint: entrypoint.so
    signature: plugin.sig
    permissions: [read:redis]

Source: seed A section 4.3 (`plugin.yaml`, `entrypoint.so` and `schema.json`; the signature is checked).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.lint.stated import text
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

ENDINGS = (".so", ".dll", ".dylib")


def check(facts: Facts) -> Iterator[Finding]:
    """The signature and the entry point of a `plugin.yaml`."""
    if facts.contract.kind != "plugin":
        return
    entry = text(facts.node(("entrypoint",)))
    if entry and not (entry.endswith(ENDINGS) or ".so." in entry):
        yield Finding(
            code=RULE.code,
            severity=Severity.ERROR,
            where=("entrypoint",),
            message=say("entrypoint {entry} is no shared object", "no-object", entry=entry),
            reason=say("a plugin's Steps are executed by a shared object, loaded into the sandbox"),
            help=say("name the compiled file, such as entrypoint.so"),
        )
    if facts.lacks(("signature",)):
        yield Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=("name",),
            message=say("plugin {plugin} names no signature", "unsigned", plugin=facts.contract.name or "?"),
            reason=say("the signature says whom the plugin comes from, and is checked before it is loaded"),
            help=say("sign the package and add `signature: plugin.sig`"),
        )


RULE = Rule("DS606", "plugin-package-incomplete", Severity.WARNING, check, when=("plugin-manifest",))
