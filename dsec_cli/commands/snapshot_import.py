"""`dsec snapshot import`: take a snapshot in from a file that someone exported."""

from __future__ import annotations

import json
import os

from dsec.store import Damaged, Missing, NameTaken
from dsec.units import Bytes, UnitProblem, parse
from dsec_cli.cells import shown
from dsec_cli.commands.snapshotting import project, store_of, tidily
from dsec_cli.exit import NO, YES, UsageError, tell
from dsec_cli.report.output import emit
from dsec_cli.snapshot.manifest import is_name
from dsec_cli.snapshot.manifest import parse as parse_manifest
from dsec_cli.snapshot.package import keys, reading
from dsec_cli.snapshot.package.keys import fingerprint
from dsec_cli.snapshot.package.standing import CHANGED, FORGED, TRUSTED, UNKNOWN, UNSIGNED, told
from dsec_cli.snapshot.views.quantities import counted, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.store import Store
    from dsec_cli.options import Args
    from dsec_cli.snapshot.package.reading import Package
    from dsec_cli.snapshot.package.standing import Standing

FORMAT = "dsec.snapshot-import/1"


def main(args: Args) -> int:
    """Check it, and keep it."""
    if args.name is not None and not is_name(args.name):
        raise UsageError(
            say("{name!r} cannot name a snapshot", name=args.name),
            hint=say("letters, digits, '.', '_' and '-', at most 128"),
        )
    try:
        with tidily():
            return _import(args)
    except (Damaged, Missing) as problem:
        tell(f"dsec: {shown(problem.what)}")
        return NO


def _import(args: Args) -> int:
    with reading.opened(args.file, most=_most(args.most)) as package:
        found = reading.standing(package, os.environ)
        if (why := _refusal(found, trusting=args.trust)) is not None:
            tell(f"dsec: {shown(args.file)}: {why}")
            return NO
        reading.checked(package)
        name = args.name or package.manifest.name
        if not is_name(name):
            raise UsageError(
                say("{name!r} cannot name a snapshot", name=name), hint=say("name this one with --name")
            )
        with store_of(project(None), create=True) as store:
            new = _taken(package, store, name)
        if found.verdict == UNKNOWN:
            keys.trust(keys.trusted(os.environ), label=found.label, key=found.key)
            found = found._replace(verdict=TRUSTED)
    emit(_json(package, found, name, new) if args.json else _told(package, found, name, new))
    return YES


def _most(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return int(parse(Bytes, text))
    except UnitProblem as problem:
        raise UsageError(say("--most {text!r} is no size: {why}", text=text, why=str(problem))) from None


def _refusal(found: Standing, *, trusting: bool) -> str | None:
    """Why it is not taken in; None: it is."""
    words = told(found, fingerprint(found.key))
    if found.verdict == FORGED:
        return words
    if found.verdict == CHANGED:
        return say(
            "{words} (hint: if that is right, take the old line out of ~/.ds/keys/trusted first)", words=words
        )
    if found.verdict in (UNKNOWN, UNSIGNED) and not trusting:
        return say("{words} (hint: compare the key with its owner, then say --trust)", words=words)
    return None


def _taken(package: Package, store: Store, name: str) -> tuple[int, int] | None:
    """How many objects and bytes were new; None: the same snapshot has that name already."""
    try:
        return reading.take(package, store, name)
    except NameTaken:
        known = parse_manifest(store.get_record(name).document, name)
        if known.id == package.manifest.id:
            return None
        raise UsageError(
            say("there is another snapshot named {name}", name=name), hint=say("name this one with --name")
        ) from None


def _told(package: Package, found: Standing, name: str, new: tuple[int, int] | None) -> str:
    how = told(found, fingerprint(found.key))
    if new is None:
        return f"{name} {package.manifest.id[:12]} is there already; {how}\n"
    return (
        f"{name} {package.manifest.id[:12]}: {counted(new[0], 'new object')}, {size(new[1])}; {how}\n"
        f"look into it: dsec snapshot inspect {name}\n"
    )


def _json(package: Package, found: Standing, name: str, new: tuple[int, int] | None) -> str:
    document = {
        "format": FORMAT,
        "name": name,
        "snapshot": package.manifest.id,
        "new": new is not None,
        "new_objects": new[0] if new is not None else 0,
        "new_bytes": new[1] if new is not None else 0,
        "signature": found.verdict,
        "key": found.key or None,
        "signer": found.label or None,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
