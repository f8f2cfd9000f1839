"""Builds the environment of a snapshot anew: a venv with the recorded versions, checked file by file.

pip looks into its cache first, then into the index that it is configured for. What it installed counts
only where the hashes of its files are the recorded ones; the rest is named.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from dsec.record import Record
from dsec_cli.exit import tell
from dsec_cli.snapshot import installed
from dsec_cli.snapshot.shelf import SnapshotProblem
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.commands.snapshotting import Project
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.shelf import View

TIMEOUT_S = 3600.0
_DONE = ".dsec-complete"
_OURS = "dsec"
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
    wanted, problems = _wanted(recorded["packages"])
    if not os.path.exists(os.path.join(folder, _DONE)):
        shutil.rmtree(folder, ignore_errors=True)  # what is left of one that was not finished
        python = _python(recorded["python"]["version"])
        _run([python, "-m", "venv", "--without-pip", folder])
        _install(folder, wanted)
        with open(os.path.join(folder, _DONE), "w", encoding="utf-8") as file:
            file.write(f"{view.manifest.name} {view.manifest.id}\n")
    problems += _differing(folder, wanted)
    if recorded["conda"]:
        problems.append(f"{len(recorded['conda'])} packages of conda are not rebuilt")
    return Built(folder, len(wanted), tuple(problems))


def _refuse_calls(view: View) -> None:
    plan = view.side("run").contents.get("plan")
    if plan is not None and b'"call":{' in view.store.get_bytes(plan):
        raise SnapshotProblem(
            say("Steps with call: run in the Python that runs dsec, which is not rebuilt"),
            hint="install the recorded versions there, or write the Steps as commands (run:)",
        )


def _wanted(packages: list[Plain]) -> tuple[dict[str, Plain], list[str]]:
    """Packages that an index can give, and why the others are not rebuilt."""
    wanted: dict[str, Plain] = {}
    problems: list[str] = []
    for one in packages:
        if one["name"] == _OURS:
            continue
        if one["origin"] in ("index", "archive") and one["version"]:
            wanted[one["name"]] = one
        else:
            problems.append(f"{one['name']}: not rebuilt, it came from {one['source'] or one['origin']}")
    return wanted, problems


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


def _install(folder: str, wanted: dict[str, Plain]) -> None:
    """Install all, those with a known hash by it."""
    for hashed in (True, False):
        lines = list(_requirements(wanted, hashed=hashed))
        if not lines:
            continue
        path = os.path.join(folder, "requirements.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        pip = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            f"{folder}/bin/python",
            "install",
            "--no-deps",
            "--quiet",
        ]
        more = ["--no-input", "--disable-pip-version-check", *(["--require-hashes"] if hashed else [])]
        _run([*pip, *more, "-r", path])


def _requirements(wanted: dict[str, Plain], *, hashed: bool) -> Iterator[str]:
    for name, one in sorted(wanted.items()):
        if bool(one["artifact"]) == hashed:
            digest = f" --hash={one['artifact']}" if hashed else ""
            yield f"{name}=={one['version']}{digest}"


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


def _differing(folder: str, wanted: dict[str, Plain]) -> list[str]:
    """Packages whose files are not the recorded ones."""
    site = [
        os.path.join(folder, "lib", name, "site-packages")
        for name in sorted(os.listdir(os.path.join(folder, "lib")))
    ]
    found, _ = installed.packages(site)
    there = {one["name"]: one for one in found}
    problems = []
    for name, one in sorted(wanted.items()):
        here = there.get(name)
        if here is None or here["version"] != one["version"]:
            problems.append(f"{name}: {one['version']} was not installed")
        elif one["record"] is not None and here["record"] != one["record"]:
            problems.append(f"{name} {one['version']}: other files than the recorded ones (another build)")
    return problems
