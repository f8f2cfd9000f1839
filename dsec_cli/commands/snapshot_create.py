"""`dsec snapshot create`: take the state of code, packages, environment and machine down."""

from __future__ import annotations

import json
import os
import sys
import time

from dsec.rundir import new_job
from dsec.store import Damaged, Missing, NameTaken
from dsec_cli.commands.snapshotting import (
    budget_of,
    exclusion,
    inventory_of,
    key_of_user,
    project,
    redactor,
    run_of,
    scene_of,
    store_of,
    tidily,
)
from dsec_cli.commands.speaking import listener
from dsec_cli.commands.terminal import colored
from dsec_cli.exit import YES, UsageError
from dsec_cli.report.output import emit, to_stderr
from dsec_cli.report.terminal import paint
from dsec_cli.snapshot import acceptance
from dsec_cli.snapshot.capture import capture, keep, refuse_root
from dsec_cli.snapshot.manifest import is_name
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.sections.code import TooLarge
from dsec_cli.snapshot.shelf import View
from dsec_cli.snapshot.views.creating import document, render
from dsec_cli.snapshot.views.quantities import size
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.store import Store
    from dsec_cli.commands.snapshotting import Project
    from dsec_cli.options import Args
    from dsec_cli.snapshot.section import Scene


_last: list[Scene] = []
"""Keeps what was listed: the process ends soon, and to free it all takes as long as to list it."""


def main(args: Args) -> int:
    """Capture and keep; what was left out, and why, is told."""
    place = project(args.file)
    refuse_root(place.folder, os.path.expanduser("~"))
    name = _name(args.name, place)
    run = run_of(place, args.job)
    started = time.monotonic()
    with tidily(), store_of(place, create=True) as store:
        _refuse_taken(store, name)
        scene = scene_of(place, store, _wanted(args, place), run=run, inventory=inventory_of(args.inventory))
        scene.redactor = redactor(place, args.accept)
        _last[:] = [scene]
        try:
            manifest = capture(scene, name)
        except TooLarge as problem:
            _tell_largest(problem)
            raise
        try:
            keep(scene, manifest)
        except NameTaken:  # by another process, meanwhile
            raise _taken(name) from None
        acceptance.remember(place.state, args.accept, key_of_user())
        view = View(manifest, store, own=True)
        took = time.monotonic() - started
        if args.json:
            emit(json.dumps(document(view, scene.redactions), indent=2, ensure_ascii=False) + "\n")
        else:
            color = paint(wanted=colored("auto", sys.stdout))
            emit(listener(args.lang)(render(view, scene.redactions, paint=color, took_s=took)))
    return YES


def _name(name: str | None, place: Project) -> str:
    if name is None:
        return new_job(os.path.basename(place.folder)[:48], now_s=time.time(), chance=os.urandom(2))
    if not is_name(name):
        raise UsageError(
            say("{name!r} cannot name a snapshot", name=name), hint="letters, digits, . _ and -, at most 80"
        )
    return name


def _refuse_taken(store: Store, name: str) -> None:
    """Before anything is read: what takes minutes would be refused in the end."""
    try:
        store.get_record(name)
    except Missing:
        return
    except Damaged:
        pass
    raise _taken(name)


def _taken(name: str) -> UsageError:
    return UsageError(
        say("there is a snapshot named {name} already", name=name),
        hint=say("take another --name, or remove that one first: dsec snapshot prune {name}", name=name),
    )


def _wanted(args: Args, place: Project) -> Wanted:
    chosen = args.include_code or args.include_deps or args.deps_content
    return Wanted(
        code=args.include_code or not chosen,
        deps=args.include_deps or args.deps_content or not chosen,
        deps_content=args.deps_content,
        full_state=args.full_state,
        data=args.data,
        budget=budget_of(args.budget),
        excluded=exclusion(place),
    )


def _tell_largest(problem: TooLarge) -> None:
    sys.stdout.flush()
    for count, path in problem.largest:
        to_stderr(f"{size(count):>10}  {path}\n")
    sys.stderr.flush()
