"""`dsec snapshot run`: run the code and plan of a snapshot again, if all is as it was, or say what is not."""

from __future__ import annotations

import os
import shlex
import sys
import time

from dsec.rundir import RunDir, is_job, new_job
from dsec_cli.cells import shown
from dsec_cli.commands.rerunning import Rerun, carry_out, compare_results, prepare
from dsec_cli.commands.snapshot_restore import told
from dsec_cli.commands.snapshotting import inventory_of, live, project, store_of, tidily, view_of
from dsec_cli.commands.terminal import colored
from dsec_cli.exit import NO, YES, UsageError
from dsec_cli.report.output import emit
from dsec_cli.report.terminal import paint
from dsec_cli.snapshot.diff import compare
from dsec_cli.snapshot.drift import Drift, drift
from dsec_cli.snapshot.hostcheck import BLOCKED, DEGRADED, SAME, check, worst
from dsec_cli.snapshot.listing import IGNORED, is_noise
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.replay import replay
from dsec_cli.snapshot.section import Difference
from dsec_cli.snapshot.views.difftext import difference
from dsec_cli.snapshot.views.inspecting import title
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.commands.snapshotting import Project
    from dsec_cli.options import Args
    from dsec_cli.snapshot.hostcheck import Axis
    from dsec_cli.snapshot.replay import Replayed
    from dsec_cli.snapshot.shelf import View

    Paint = Callable[[str, str], str]

_SHOWN_OTHERWISE = ("hardware", "environment", "mounts", "code")
_OF_THE_SYSTEM = ("overlay", "tmpfs", "ramfs", "devtmpfs", "rootfs")
"""Kinds of mounts that a machine or a container brings along."""
_COLOURS = {SAME: "32", "compatible": "32", DEGRADED: "33", BLOCKED: "31"}


def main(args: Args) -> int:
    """Check, stop or restore, run, and compare what came out."""
    return rerun(args, args.name)


def rerun(args: Args, name: str) -> int:
    """The same for `dsec sandbox run --snapshot NAME`."""
    if args.json and not args.dry_run:
        raise UsageError(
            "--json prints what --dry-run finds", hint="add --dry-run; dsec run --json prints events"
        )
    place = project(None)
    job = _job(args.job_id, name)
    color = paint(wanted=colored("auto", sys.stdout))
    with tidily(), store_of(place) as store:
        view = view_of(store, name)
        with live(place, store, view, inventory=inventory_of(args.inventory)) as now:
            if args.json:
                return _for_programs(args, place, view, now)
            _tell([color(shown(title(view.manifest)), "1")])
            variables, code = _checked(args, place, view, now, color)
            if code != YES:
                return code
            _tell_environment(replayed := _replayed(view, now))
            _tell(_mounts(view, now))
            if args.dry_run:
                _tell(["nothing was started (--dry-run)"])
                return YES
            prepared = prepare(view, place, job, link=args.link)
            _tell(_not_there(view, prepared))
    _tell(told(prepared.restored, prepared.folder))
    _tell([f"linked to this folder's: {', '.join(map(shown, prepared.linked))}"] if prepared.linked else [])
    return _run(args, prepared, replayed, variables)


def _job(job: str | None, name: str) -> str:
    if job is not None and not is_job(job):
        raise UsageError(
            say("{job!r} cannot be a job id", job=job), hint="letters, digits, . _ and -, at most 128"
        )
    return job or new_job(name, now_s=time.time(), chance=os.urandom(2))


def _checked(
    args: Args, place: Project, view: View, now: View, color: Paint
) -> tuple[tuple[tuple[str, str], ...], int]:
    """What the machine's check sets for the Steps, and YES; or why not to run, told, and NO."""
    axes = _host(view, now, place)
    _tell(_axes(axes, color))
    verdict = worst(axes)
    found = drift(compare(view, now, live=True, only=_compared(view, now)))
    built: tuple[tuple[str, str], ...] = ()
    if args.rebuild_env and any(one.section == "dependencies" for one in found.stops):
        found, built = _rebuilt(found, view, place)
    if found.stops:
        _tell_drift(found.stops, color)
    _tell(_also(found.told))
    if verdict == BLOCKED or (verdict == DEGRADED and not args.compat):
        more = "" if verdict == BLOCKED else "; --compat goes on with what is named above"
        _tell([color(f"stopped: this machine is {verdict}{more}", "1;31")])
        return (), NO
    if found.stops and not args.allow_drift:
        count = len(found.stops)
        _tell([color(f"stopped: {count} differ{'s' if count == 1 else ''} from the snapshot", "1;31")])
        _tell(
            [
                "--allow-drift runs the recorded code all the same;"
                f" dsec snapshot diff {shown(args.name)} . shows everything"
            ]
        )
        return (), NO
    variables = tuple(pair for axis in axes for pair in axis.variables) if args.compat else ()
    _tell(f"adapted: {name}={value}" for name, value in variables)
    return variables + built, YES


def _rebuilt(found: Drift, view: View, place: Project) -> tuple[Drift, tuple[tuple[str, str], ...]]:
    """What still differs once the recorded packages are installed beside the run, and what leads to them."""
    from dsec_cli.commands.rebuilding import rebuild

    made = rebuild(view, place)
    _tell([f"environment: {made.packages} packages in {shown(made.folder)}"])
    _tell(f"environment: {shown(problem)}" for problem in made.problems)
    kept = tuple(one for one in found.stops if one.section != "dependencies")
    if made.problems:
        stop = Difference("dependencies", "changed", "the rebuilt environment", "", "; ".join(made.problems))
        kept = (*kept, stop)
    return found._replace(stops=kept), made.variables


