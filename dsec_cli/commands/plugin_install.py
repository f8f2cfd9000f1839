"""`dsec plugin install`: check, stage, scan, merge, switch; the first that fails leaves all as it was."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from dsec.errors import DSecError, FileProblem
from dsec.hashing import blake3_of
from dsec_cli.commands.plugin_checking import (
    checked,
    declared,
    entrypoint,
    lint_errors,
    plugins_of,
    schema_file,
)
from dsec_cli.commands.plugin_merging import Merged, merge, wants
from dsec_cli.commands.rewriting import difference, rewrite
from dsec_cli.commands.sources import read_source
from dsec_cli.diagnostics import Severity
from dsec_cli.exit import NO, UNKNOWN, YES, tell
from dsec_cli.lint.linter import lint
from dsec_cli.plugins.binding import NotBound, read_schema
from dsec_cli.plugins.bundled_libraries import images_of
from dsec_cli.plugins.elf import NotElf
from dsec_cli.plugins.grant import NotGranted, grant, unavailable
from dsec_cli.plugins.signing import install_history, installed
from dsec_cli.plugins.signing.bundle import read_package
from dsec_cli.plugins.signing.contents import DECLARED, is_name
from dsec_cli.plugins.signing.locking import alone
from dsec_cli.plugins.signing.sealing import made_key, sealed
from dsec_cli.plugins.signing.trust import beyond, out_of_time
from dsec_cli.report.output import emit, refuse_stray, to_stderr
from dsec_cli.source.text import SourceText
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.plugin_checking import Checked
    from dsec_cli.options import Args
    from dsec_cli.plugins.result import Scan
    from dsec_cli.plugins.signing.bundle import Package
    from dsec_cli.plugins.signing.installed import Installed

_DOUBTFUL = frozenset(("unsigned", "unknown-key"))
"""What --allow-unsigned lets in."""


def main(args: Args) -> int:
    """Everything that must hold, in order."""
    contract, root = plugins_of(args.contract)
    package = read_package(args.package)
    if lint_errors(package):
        return NO
    found = checked(package, root)
    here = installed.one(root, found.manifest.name)
    refused = _refused(found, args, here) or _unusable(package, found, root)
    if refused:
        return _no(found.manifest.comment, refused)
    to_stderr("".join(f"dsec: warning: {one}\n" for one in _changes(package, found)))
    merged = None if args.no_merge or not contract else _merged(contract, package, found, root)
    if merged is not None and (problem := _worse(contract, merged)):
        return _no(found.manifest.comment, problem)
    with alone(root):
        if installed.one(root, found.manifest.name) != here:
            raise FileProblem(
                say("{name} was installed or removed meanwhile", name=found.manifest.name),
                hint=say("run the command again"),
            )
        installed.sweep(root)
        return _install(package, found, merged, args=args, contract=contract, root=root)


def _no(name: str, why: str) -> int:
    tell(f"dsec: {name} is not installed: {why}")
    return NO


def _refused(found: Checked, args: Args, here: Installed | None) -> str:
    """Why its signature keeps it out, or ""."""
    status, why = found.standing.status, found.standing.why
    if status == "trusted" or (status == "rollback" and args.allow_rollback):
        return _beyond(found)
    today = datetime.now(UTC).date()
    newest = here or found.before
    late = out_of_time(found.manifest, "", today=today, installed=newest.version if newest else None)
    if status in _DOUBTFUL and late and not (late.status == "rollback" and args.allow_rollback):
        return f"{status}: {why}; {late.status}: {late.why}"
    if status in _DOUBTFUL and args.allow_unsigned:
        to_stderr(f"dsec: {found.manifest.comment} is taken without a trusted signature: {why}\n")
        return ""
    flag = {"rollback": "--allow-rollback"}.get(status) or ("--allow-unsigned" if status in _DOUBTFUL else "")
    if status == "unknown-key":
        trust = f"dsec plugin trust KEY --plugins {found.manifest.name}"
        return f"{status}: {why} (hint: if you trust who signed it: {trust}; {flag} takes it all the same)"
    return f"{status}: {why}" + (f" (hint: {flag} takes it all the same)" if flag else "")


def _signed_by(found: Checked) -> str:
    """The key that signed it: itself where it is trusted, else its number; "" without a signature."""
    return found.owner.key.text if found.owner is not None else found.standing.signer


def _changes(package: Package, found: Checked) -> list[str]:
    """What is not as it was when a plugin of that name was installed last, though nothing forbids it."""
    last, name, said = found.before, found.manifest.name, []
    if last is None:
        return []
    now, version = _signed_by(found), found.manifest.version
    if last.key != now and last.signer:
        after = f"is signed by {found.standing.signer} now" if now else "is not signed now"
        other = ", with another key" if last.signer == found.standing.signer else ""
        said.append(f"{name} {last.version} was signed by {last.signer}, and {version} {after}{other}")
    digest = dict(last.files).get(found.manifest.version)
    if digest is not None and digest != package.digest():
        said.append(f"{found.manifest.comment} was installed before with other files")
    return said


def _beyond(found: Checked) -> str:
    if found.owner is None:
        return ""
    more = beyond(found.permissions, found.owner)
    return f"{found.owner.name} may not give it {', '.join(more)}" if more else ""


def _unusable(package: Package, found: Checked, root: str) -> str:
    """Why it cannot be installed whoever signed it, or ""."""
    name, version = found.manifest.name, found.manifest.version
    if not is_name(name) or not is_name(version.lower()):
        return f"{name!r} {version!r} cannot name a folder"
    if installed.same(root, name, version, package) is False:
        return (
            f"{version} is installed with other files: a version is what it was signed as; give it a new one"
        )
    try:
        lacking = unavailable(grant(found.permissions, os.environ))
    except NotGranted as problem:
        lacking = str(problem)
    if lacking:
        return lacking
    entry, schema = entrypoint(package), schema_file(package)
    if entry not in package.files:
        return f"its entrypoint {entry} is not in the package"
    if schema not in package.files:
        return f"{schema} is not in the package: it says what goes in and out"
    try:
        images_of(package, entry)
        read_schema(package.files[schema])
    except (NotBound, NotElf) as problem:
        return str(problem)
    return ""


def _merged(contract: str, package: Package, found: Checked, root: str) -> Merged:
    """The contract with the plugin in it; what an earlier version had asked for is taken out."""
    name = found.manifest.name
    here = installed.one(root, name)
    old = None
    if here is not None:
        path = os.path.join(here.folder, DECLARED)
        try:
            with open(path, "rb") as file:
                old = wants(SourceText(path, file.read()), name)
        except OSError as problem:
            raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    return merge(read_source(contract), wants(declared(package), name), old)


def _worse(contract: str, merged: Merged) -> str:
    """The errors that the merged contract has and the contract has not, or ""."""
    before = {(one.code, one.message) for one in lint(read_source(contract))}
    new = [
        one
        for one in lint(merged.text)
        if one.severity is Severity.ERROR and (one.code, one.message) not in before
    ]
    if not new:
        return ""
    to_stderr(difference(read_source(contract), merged.text))
    return "; ".join(f"with it {contract} has {one.code}: {one.message}" for one in new)


def _install(
    package: Package, found: Checked, merged: Merged | None, *, args: Args, contract: str, root: str
) -> int:
    manifest, standing = found.manifest, found.standing
    aside = installed.stage(root, manifest.name, package.files, package.executable)
    try:
        verdict, said, allowed = scanned(aside, package)
        if verdict == "violations":
            return _no(manifest.comment, said)
        if verdict == "incomplete" and not args.allow_incomplete:
            _no(manifest.comment, said)
            return UNKNOWN
        emit(_told(found, said, merged, contract))
        if args.dry_run:
            emit("dry run: nothing was installed\n")
            return YES
        before = installed.one(root, manifest.name)
        kept = sealed(
            made_key(os.environ),
            manifest.name,
            manifest.version,
            {
                "status": standing.status,
                "signer": standing.signer,
                "key": _signed_by(found),
                **fixed(package),
                **allowed,
            },
        )
        folder = installed.place(root, aside, manifest.name, manifest.version, said=kept)
        if merged is not None:
            _put(contract, merged, root, manifest.name, before)
        key, digest = _signed_by(found), package.digest()
        install_history.keep(
            root, manifest.name, manifest.version, signer=standing.signer, key=key, digest=digest
        )
        emit(f"{manifest.comment} is installed in {folder}\n")
        return YES
    finally:
        installed.drop(aside)


def _put(contract: str, merged: Merged, root: str, name: str, before: Installed | None) -> None:
    """Write the merged contract; where that fails the plugin is what it was before."""
    try:
        refuse_stray(contract)
        rewrite(contract, old=merged.old, new=merged.text.data)
    except DSecError:
        if before is None:
            installed.remove(root, name)
        else:
            installed.use(root, name, before.version)
        raise


def _told(found: Checked, said: str, merged: Merged | None, contract: str) -> str:
    lines = [f"signature: {found.standing.status} ({found.standing.why})", f"scan: {said}"]
    if merged is not None:
        change = difference(read_source(contract), merged.text)
        lines.append(f"contract: {'changes as follows' if change else 'nothing changes'}")
        lines += change.splitlines()
        lines += [f"contract: add by hand: {one}" for one in merged.by_hand]
    return "\n".join(lines) + "\n"


def fixed(package: Package) -> dict[str, object]:
    """What of a package must stay as it is."""
    return {"files": package.digest(), "signature": package.seal()}


def scanned(aside: str, package: Package) -> tuple[str, str, dict[str, object]]:
    """Verdict of the scan of the entrypoint, one line about it, and the system calls that it may make."""
    from dsec_cli.commands.plugin_scan import scanned_package
    from dsec_cli.plugins.syscalls import NUMBERS

    entry = entrypoint(package)
    path = os.path.join(aside, entry)
    found = scanned_package(path, os.path.join(aside, DECLARED))
    if found.identity.blake3 != blake3_of()(package.files[entry]).hexdigest():
        raise FileProblem(
            say("{path} was changed while it was scanned", path=path), hint=say("run the command again")
        )
    allowed: dict[str, object] = {
        "calls": None if found.calls is None else sorted({one.number for one in found.calls}),
        "loading": sorted(NUMBERS[name] for name in found.loader if name in NUMBERS),
    }
    return found.verdict(), _line(found, entry), allowed


def _unseen(found: Scan, entry: str) -> str:
    """What the scan lacks, and what to do about it: where it lacks a disassembler, nothing else counts."""
    if any(one.code == "no-disassembler" for one in found.blind()):
        return (
            f"no disassembler is installed, so the code of {entry} was not read"
            " (hint: pip install 'dsec[scan]'; --allow-incomplete takes it all the same)"
        )
    count = len(found.blind())
    places = "place" if count == 1 else "places"
    return f"{count} {places} of {entry} cannot be seen into (hint: --allow-incomplete takes it all the same)"


def _line(found: Scan, entry: str) -> str:
    verdict = found.verdict()
    if verdict == "violations":
        return "; ".join(f"{one.code}: {one.message}" for one in found.violations()[:5])
    if verdict == "incomplete":
        return _unseen(found, entry)
    needs = ", ".join(one.permission for one in found.needs) or "no permission"
    return f"{entry} uses {needs}, as declared"
