"""`dsec snapshot diff`: what differs between two snapshots, or between one and this machine now."""

from __future__ import annotations

import contextlib
import sys

from dsec_cli.commands.snapshotting import HERE_AND_NOW, inventory_of, live, project, store_of, view_of
from dsec_cli.commands.terminal import colored
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import paint
from dsec_cli.snapshot.diff import compare, same
from dsec_cli.snapshot.views import diffjson
from dsec_cli.snapshot.views.difftext import render
from dsec_cli.snapshot.views.inspecting import title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dsec_cli.commands.snapshotting import Project
    from dsec_cli.options import Args
    from dsec_cli.snapshot.section import Difference
    from dsec_cli.snapshot.shelf import View

NOW = "this machine and this folder, now"


def main(args: Args) -> int:
    """Compare and show; exit code 1 where something differs."""
    place = project(None)
    if args.before == HERE_AND_NOW:
        raise UsageError("the older state comes first", hint="write: dsec snapshot diff NAME .")
    is_live = args.after in (None, HERE_AND_NOW)
    if args.inventory is not None and not is_live:
        raise UsageError(
            "--inventory describes this machine, and two snapshots are compared", hint="leave it out"
        )
    with store_of(place) as store, contextlib.ExitStack() as stack:
        before = view_of(store, args.before)
        after = _after(args, place, before, stack, is_live=is_live)
        found = compare(before, after, only=args.only, live=is_live)
        emit(_rendered(args, found, before, after, is_live=is_live), args.out, color=True)
    return YES if same(found) else NO


def _after(args: Args, place: Project, before: View, stack: contextlib.ExitStack, *, is_live: bool) -> View:
    if not is_live:
        return view_of(before.store, args.after)
    return stack.enter_context(live(place, before.store, before, inventory=inventory_of(args.inventory)))


def _rendered(args: Args, found: Sequence[Difference], before: View, after: View, *, is_live: bool) -> str:
    if args.json or args.output == "json":
        return diffjson.render(found, before.manifest, after.manifest, live=is_live)
    told = NOW if is_live else title(after.manifest)
    if args.output == "html":
        from dsec_cli.snapshot.views import diffhtml

        return diffhtml.render(found, title(before.manifest), told)
    color = args.out is None and colored(args.color, sys.stdout)
    return render(found, title(before.manifest), told, paint=paint(wanted=color), everything=args.all)
