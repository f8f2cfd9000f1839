"""`dsec snapshot prune`: forget snapshots by name or by policy, and free what nothing needs any more."""

from __future__ import annotations

import json

from dsec_cli.commands.snapshotting import project, store_of
from dsec_cli.commands.tidying import passing_folders, remove
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit
from dsec_cli.snapshot.keeping import RUNS, passing
from dsec_cli.snapshot.manifest import MANUAL, is_name
from dsec_cli.snapshot.shelf import find, listed, unread
from dsec_cli.snapshot.views.quantities import counted, size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.store import Pruned, Store
    from dsec_cli.options import Args

FORMAT = "dsec.snapshot-prune/1"


def main(args: Args) -> int:
    """Forget, then free; what was taken by hand goes only when it is named."""
    place = project(None)
    with store_of(place) as store:
        broken = _broken(args, store)
        names = [*broken, *_going(args, store, broken)]
        left = [one for one in listed(store) if one.name not in names]
        folders = passing_folders(place.state, left, runs=_runs(args))
        if not args.dry_run:
            for name in names[len(broken) :]:
                store.delete_record(name)
            hand = {one.name for one in listed(store) if one.kind == MANUAL}
            kept = frozenset(hand.union(name for name, _ in unread(store)))
            found = store.prune(budget=_budget(args.budget), keep=kept)
            remove(place.state, folders)
        else:
            found = None
    emit(_json(names, folders, found) if args.json else _text(names, folders, found))
    return YES


def _broken(args: Args, store: Store) -> list[str]:
    """Named ones that are damaged or gone: they go first, as nothing can be listed beside a damaged one."""
    broken = [name for name in dict.fromkeys(args.names) if is_name(name) and store.is_broken(name)]
    for name in () if args.dry_run else broken:
        store.delete_record(name)
    return broken


def _going(args: Args, store: Store, broken: list[str]) -> list[str]:
    """Names of what is forgotten: those that are named, and the automatic ones that are too many."""
    if args.keep_runs is not None and args.keep_runs < 0:
        raise UsageError("--keep-runs cannot be negative", hint=say("such as --keep-runs {runs}", runs=RUNS))
    named = [find(store, name).name for name in args.names if name not in broken]
    return list(dict.fromkeys([*named, *passing(listed(store), runs=_runs(args))]))


def _runs(args: Args) -> int:
    return RUNS if args.keep_runs is None else int(args.keep_runs)


def _budget(text: str | None) -> int | None:
    if text is None:
        return None
    from dsec_cli.commands.snapshotting import budget_of

    return budget_of(text)


def _text(names: list[str], folders: list[str], found: Pruned | None) -> str:
    all_names = [*names, *(found.records if found is not None else ())]
    lines = [
        f"forgotten: {name}" if found is not None else f"would be forgotten: {name}" for name in all_names
    ]
    lines += [
        f"removed: {folder}" if found is not None else f"would be removed: {folder}" for folder in folders
    ]
    if found is not None:
        freed, left = size(found.freed_bytes), size(found.left_bytes)
        lines.append(f"{counted(len(all_names), 'snapshot')} forgotten, {freed} freed, {left} left")
    return "".join(f"{line}\n" for line in lines or ["nothing to forget"])


def _json(names: list[str], folders: list[str], found: Pruned | None) -> str:
    document = {
        "format": FORMAT,
        "forgotten": [*names, *(found.records if found is not None else ())],
        "folders": folders,
        "done": found is not None,
        "freed_bytes": found.freed_bytes if found is not None else None,
        "left_bytes": found.left_bytes if found is not None else None,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
