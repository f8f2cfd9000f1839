"""`dsec plugin sign`: a package's manifest and the signature over it."""

from __future__ import annotations

import os
from datetime import date

from dsec.errors import FileProblem
from dsec.versions import is_semver
from dsec.wholefile import write_whole
from dsec_cli.commands.plugin_checking import entrypoint, identity, lint_errors, schema_file
from dsec_cli.commands.plugin_keygen import asked
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.plugins.signing import keyring
from dsec_cli.plugins.signing.bundle import read_package
from dsec_cli.plugins.signing.contents import MANIFEST, SIGNATURE, Manifest, is_name, manifest_text
from dsec_cli.plugins.signing.minisign import signed
from dsec_cli.report.output import emit
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args


def main(args: Args) -> int:
    """Check plugin.yaml, hash every file, sign."""
    if not os.path.isdir(args.folder):
        raise FileProblem(
            say("{folder} is no folder", folder=args.folder), hint="sign the folder, then zip it"
        )
    expires = _day(args.expires)
    package = read_package(args.folder)
    if lint_errors(package):
        return NO
    name, version = identity(package)
    if not is_name(name) or not is_semver(version):
        raise FileProblem(
            say(
                "{folder}: {name!r} {version!r} is no name and version of a plugin",
                folder=args.folder,
                name=name,
                version=version,
            )
        )
    missing = [path for path in (entrypoint(package), schema_file(package)) if path not in package.files]
    if missing:
        raise FileProblem(
            say("{folder} has no {missing}", folder=args.folder, missing=missing[0]),
            hint=say("build it first: what is added afterwards would not be signed"),
        )
    manifest = Manifest(name, version, expires, package.entries())
    data = manifest_text(manifest)
    path = args.key or keyring.secret_path(os.environ)
    secret = keyring.open_secret(path, lambda: asked(f"Password of {path}: "))
    signature = signed(secret, data, manifest.comment)
    try:
        write_whole(os.path.join(args.folder, MANIFEST), [data])
        write_whole(os.path.join(args.folder, SIGNATURE), [signature.encode()])
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=args.folder, why=system(problem)), hint="it is not signed"
        ) from None
    emit(f"{name} {version}: {len(manifest.files)} files signed by {secret.public.shown}\n")
    return YES


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise UsageError(say("--expires {text}: a day is written YYYY-MM-DD", text=text)) from None
