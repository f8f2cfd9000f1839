"""`dsec plugin call`: runs an installed plugin in its own sandbox on one document, or on many lines."""

from __future__ import annotations

import contextlib
import os
import sys

from dsec.errors import FileProblem
from dsec.plugins.limits import DEFAULTS
from dsec.plugins.process import PluginError, PluginProcess, Terms
from dsec.units import Bytes, UnitProblem, parse
from dsec_cli.commands.plugin_checking import (
    baseline_memory,
    declared,
    entrypoint,
    plugins_of,
    schema_file,
)
from dsec_cli.commands.plugin_known import known
from dsec_cli.exit import NO, YES, UsageError, tell
from dsec_cli.plugins.binding import NotBound, bound, read_schema
from dsec_cli.plugins.bundled_libraries import images_of
from dsec_cli.plugins.declared import read_declared
from dsec_cli.plugins.grant import NotGranted, grant
from dsec_cli.plugins.signing import installed
from dsec_cli.plugins.signing.bundle import read_package
from dsec_cli.plugins.signing.contents import MANIFEST, SIGNATURE, differences, is_name, read_manifest
from dsec_cli.report.output import emit_bytes
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from dsec_cli.options import Args
    from dsec_cli.plugins.signing.bundle import Package
    from dsec_cli.plugins.signing.installed import Installed

_MOST_SAID = 4096
"""Letters of what a plugin says about its failure that are shown."""


def main(args: Args) -> int:
    """Start the plugin, hand it what it is to work on, write what it answers."""
    if args.timeout is not None and args.timeout < 1:
        raise UsageError(say("--timeout {count}: 1 or more", count=args.timeout))
    timeout = None if args.timeout is None else float(args.timeout)
    memory = _memory(args.memory)
    if args.cpu < 0:
        raise UsageError(say("--cpu {count}: 0 or more", count=args.cpu))
    _, root = plugins_of(args.contract)
    here = installed.one(root, args.name) if is_name(args.name) else None
    if here is None:
        raise FileProblem(
            say("{name} is not installed in {root}", name=args.name, root=root),
            hint=say("dsec plugin install PACKAGE installs it"),
        )
    package = read_package(here.folder)
    said = known(here, package)
    _unchanged(package, said)
    terms = _terms(here, package, said, landlock=not args.no_landlock)
    terms = terms._replace(limits=_limits(package, terms.grants.kinds, cpu_s=args.cpu, memory=memory))
    try:
        schema = read_schema(package.files[schema_file(package)])
        answers = _called(terms, here.name, schema, inputs=list(_inputs(args)), timeout_s=timeout)
    except (PluginError, NotBound) as problem:
        tell(f"dsec: {here.name} {here.version}: {str(problem)[:_MOST_SAID]}")
        return NO
    emit_bytes(b"".join(answer + b"\n" for answer in answers), args.output)
    return YES


def _unchanged(package: Package, said: dict[str, object]) -> None:
    """Raises FileProblem where an installed package is not what it was when it was installed."""
    data = package.files.get(MANIFEST)
    changed = [] if data is None else differences(read_manifest(data, package.where), package.entries())
    if not changed and said.get("files") != package.digest():
        changed = ["its files are not those that were installed"]
    if not changed and said.get("signature") != package.seal():
        changed = [f"{SIGNATURE} is not the one that was installed"]
    if changed:
        raise FileProblem(
            say("{where}: {changed}", where=package.where, changed=changed[0]),
            hint=say("it was changed since it was installed: install it again"),
        )


def _terms(here: Installed, package: Package, said: dict[str, object], *, landlock: bool) -> Terms:
    """What its manifest and its scan give the plugin; raises FileProblem."""
    calls, loading = said.get("calls"), said.get("loading")
    if not isinstance(calls, list) or not isinstance(loading, list):
        raise FileProblem(
            say("what {name} may do is not known", name=here.name),
            hint=say("its scan needs a disassembler: pip install 'dsec[scan]', then install it again"),
        )
    source = declared(package)
    try:
        grants = grant(read_declared(source.data, source.name).permissions, os.environ)
    except NotGranted as problem:
        raise FileProblem(
            say("{name} cannot be run: {why}", name=here.name, why=str(problem)),
            hint=say("install it again"),
        ) from None
    images = images_of(package, entrypoint(package))
    return Terms(images, (*calls, *loading), grants, landlock)


def _memory(text: str | None) -> int | None:
    """Bytes that the user names; None: nothing was named."""
    if text is None:
        return None
    try:
        return int(parse(Bytes, text))
    except UnitProblem as problem:
        raise UsageError(
            say("--memory {text!r} is no size: {why}", text=text, why=str(problem)),
            hint=say("such as 2Gi, or 0 for no limit"),
        ) from None


def _limits(package: Package, kinds: tuple[str, ...], *, cpu_s: int, memory: int | None) -> dict[str, int]:
    """What the plugin may take; 0 is no limit."""
    most = max(DEFAULTS["memory"], 2 * baseline_memory(package)) if memory is None else memory
    named = {"cpu_s": cpu_s, "memory": most}
    held = {name: value for name, value in {**DEFAULTS, **named}.items() if value}
    if memory is None and "gpu" in kinds:
        del held["memory"]  # a driver maps far more addresses than it uses
    return held


def _inputs(args: Args) -> Iterator[bytes]:
    """What the plugin is to work on: all of it, or line by line."""
    try:
        if args.input is None or args.input == "-":
            if sys.stdin is None:
                raise FileProblem(say("standard input is closed"), hint="--input names a file")
            data = sys.stdin.buffer.read()
        else:
            with open(args.input, "rb") as file:
                data = file.read()
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=args.input, why=system(problem))) from None
    if not args.lines:
        yield data
        return
    yield from (line for line in data.splitlines() if line.strip())


def _called(
    terms: Terms, name: str, schema: dict[str, Any], *, inputs: list[bytes], timeout_s: float | None
) -> list[bytes]:
    """The answers, all checked; raises PluginError and NotBound."""
    for number, data in enumerate(inputs, 1):
        with _counted(number, len(inputs)):
            bound(schema["input"], data, "input")
    answers = []
    with PluginProcess(terms, log=2) as plugin:
        if plugin.facts["name"] != name:
            raise PluginError(f"it says that it is {plugin.facts['name']!r}")
        for number, data in enumerate(inputs, 1):
            with _counted(number, len(inputs)):
                answer = plugin.call(data, timeout_s=timeout_s)
                bound(schema["output"], answer, "output")
            answers.append(answer)
    return answers


@contextlib.contextmanager
def _counted(number: int, count: int) -> Iterator[None]:
    """Say of which document the problem is, where there are several."""
    try:
        yield
    except (PluginError, NotBound) as problem:
        if count == 1:
            raise
        raise type(problem)(f"document {number} of {count}: {problem}") from None
