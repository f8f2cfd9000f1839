"""Builds the environment of a snapshot anew: a venv with the recorded versions, checked file by file.

pip looks into its cache first, then into the index that it is configured for. What it installed counts
only where the hashes of its files are the recorded ones; the rest is named.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

from dsec.record import Record
from dsec.wholefile import write_whole
from dsec_cli.exit import tell
from dsec_cli.snapshot import installed
from dsec_cli.snapshot.requirements import asked, explicit
from dsec_cli.snapshot.shelf import SnapshotProblem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.commands.snapshotting import Project
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.requirements import Asked
    from dsec_cli.snapshot.shelf import View

TIMEOUT_S = 3600.0
_DONE = ".dsec-complete"
_NAMED = 5
_TAIL = 12


class Built(Record):
    """An environment."""

    folder: str
    packages: int
    problems: tuple[str, ...]
    """Packages that are not as recorded, and why."""

    @property
    def variables(self) -> tuple[tuple[str, str], ...]:
        """What leads Steps to it."""
        path = os.environ.get("PATH", os.defpath)
        return (("PATH", f"{self.folder}/bin:{path}"), ("VIRTUAL_ENV", self.folder))


def rebuild(view: View, place: Project) -> Built:
    """The environment of the snapshot, built where it is not there yet; raises SnapshotProblem."""
    _refuse_calls(view)
    recorded = view.side("dependencies").data
    section = view.manifest.section("dependencies")
    assert section is not None, "its data were read"
    folder = os.path.join(place.state, "environments", section.document[:16])
    found = asked(recorded["packages"], view.manifest.name)
    if not os.path.exists(os.path.join(folder, _DONE)):
        shutil.rmtree(folder, ignore_errors=True)  # what is left of one that was not finished
        python = _python(recorded["python"]["version"])
        _run([python, "-I", "-m", "venv", "--without-pip", folder])
        _install(folder, found)
        with open(os.path.join(folder, _DONE), "w", encoding="utf-8") as file:
            file.write(f"{view.manifest.name} {view.manifest.id}\n")
    conda = _explicit(place, recorded["conda"], section.document[:16])
    problems = (*found.problems, *_differing(folder, found.wanted), *conda)
    return Built(folder, len(found.wanted), problems)


def _refuse_calls(view: View) -> None:
    plan = view.side("run").contents.get("plan")
    if plan is not None and b'"call":{' in view.store.get_bytes(plan):
        raise SnapshotProblem(
            say("Steps with call: run in the Python that runs dsec, which is not rebuilt"),
            hint="install the recorded versions there, or write the Steps as commands (run:)",
        )


def _python(version: str) -> str:
    """A Python of the recorded minor version; raises SnapshotProblem."""
    minor = ".".join(version.split(".")[:2])
    found = shutil.which(f"python{minor}")
    if found is None and minor == f"{sys.version_info[0]}.{sys.version_info[1]}":
        found = sys.executable
    if found is None:
        raise SnapshotProblem(
            say("there is no Python {minor} here, which the snapshot was taken with", minor=minor),
            hint="install it, and put it on the PATH",
        )
    return found


def _install(folder: str, found: Asked) -> None:
    """Install all, those with a known hash by it."""
    for lines, more in ((found.hashed, ["--require-hashes"]), (found.plain, [])):
        if not lines:
            continue
        path = os.path.join(folder, "requirements.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        pip = [sys.executable, "-P", "-m", "pip", "--python", f"{folder}/bin/python", "install"]
        quiet = ["--no-deps", "--quiet", "--no-input", "--disable-pip-version-check"]
        _run([*pip, *quiet, *more, "-r", path])


def _explicit(place: Project, conda: list[Plain], digest: str) -> tuple[str, ...]:
    """Write what conda takes to have its packages again; how."""
    if not conda:
        return ()
    text, unknown = explicit(conda)
    folder = os.path.join(place.state, "environments")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{digest}.conda.txt")
    write_whole(path, [text.encode()], durable=False)
    names = ", ".join(f"{one['name']} {one['version']}" for one in conda[:_NAMED])
    more = f" and {len(conda) - _NAMED} more" if len(conda) > _NAMED else ""
    words = shlex.join(
        ("conda", "create", "--prefix", os.path.join(folder, f"{digest}-conda"), "--file", path)
    )
    told = [f"{len(conda)} packages of conda are not rebuilt ({names}{more}); by hand: {words}"]
    told += [f"{one}: of conda, and its address is not known" for one in unknown]
    return tuple(told)


def _run(argv: list[str]) -> None:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SnapshotProblem(
            say("{program} did not end within an hour", program=os.path.basename(argv[0])),
            hint="look at the network",
        ) from None
    if done.returncode:
        for line in done.stdout.decode("utf-8", "replace").splitlines()[-_TAIL:]:
            tell(line)
        raise SnapshotProblem(
            say("the environment could not be built (exit status {code})", code=done.returncode),
            hint="what pip or venv said stands above",
        )


def _differing(folder: str, wanted: tuple[Plain, ...]) -> list[str]:
    """Packages whose files are not the recorded ones."""
    site = [
        os.path.join(folder, "lib", name, "site-packages")
        for name in sorted(os.listdir(os.path.join(folder, "lib")))
    ]
    found, _ = installed.packages(site)
    there = {one["name"]: one for one in found}
    problems = []
    for one in wanted:
        name = one["name"]
        here = there.get(name)
        if here is None or here["version"] != one["version"]:
            problems.append(f"{name}: {one['version']} was not installed")
        elif one["record"] is not None and here["record"] != one["record"]:
            problems.append(f"{name} {one['version']}: other files than the recorded ones (another build)")
    return problems
