"""`dsec snapshot verify`: whether everything that is stored is still what was put in."""

from __future__ import annotations

import json
import os

from dsec.store import Damaged, Missing
from dsec_cli.cells import shown
from dsec_cli.commands.snapshotting import project, store_of, view_of
from dsec_cli.exit import NO, YES
from dsec_cli.report.output import emit
from dsec_cli.snapshot.manifest import contents
from dsec_cli.snapshot.package import reading
from dsec_cli.snapshot.package.form import SUFFIX
from dsec_cli.snapshot.package.keys import fingerprint
from dsec_cli.snapshot.package.standing import FORGED, told
from dsec_cli.snapshot.views.quantities import counted, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store import Verification
    from dsec_cli.options import Args
    from dsec_cli.snapshot.shelf import View

FORMAT = "dsec.snapshot-verify/1"


def main(args: Args) -> int:
    """Read it all and compare it with its hashes; exit code 1 for damage."""
    if args.name is not None and args.name.endswith(SUFFIX) and reading.is_package(args.name):
        return packaged(args)
    with store_of(project(None)) as store:
        if args.name is not None:
            return _one(args, view_of(store, args.name))
        found = store.verify(quick=args.quick)
    emit(_json(found) if args.json else _text(found, quick=args.quick))
    return NO if found.damage else YES


def _one(args: Args, view: View) -> int:
    """One snapshot: every section and every file of it is read."""
    damage = list(_damage(view))
    name = view.manifest.name
    if args.json:
        told = {"format": FORMAT, "name": name, "intact": not damage, "damage": damage}
        emit(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
    else:
        lines = [f"damaged: {shown(one)}" for one in damage]
        lines.append(f"{name}  {view.manifest.id[:12]}  {'damaged' if damage else 'intact'}")
        emit("".join(f"{line}\n" for line in lines))
    return NO if damage else YES


def packaged(args: Args) -> int:
    """A package: whether it is intact, who signed it, and whether that key is trusted; 1 for damage, too."""
    name, words, verdict, damage = args.name, "", None, ""
    try:
        with reading.opened(args.name) as package:
            name = f"{package.manifest.name}  {package.manifest.id[:12]}"
            found = reading.standing(package, os.environ)
            words, verdict = told(found, fingerprint(found.key)), found.verdict
            reading.checked(package)
    except (Damaged, Missing) as problem:
        damage = problem.what
    intact = not damage and verdict != FORGED
    if args.json:
        document = {"format": FORMAT, "name": name, "intact": intact, "damage": [damage] if damage else []}
        emit(json.dumps({**document, "signature": verdict}, indent=2, ensure_ascii=False) + "\n")
    else:
        lines = [f"damaged: {shown(damage)}"] if damage else []
        how = f", {words}" if words else ""
        lines.append(f"{shown(name)}  {'intact' if intact else 'damaged'}{how}")
        emit("".join(f"{line}\n" for line in lines))
    return YES if intact else NO


def _damage(view: View) -> Iterator[str]:
    store = view.store
    for content in contents(view.manifest):
        try:
            store.get_bytes(content)
        except (Damaged, Missing) as problem:
            yield f"content {content[:12]}: {problem.what}"
    for section in view.manifest.sections:
        for label, tree in section.trees:
            try:
                for entry in store.tree(tree):
                    if entry.kind == "file":
                        _read(store.content(entry))
            except (Damaged, Missing) as problem:
                yield f"{section.name} ({label}): {problem.what}"


def _read(pieces: Iterator[bytes]) -> None:
    for _ in pieces:
        pass


def _text(found: Verification, *, quick: bool) -> str:
    lines = [f"damaged: {shown(one.file)}: {shown(one.what)}{_hit(one.records)}" for one in found.damage]
    lines += [f"note: {shown(note)}" for note in found.notes]
    how = "tables only" if quick else f"{size(found.read_bytes)} read"
    verdict = "damaged" if found.damage else "intact"
    lines.append(
        f"{verdict}: {counted(found.records, 'snapshot')}, {counted(found.objects, 'object')} "
        f"in {counted(found.packs, 'pack')}, {how}"
    )
    return "".join(f"{line}\n" for line in lines)


def _hit(records: tuple[str, ...]) -> str:
    return f" (needed by {', '.join(records[:5])})" if records else ""


def _json(found: Verification) -> str:
    document = {
        "format": FORMAT,
        "intact": not found.damage,
        "snapshots": found.records,
        "objects": found.objects,
        "packs": found.packs,
        "read_bytes": found.read_bytes,
        "damage": [
            {"file": one.file, "what": one.what, "objects": list(one.objects), "snapshots": list(one.records)}
            for one in found.damage
        ],
        "notes": list(found.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
