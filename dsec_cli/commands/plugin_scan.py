"""`dsec plugin scan` and `ds-plugin-scan`: a binary in, what it can do and what cannot be seen out."""

from __future__ import annotations

import json
import os
import signal
import sys

from dsec.errors import FileProblem
from dsec_cli.exit import NO, UNKNOWN, YES, Terminated, UsageError
from dsec_cli.plugins import mapcache
from dsec_cli.plugins.confined import scan_confined
from dsec_cli.plugins.scandoc import FORMAT, NotAScan, parsed
from dsec_cli.plugins.scanning import Options
from dsec_cli.plugins.view import Signature, View
from dsec_cli.report.output import emit
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args
    from dsec_cli.plugins.result import Scan

_CODES = {"ok": YES, "violations": NO, "incomplete": UNKNOWN}
_MOST_DOCUMENT = 256 << 20
_MANIFEST = "plugin.yaml"
_SIGNATURE = "MANIFEST.json.minisig"


def main(args: Args) -> int:
    """Scan, compare with what is declared or with an older one, print."""
    if args.exact_mb < 1:
        raise UsageError(say("--exact-mb {count}: 1 or more", count=args.exact_mb))
    options = _options(args)
    signal.signal(signal.SIGTERM, _terminated)  # the process that scans must not outlive this one
    found = _scanned(args.file, options, args.plugin_yaml)
    if args.diff is not None:
        return _diff(found, args, options)
    if args.emit is not None:
        return _emit(found, args)
    view = _view(args.format)
    render = view.render if args.full or view.folded is None else view.folded
    emit(render(found, args.file, _signature(args.file)), args.output)
    return _CODES[found.verdict()]


def scanned_package(path: str, manifest: str) -> Scan:
    """The scan of a plugin that will run on this machine, compared with its plugin.yaml."""
    return _scanned(path, Options("/", "", mapcache.folder(os.environ), "", 64 << 20), manifest)


def _terminated(_number: int, _frame: object) -> None:
    raise Terminated


def _options(args: Args) -> Options:
    cache = "" if args.no_cache else mapcache.folder(os.environ)
    if not os.path.isdir(args.sysroot):
        raise UsageError(say("--sysroot {path} is not a folder", path=args.sysroot))
    if args.libc is not None and not os.path.isfile(args.libc):
        raise UsageError(say("--libc {path} is not a file", path=args.libc))
    door = "" if args.decoder == "auto" else args.decoder
    return Options(args.sysroot, args.libc or "", cache, door, args.exact_mb << 20)


def _scanned(path: str, options: Options, manifest: str | None) -> Scan:
    """The scan of a file, with what its manifest adds."""
    found = parsed(scan_confined(path, options))
    beside = os.path.join(os.path.dirname(path), _MANIFEST)
    wanted = manifest or (beside if os.path.isfile(beside) else None)
    if wanted is None:
        return found
    from dsec_cli.plugins.declared import compare, read_declared

    declared = read_declared(_bytes(wanted, most=1 << 20), wanted)
    return compare(found, declared, data=_bytes(path, most=_MOST_DOCUMENT))


def _bytes(path: str, *, most: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=path, why=system(problem)), hint=say("check the name")
        ) from None


def _diff(new: Scan, args: Args, options: Options) -> int:
    from dsec_cli.plugins.differing import differ, render

    found = differ(_older(args.diff, options), new)
    if args.format == "json":
        names = ("gained", "lost", "calls_gained", "calls_lost", "blind_gained")
        held = {"format": "dsec.plugin-diff/1", "more": found.more()}
        held |= {name: list(getattr(found, name)) for name in names}
        emit(json.dumps(held, indent=2) + "\n", args.output)
    elif args.format == "text":
        emit(render(found, args.diff, args.file), args.output)
    else:
        raise UsageError(say("--diff prints text or json, not {format}", format=args.format))
    return NO if found.more() else YES


def _older(path: str, options: Options) -> Scan:
    """The old side of a comparison: a binary, or the report of one."""
    head = _bytes(path, most=4)
    if head[:1] != b"{":
        return _scanned(path, options, None)
    try:
        return parsed(json.loads(_bytes(path, most=_MOST_DOCUMENT)))
    except (ValueError, NotAScan) as problem:
        text = say("{path} is no report of a scan: {why}", path=path, why=str(problem))
        raise FileProblem(
            text, hint=say("give a .so, or what --format json wrote ({format})", format=FORMAT)
        ) from None


def _emit(found: Scan, args: Args) -> int:
    from dsec_cli.plugins.emitting import contract, seccomp

    if found.calls is None and args.emit == "seccomp-json":
        text = say("a seccomp profile needs the system calls, which are not determined here")
        raise FileProblem(text, hint="pip install 'dsec[scan]'")
    emit(seccomp(found) if args.emit == "seccomp-json" else contract(found), args.output)
    return _CODES[found.verdict()]


def _signature(path: str) -> Signature:
    """Whether a signature lies beside the file."""
    if os.path.exists(os.path.join(os.path.dirname(os.path.abspath(path)), _SIGNATURE)):
        return Signature("not checked", "dsec plugin verify checks it")
    return Signature("unsigned", f"no {_SIGNATURE} beside the file")


def _view(name: str) -> View:
    """The view of that name; the others are not even imported."""
    module = f"dsec_cli.plugins.views.{name}"
    __import__(module)
    found: View = sys.modules[module].VIEW
    return found
