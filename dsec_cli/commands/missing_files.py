"""Before the first Step: which declared inputs, programs and scripts of a plan are not there.

A Step may make any of them on the way without declaring it, so what is missing is told and stops nothing.
"""

from __future__ import annotations

import os
import sys
from itertools import islice

from dsec.core.paths import RUN, normal
from dsec.errors import DSecError
from dsec.record import Record
from dsec.rundir import fill
from dsec_cli.dag.paths import PREVIOUS, Outputs
from dsec_cli.dag.script_file import command_of, script_of
from dsec_cli.report.output import to_stderr
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec.plan import Plan, PlannedStep

MOST_TOLD = 5
_MOST_NAMES = 2000
"""Of a folder that is looked through for a like name."""


class _Writer(Record):
    """A planned Step as `Outputs` reads it."""

    id: str
    outputs: tuple[tuple[tuple[()], str], ...]


class Missing(Record):
    """Something that a Step names and that is not there."""

    step: PlannedStep
    text: str
    """What is missing, and what may be meant."""
    first: bool
    """Whether the Step waits for no other one, so that nothing makes it in time."""


def missing(plan: Plan, folder: str, environ: Mapping[str, str]) -> Iterator[Missing]:
    """What the Steps of the first iteration read or start that is not there and that no Step declares."""
    outputs = _outputs(plan)
    looked: set[tuple[str, str, str]] = set()
    for step in plan.steps:
        for what, text, base in _named(step, folder, environ):
            if (what, text, base) in looked:
                continue
            looked.add((what, text, base))
            why = _why(what, text, base)
            if not why or (what != "program on PATH" and outputs.writers(_from_folder(text, base, folder))):
                continue
            first = not any(edge.kind != "carried" for edge in step.needs)
            yield Missing(step, _text(step, what, why, _first(text), base=base, folder=folder), first)


def _why(what: str, text: str, base: str) -> str:
    """Why it cannot be read or started; "": it can."""
    if what == "program on PATH":
        return "" if _on_path(text, base, how=os.X_OK) else say("is not on PATH")
    if what == "module":
        return "" if _is_importable(text, base) else say("does not exist")
    return _why_absent(_first(text), base)


def _is_importable(name: str, folder: str) -> bool:
    """Whether a call would find the module; True, too, where another Python than ours would look for it."""
    top = name.partition(".")[0]
    if os.path.isdir(os.path.join(folder, top)) or os.path.isfile(os.path.join(folder, f"{top}.py")):
        return True
    from importlib.util import find_spec

    from dsec.interpreter import default

    try:
        return not default(os.environb).is_ours or find_spec(top) is not None
    except (DSecError, ImportError, ValueError):
        return True  # said where calls are prepared


def _first(text: str) -> str:
    """The path in the first iteration."""
    return fill(text, work="", iteration=0)


def _from_folder(text: str, base: str, folder: str) -> str:
    """The path as an output would spell it."""
    if base == folder or text.startswith("/"):
        return text
    return normal(os.path.join(os.path.relpath(base, folder), text))


def tell_of_missing(plan: Plan, folder: str, lang: str | None) -> None:
    """Say on standard error what is missing: a few lines, and how many more there are."""
    found = list(islice(missing(plan, folder, os.environ), 100 * MOST_TOLD))
    found.sort(key=lambda one: not one.first)
    if not found:
        return
    from dsec_cli.commands.speaking import listener

    tell = listener(lang)
    lines = []
    for one in found[:MOST_TOLD]:
        src = one.step.src
        what = say("warning: {text}", text=one.text) if one.first else say("note: {text}", text=one.text)
        lines.append(f"dsec: {tell(what)} ({src.file}:{src.line})\n")
    if len(found) > MOST_TOLD:
        lines.append(f"dsec: {tell(say('... and {count} more', count=len(found) - MOST_TOLD))}\n")
    if not all(one.first for one in found):
        advice = say("note: what a Step writes for others belongs into its outputs; then this is not said")
        lines.append(f"dsec: {tell(advice)}\n")
    sys.stdout.flush()
    to_stderr("".join(lines))


