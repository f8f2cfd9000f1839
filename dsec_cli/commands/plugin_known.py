"""What is known of an installed plugin: what was kept when it was installed, if that can be believed."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase

from dsec.errors import FileProblem
from dsec_cli.commands.plugin_checking import checked
from dsec_cli.plugins.signing import installed, keyring
from dsec_cli.plugins.signing.sealing import FOREIGN, OURS, judged, own_key
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.signing.bundle import Package
    from dsec_cli.plugins.signing.installed import Installed


def known(here: Installed, package: Package) -> dict[str, object]:
    """What was kept about it, or found out anew; raises FileProblem where neither can be had.

    What this user has not sealed is not believed: then its signature must be trusted, and it is scanned.
    """
    said = installed.about(here.folder)
    seal = judged(own_key(os.environ), here.name, here.version, said)
    if seal == OURS:
        _still_trusted(here, said)
        return said
    if seal == FOREIGN:
        return _anew(here, package)
    raise FileProblem(
        say("{path}: what was kept about it was changed", path=f"{here.folder}.json"),
        hint=say("install it again"),
    )


def _still_trusted(here: Installed, said: dict[str, object]) -> None:
    if said.get("status") == "trusted" and not _trusts(here, said):
        raise FileProblem(
            say("{name} is signed by {signer}, which you trust no more", name=here.name, signer=here.signer),
            hint=say("dsec plugin trust takes the key up again, dsec plugin remove takes the plugin away"),
        )


def _trusts(here: Installed, said: dict[str, object]) -> bool:
    """Whether the key that signed it may still sign it: another key of the same name is another signer."""
    return any(
        one.name == here.signer
        and said.get("key", one.key.text) == one.key.text  # an earlier release kept the name alone
        and any(fnmatchcase(here.name, pattern) for pattern in one.plugins)
        for one in keyring.trusted(os.environ)
    )


def _anew(here: Installed, package: Package) -> dict[str, object]:
    """The same from the package itself, which must be in order."""
    from dsec_cli.commands.plugin_install import fixed, scanned

    found = checked(package, os.path.dirname(os.path.dirname(here.folder)))
    why = "" if found.standing.status == "trusted" else f"{found.standing.status}: {found.standing.why}"
    allowed: dict[str, object] = {}
    if not why:
        verdict, told, allowed = scanned(here.folder, package)
        why = "" if verdict == "ok" else told
    if why:
        raise FileProblem(
            say("{name} was not installed by you, and {why}", name=here.name, why=why),
            hint=say("install it yourself"),
        )
    return {"status": "trusted", "signer": found.standing.signer, **fixed(package), **allowed}


def standing_of(here: Installed) -> str:
    """The status that was kept, as far as this user has sealed it and trusts its signer today."""
    said = installed.about(here.folder)
    seal = judged(own_key(os.environ), here.name, here.version, said)
    if seal == OURS and here.status == "trusted" and not _trusts(here, said):
        return f"trusted no longer (signed by {here.signer})"
    return {OURS: here.status, FOREIGN: "not installed by you"}.get(seal, "changed since it was installed")
