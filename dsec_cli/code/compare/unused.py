"""Permissions and secrets that the contract gives and the code does not use."""

from __future__ import annotations

from dsec_cli.code.compare.egress import covers
from dsec_cli.code.compare.missing import Missing
from dsec_cli.code.compare.paths import folder
from dsec_cli.code.compare.settled import called, unknowns
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.needs import Needs
    from dsec_cli.contract.values import Contract

CODE = "DS805"


def never_used(needs: Needs, contract: Contract) -> Iterator[Missing]:
    """Entries that nothing needs; silent wherever a use might be hidden."""
    if needs.unread or needs.subprocesses or any(not one.fixed for one in needs.execution):
        return  # what is not read, or runs outside, may need anything
    unknown = {one.kind for one in unknowns(needs, contract)}
    if "egress" not in unknown:
        yield from _egress(needs, contract)
    if "environment" not in unknown:
        yield from _secrets(needs, contract)
    if "file" not in unknown:
        yield from _writes(needs, contract)


def _egress(needs: Needs, contract: Contract) -> Iterator[Missing]:
    hosts = {one.host for one in called(needs, contract)}
    for entry in contract.security_policy.egress if contract.security_policy else ():
        if entry.domain and not any(covers(entry.domain, host) for host in hosts):
            message = say("nothing in the code calls {domain}", "egress", domain=entry.domain)
            yield _finding((*entry.path, "domain"), message)


def _secrets(needs: Needs, contract: Contract) -> Iterator[Missing]:
    read = {one.name for one in needs.environment}
    for one in contract.env_vars:
        if one.name and one.source and one.name not in read:
            message = say("nothing in the code reads the secret {name}", "secret", name=one.name)
            yield _finding((*one.path, "name"), message)


def _writes(needs: Needs, contract: Contract) -> Iterator[Missing]:
    policy = contract.security_policy
    written = {folder(one.path) for one in needs.files if one.mode != "read"}
    for at, path in enumerate(policy.write_allowed if policy else ()):
        root = path.rstrip("/*")
        hidden = root in ("/tmp", "", ".") or path.startswith(("{", "~"))  # noqa: S108
        if not hidden and not any(place == root or place.startswith(f"{root}/") for place in written):
            message = say("nothing in the code writes to {path}", "write", path=path)
            yield _finding(("security_policy", "filesystem", "write_allowed", at), message)


def _finding(path: tuple[str | int, ...], message: str) -> Missing:
    reason = say("a permission that is not needed only helps whoever breaks in")
    advice = say("take it out, unless something that is not in the code's folder needs it")
    return Missing(Finding(CODE, Severity.INFO, path, message, reason, advice))