def _outputs(plan: Plan) -> Outputs:
    return Outputs(_Writer(step.id, tuple(((), text) for text in step.outputs)) for step in plan.steps)


def _named(step: PlannedStep, folder: str, environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """What the Step names: (kind, path, the folder that the path counts from)."""
    for text in step.inputs:
        # Files of the run's folder are lint's (DS514); of an iteration before the first there are none.
        if RUN not in text and PREVIOUS not in text:
            yield "input", text, folder
    base = folder
    if step.cwd not in ("", "."):
        yield "folder", step.cwd, folder
        base = os.path.join(folder, step.cwd)
        if not os.path.isdir(base):
            return
    path = next((value for name, value in step.env if name == "PATH"), environ.get("PATH", os.defpath))
    if step.command.call:
        yield "module", step.command.call.partition(":")[0], folder
        return
    words = command_of(step.command.argv, step.command.shell)
    if not words:
        return
    if "/" in words[0]:
        yield "program", words[0], base
    elif words[:1] == step.command.argv[:1]:  # a shell has commands of its own
        yield "program on PATH", words[0], path
    script, on_path = script_of(words)
    if script and not (on_path and _on_path(script, path, how=os.R_OK)):
        yield "script", script, base


def _on_path(name: str, path: str, *, how: int) -> bool:
    """Whether one of the folders has a file of that name that could be started, or read."""
    places = (os.path.join(folder or ".", name) for folder in path.split(os.pathsep))
    return any(os.path.isfile(place) and os.access(place, how) for place in places)


def _why_absent(path: str, base: str) -> str:
    """Why nothing can be read there; "": something is there."""
    whole = os.path.join(base, path)
    try:
        os.stat(whole)
    except FileNotFoundError:
        if os.path.islink(whole):
            return say("links to {target}, which does not exist", target=os.readlink(whole))
        return say("does not exist")
    except (OSError, ValueError) as problem:
        return say("cannot be read: {why}", why=system(problem) if isinstance(problem, OSError) else "NUL")
    return ""


_KINDS = {
    "input": "Step {step} reads {path}, which {why}, and no Step has it among its outputs{meant}",
    "folder": "Step {step} is to run in the folder {path}, which {why}{meant}",
    "program": "Step {step} starts {path}, which {why}{meant}",
    "program on PATH": "Step {step} starts {path}, which {why}{meant}",
    "module": "Step {step} calls the module {path}, which {why}{meant}",
    "script": "Step {step} runs the script {path}, which {why}, and no Step has it among its outputs{meant}",
}


def _text(step: PlannedStep, what: str, why: str, path: str, *, base: str, folder: str) -> str:
    if what == "program on PATH":
        meant = ""
    elif what == "module":
        meant = _meant(step, f"{path.partition('.')[0]}.py", base=base, folder=folder).removesuffix(".py")
    else:
        meant = _meant(step, path, base=base, folder=folder)
    return say(
        _KINDS[what],
        step=step.id,
        path=path,
        why=why,
        meant=say("; did you mean {meant}?", meant=meant) if meant else "",
    )


def _meant(step: PlannedStep, path: str, *, base: str, folder: str) -> str:
    """The path that is there and like this one, or ""; the first part that is missing is looked for."""
    inside = os.path.join(folder, step.cwd, path)
    if base == folder and step.cwd not in ("", ".") and os.path.exists(inside):
        return normal(os.path.join(step.cwd, path))  # inputs count from the contract's folder
    parts = path.split("/")
    for at in range(len(parts)):
        head = "/".join(parts[:at]) + "/" if at else ""
        if os.path.lexists(os.path.join(base, head + parts[at])):
            continue
        near = _nearest(parts[at], os.path.join(base, head))
        found = head + "/".join((near, *parts[at + 1 :]))
        return found if near and os.path.exists(os.path.join(base, found)) else ""
    return ""


def _nearest(name: str, folder: str) -> str:
    from dsec_cli.contract.suggest import nearest

    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, _MOST_NAMES)]
    except OSError:
        return ""
    best = nearest(name, names)
    return best.word if best is not None and best.word in names else ""
