"""Before the first Step: is everything there that the plan depends on? What was found is told and kept."""

from __future__ import annotations

import os
import sys

from dsec.errors import DSecError, StoredFormError
from dsec.record import Record
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import NO, UNKNOWN, YES
from dsec_cli.words import joined, said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dsec.core.dependencies import Checked
    from dsec.plan import Plan
    from dsec.registry import Surroundings
    from dsec.rundir import RunDir
    from dsec_cli.options import Args


_PYTHON = "python"
_MOST = 4096


class Looked(Record):
    """What became of a plan's dependencies."""

    checked: tuple[Checked, ...]
    code: int
    """0: the run may begin; else how the command ends."""
    python: str = ""
    """The Python that calls run in and whose packages count, with what named it; "": the plan needs none."""

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """What tells Steps where their dependencies are."""
        if not self.checked:
            return ()
        from dsec.core.dependencies import variable

        return tuple((variable(one.dependency.name), one.path) for one in self.checked if one.path)


def look(plan: Plan, args: Args, *, folder: str, state: str) -> Looked:
    """Check all dependencies and tell what was found, or all that stands in the way.

    A plan without any costs nothing here, not even an import.
    """
    if not needs_python(plan) and not plan.dependencies:
        return Looked((), YES)
    around = _surroundings(plan, args, folder=folder, state=state)
    if not plan.dependencies:
        return Looked((), YES, around.python)
    from dsec.registry import check

    checked = check(plan.dependencies, around)
    code = _code(checked)
    tell = listener(args.lang)
    _warn("".join(f"{_printable(tell(text))}\n" for text in _troubles(checked, folder)))
    if code == YES and not args.json and not args.quiet:
        found = (
            say("dependency {name}: {text}", name=_name(one), text=said(one.text))
            for one in checked
            if not _odd(one)
        )
        _tell("".join(f"{tell(line)}\n" for line in found))
    return Looked(checked, code, around.python)


def needs_python(plan: Plan) -> bool:
    """Whether the plan calls functions, or needs packages."""
    return any(step.command.call for step in plan.steps) or any(
        one.kind == "package" for one in plan.dependencies
    )


def python_here(plan: Plan) -> str:
    """The Python that the plan's calls would run in here, with what named it; "": it needs none."""
    if not needs_python(plan):
        return ""
    from dsec.interpreter import default

    try:
        python = default(os.environb)
    except DSecError as problem:
        return problem.what
    return f"{python.path} ({python.source})"


def _surroundings(plan: Plan, args: Args, *, folder: str, state: str) -> Surroundings:
    from dsec.interpreter import default, facts
    from dsec.registry import Surroundings
    from dsec.stores import HttpStore

    python = default(os.environb) if needs_python(plan) else None
    told = facts(python) if python is not None and not python.is_ours else None
    return Surroundings(
        registry=_registry(plan, os.environ),
        folder=folder,
        cache=os.path.join(state, "fetched"),
        endpoint=os.environ.get("DSEC_S3_ENDPOINT", ""),
        store=HttpStore() if args.fetch else None,
        packages=None if told is None else told.import_path,
        python="" if python is None else f"{python.path} ({python.source})",
    )


def _registry(plan: Plan, environ: Mapping[str, str]) -> str:
    """The registry's folder; the settings are read only where one is needed and none is named."""
    named = environ.get("DSEC_REGISTRY", "")
    if not named and any(one.kind != "package" for one in plan.dependencies):
        from dsec_cli.settings import settings_path, value_of

        named = value_of("registry", path=settings_path())
    return os.path.abspath(os.path.expanduser(named))


def _code(checked: tuple[Checked, ...]) -> int:
    """A plain no outweighs what could not be found out."""
    verdicts = {one.verdict for one in checked}
    if "wrong" in verdicts:
        return NO
    return UNKNOWN if "unknown" in verdicts else YES


def _odd(one: Checked) -> bool:
    return one.verdict in ("wrong", "unknown", "unverified")


def _troubles(checked: tuple[Checked, ...], folder: str) -> list[str]:
    """Everything that is not as it should be, each with its place, and what follows from it."""
    words = {"wrong": say("error"), "unknown": say("unknown"), "unverified": say("warning")}
    lines: list[str] = []
    for one in filter(_odd, checked):
        src = one.dependency.src
        lines.append(
            say(
                "{place}: {severity}: {name}: {text}",
                place=f"{_from_here(src.file, folder)}:{src.line}:{src.column}",
                severity=words[one.verdict],
                name=_name(one),
                text=said(one.text),
            )
        )
        if one.help:
            lines.append(say("    help: {text}", text=said(one.help)))
    counts: list[str] = []
    if count := sum(one.verdict == "wrong" for one in checked):
        counts.append(say("{count} not as stated", count=count))
    if count := sum(one.verdict == "unknown" for one in checked):
        counts.append(say("{count} could not be looked at", count=count))
    if counts:
        found = joined(", ", counts)
        lines.append(say("of {all} dependencies {found}: nothing was started", all=len(checked), found=found))
    return lines


def _from_here(file: str, folder: str) -> str:
    """The contract as it is called from here: a plan calls it by its name in its own folder."""
    path = os.path.join(folder, file)
    return os.path.relpath(path) if os.path.isfile(path) else file


def _name(one: Checked) -> str:
    version = one.dependency.version
    return f"{one.dependency.name} {version}" if version else one.dependency.name


def _printable(text: str) -> str:
    return "".join(ch if ch.isprintable() else "\ufffd" for ch in text)


def _warn(text: str) -> None:
    if text:
        sys.stdout.flush()
        sys.stderr.write(text)
        sys.stderr.flush()


def _tell(text: str) -> None:
    from dsec_cli.commands.watching import Sink

    sink = Sink(1)
    sink.write(text)
    sink.finish()


def keep(run: RunDir, looked: Looked) -> None:
    """Write what was found into the run's folder, `dependencies.json`, whole or not at all."""
    if looked.python:
        with open(f"{run.path}/{_PYTHON}", "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(looked.python + "\n")
    if not looked.checked:
        return
    import json

    from dsec.codec import encode
    from dsec.core.dependencies import FORMAT
    from dsec_cli.commands.carrying import write_whole

    document = {"format": FORMAT, "dependencies": encode(looked.checked)}
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=1)
    write_whole(f"{run.path}/dependencies.json", text.encode("utf-8", "backslashreplace") + b"\n")


def kept_python(run: RunDir) -> str:
    """The Python that the run's calls ran in; "": there were none."""
    try:
        with open(f"{run.path}/{_PYTHON}", encoding="utf-8", errors="replace") as file:
            return file.read(_MOST).strip()
    except OSError:
        return ""


def kept(run: RunDir) -> list[dict[str, Any]]:
    """What the run's last executor found of its dependencies; none stated: nothing."""
    import json

    path = f"{run.path}/dependencies.json"
    try:
        with open(path, "rb") as file:
            found: list[dict[str, Any]] = json.load(file)["dependencies"]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError):
        raise StoredFormError(
            say("{path} is damaged", path=path), hint="remove it: only the report reads it"
        ) from None
    return found
