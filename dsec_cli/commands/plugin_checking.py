"""What commands ask of a plugin's package: who it is, whether it lints, where its signature stands."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from typing import NamedTuple

from dsec.errors import FileProblem
from dsec.units import Bytes, UnitProblem
from dsec.units import parse as parse_unit
from dsec_cli.commands.nearest import contract_here
from dsec_cli.commands.statefolder import home
from dsec_cli.diagnostics import Severity
from dsec_cli.lint.linter import lint
from dsec_cli.plugins.declared import read_declared
from dsec_cli.plugins.signing import install_history, installed, keyring
from dsec_cli.plugins.signing.contents import (
    DECLARED,
    MANIFEST,
    SIGNATURE,
    Manifest,
    differences,
    read_manifest,
)
from dsec_cli.plugins.signing.minisign import read_signature
from dsec_cli.plugins.signing.trust import Standing, standing
from dsec_cli.report.output import to_stderr
from dsec_cli.source.text import SourceText
from dsec_cli.source.tree import Mapping, Scalar
from dsec_cli.source.yaml import parse
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.signing.bundle import Package
    from dsec_cli.plugins.signing.install_history import Before
    from dsec_cli.plugins.signing.trust import Trusted


class Checked(NamedTuple):
    """A package, what it says of itself, and what its signature is worth."""

    manifest: Manifest
    standing: Standing
    owner: Trusted | None
    """The trusted key that signed it."""
    permissions: tuple[str, ...]
    """What plugin.yaml declares."""
    before: Before | None = None
    """What was installed last under its name, also where that was removed since."""


def declared(package: Package) -> SourceText:
    """The plugin.yaml of a package; raises FileProblem."""
    data = package.files.get(DECLARED)
    if data is None:
        raise FileProblem(
            say("{where} has no {declared}", where=package.where, declared=DECLARED),
            hint="it says what the plugin is and needs",
        )
    return SourceText(os.path.join(package.where, DECLARED), data)


def identity(package: Package) -> tuple[str, str]:
    """Name and version of plugin.yaml, "" where they are not texts; raises FileProblem."""
    root = _root(package)
    return text_at(root, "name"), text_at(root, "version")


def entrypoint(package: Package) -> str:
    """The plugin's shared object, as a path in its package."""
    return text_at(_root(package), "entrypoint")


def schema_file(package: Package) -> str:
    """Where the package describes what goes in and out."""
    return text_at(_root(package), "schema") or "schema.json"


def baseline_memory(package: Package) -> int:
    """Bytes of memory that plugin.yaml names, 0 where it names none."""
    root = _root(package)
    for entry in root.entries if isinstance(root, Mapping) else ():
        if isinstance(entry.key, Scalar) and entry.key.text == "baseline":
            with contextlib.suppress(UnitProblem):
                return int(parse_unit(Bytes, text_at(entry.value, "memory")))
    return 0


def _root(package: Package) -> object:
    documents = parse(declared(package)).documents
    return documents[0].root if documents else None


def text_at(root: object, key: str) -> str:
    """The scalar of that key of a mapping, or ""."""
    for entry in root.entries if isinstance(root, Mapping) else ():
        if isinstance(entry.key, Scalar) and entry.key.text == key and isinstance(entry.value, Scalar):
            return entry.value.text
    return ""


def lint_errors(package: Package) -> bool:
    """Whether plugin.yaml has errors, which are told on standard error."""
    errors = [one for one in lint(declared(package)) if one.severity is Severity.ERROR]
    for one in errors:
        place = one.place
        to_stderr(f"{place.file}:{place.start.line}:{place.start.column}: {one.code} {one.message}\n")
    return bool(errors)


def checked(package: Package, root: str) -> Checked:
    """Where a package stands with this user and these plugins; raises DSecError for what cannot be read."""
    keys = keyring.trusted(os.environ)
    data = package.files.get(MANIFEST)
    name, version = identity(package)
    if data is None:
        manifest = Manifest(name, version, None, package.entries())
        unsigned = Standing("unsigned", f"it has no {MANIFEST}", "")
        last = install_history.before(root, name)
        return Checked(manifest, unsigned, None, _permissions(package), last)
    manifest = read_manifest(data, os.path.join(package.where, MANIFEST))
    raw = package.files.get(SIGNATURE)
    where = os.path.join(package.where, SIGNATURE)
    signature = None if raw is None else read_signature(raw.decode("utf-8", "replace"), where)
    here = installed.one(root, manifest.name)
    last = install_history.before(root, manifest.name)
    newest = here.version if here else last.version if last else None
    changed = differences(manifest, package.entries())
    if (name, version) != (manifest.name, manifest.version):
        changed.append(f"plugin.yaml says that it is {name} {version}, the manifest {manifest.comment}")
    found = standing(
        manifest,
        signature,
        data,
        changed,
        keys=keys,
        today=datetime.now(UTC).date(),
        installed=newest,
    )
    if found.status == "rollback" and here is None:
        found = found._replace(why=f"{newest} was installed before it was removed, and is newer")
    owner = next((one for one in keys if one.name == found.signer), None)
    return Checked(manifest, found, owner, _permissions(package), last)


def _permissions(package: Package) -> tuple[str, ...]:
    source = declared(package)
    return read_declared(source.data, source.name).permissions


def plugins_of(contract: str | None) -> tuple[str, str]:
    """The contract whose plugins are meant ("": there is none here), and the folder where they are."""
    path = contract or ""
    if contract is None:
        with contextlib.suppress(FileProblem):
            path = contract_here()
    elif not os.path.isfile(contract):
        raise FileProblem(
            say("{contract}: there is no such file", contract=contract), hint="--contract names a contract"
        )
    return path, installed.root_of(home(os.path.dirname(os.path.abspath(path)) if path else ".", os.environ))