def _for_programs(args: Args, place: Project, view: View, now: View) -> int:
    """What is in the way, as one document; nothing is built or started."""
    from dsec_cli.snapshot.views.rerunjson import render

    axes = _host(view, now, place)
    found = drift(compare(view, now, live=True, only=_compared(view, now)))
    verdict = worst(axes)
    fits = verdict != BLOCKED and (verdict != DEGRADED or args.compat)
    runs = fits and (args.allow_drift or not found.stops)
    emit(render(view.manifest, axes, found, _replayed(view, now), runs=runs))
    return YES if runs else NO


def _compared(view: View, now: View) -> tuple[str, ...]:
    """Sections to compare: the code only where this folder has some."""
    here = now.side("code")
    sections = tuple(one.name for one in view.manifest.sections)
    empty = here.status == ABSENT or not here.data["files"]
    return tuple(name for name in sections if name != "code" or not empty)


def _host(view: View, now: View, place: Project) -> tuple[Axis, ...]:
    before, after = view.side("hardware"), now.side("hardware")
    if ABSENT in (before.status, after.status):
        return ()
    return check(before.data, after.data, caches=os.path.join(place.state, "cache", "kernels"))


def _axes(axes: tuple[Axis, ...], color: Paint) -> list[str]:
    if all(one.verdict == SAME for one in axes):
        return [f"machine: {color('same', '32')} ({', '.join(one.name for one in axes)})"]
    lines = ["machine:"]
    for one in axes:
        arrow = one.before if one.before == one.after else f"{one.before} -> {one.after}"
        says = f"  {one.says}" if one.says else ""
        lines.append(
            f"  {color(f'{one.verdict:<10}', _COLOURS[one.verdict])}  {one.name}: {shown(arrow)}{says}"
        )
    return lines


def _tell_drift(stops: tuple[Difference, ...], color: Paint) -> None:
    _tell([color("not as in the snapshot:", "1")])
    _tell(line for one in stops[:20] for line in difference(one, color))
    if len(stops) > 20:
        _tell([f"  ... and {len(stops) - 20} more"])


def _also(found: tuple[Difference, ...]) -> list[str]:
    """What differs and does not stop a run, counted: diff shows it."""
    counts: dict[str, int] = {}
    for one in found:
        if one.section not in _SHOWN_OTHERWISE and one.kind not in ("unknown", "suspect"):
            counts[one.section] = counts.get(one.section, 0) + 1
    if not counts:
        return []
    told_of = ", ".join(f"{name} {count}" for name, count in counts.items())
    return [f"also differs, and does not stop it: {told_of}"]


def _not_there(view: View, prepared: Rerun) -> list[str]:
    """What git ignores, and a Step may want all the same."""
    left = [one["path"] for one in view.side("code").data["left_out"] if one["why"] == IGNORED]
    names = [name for name in left if name.rstrip("/") not in prepared.linked and not is_noise(name)]
    if not names:
        return []
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return [f"not in the snapshot: {', '.join(map(shown, names[:5]))}{more} (--link PATH uses this folder's)"]


def _mounts(view: View, now: View) -> list[str]:
    """Mounts that were there then and are not now, with what would bring them back; that needs root."""
    before, after = view.side("mounts"), now.side("mounts")
    if ABSENT in (before.status, after.status):
        return []
    here = {one["at"]: (one["source"], one["kind"]) for one in after.data["mounts"]}
    lines = []
    for one in before.data["mounts"]:
        if one["kind"] in _OF_THE_SYSTEM or here.get(one["at"]) == (one["source"], one["kind"]):
            continue
        words = ("mount", "-t", one["kind"], "-o", one["options"], one["source"], one["at"])
        lines.append(f"mount: {shown(one['at'])} is not as it was: {shown(shlex.join(words))}")
    return lines


def _replayed(view: View, now: View) -> Replayed | None:
    before, after = view.side("environment"), now.side("environment")
    if ABSENT in (before.status, after.status):
        return None
    return replay(before.data, os.environ, after.data)


def _tell_environment(found: Replayed | None) -> None:
    if found is None:
        return
    lines = [f"environment: {name}={shown(value)} as recorded" for name, value in found.put]
    lines += [f"environment: {name} unset, as it was" for name in found.taken]
    if found.kept:
        lines.append(f"environment: as it is here: {', '.join(found.kept)}")
    if found.hidden:
        lines.append(f"environment: not set here, and recorded only by a digest: {', '.join(found.hidden)}")
    _tell(lines)


def _run(
    args: Args, prepared: Rerun, replayed: Replayed | None, variables: tuple[tuple[str, str], ...]
) -> int:
    run: RunDir | None
    code, run = carry_out(args, prepared, replayed, variables)
    if run is None or not prepared.results:
        return code
    equal, differing, missing = compare_results(prepared, run)
    lines = [f"result differs: {shown(name)}" for name in differing[:10]]
    lines += [f"result missing: {shown(name)}" for name in missing[:10]]
    lines.append(f"results: {equal} equal to the recorded, {len(differing)} differ, {len(missing)} missing")
    _tell(lines)
    return NO if code == YES and (differing or missing) else code


def _tell(lines: object) -> None:
    text = "".join(f"{line}\n" for line in lines)  # type: ignore[attr-defined]  # any iterable of lines
    if text:
        emit(text)
