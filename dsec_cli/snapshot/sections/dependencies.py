"""The Python packages of the Steps: what RECORD, direct_url.json and conda say, editable sources followed."""

from __future__ import annotations

import os
import sys

from dsec.errors import DSecError
from dsec.hashing import blake3_of
from dsec_cli.snapshot import installed
from dsec_cli.snapshot.codediff import files
from dsec_cli.snapshot.git import GitProblem
from dsec_cli.snapshot.interpreter import python_of
from dsec_cli.snapshot.listing import list_code
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.packagecauses import cause_of
from dsec_cli.snapshot.planned import plan_of
from dsec_cli.snapshot.scanned import MOST_BYTES, Scanned
from dsec_cli.snapshot.section import Captured, Difference, Pair, Part, absent, judged
from dsec_cli.snapshot.spelling import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.listing import Taken
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Scene

_OURS = "dsec"
"""DSec itself: its version is among the settings, and it computes nothing of a run."""
_MOST_SOURCES = 20
"""Files of one source tree whose lines are shown."""
_PYTHON = ("version", "implementation", "abi", "platform", "optimize")


def capture(scene: Scene) -> Captured:
    """Take down what is installed; with `--deps-content` also the files themselves."""
    if not scene.wanted.deps:
        return absent("not asked for (--include-deps)")
    python = python_of(scene)
    if isinstance(python, str):
        return absent(python)
    folders = installed.sites(python["path"], python["base"])
    found, reasons = installed.packages(folders)
    conda = installed.conda(python["prefix"])
    unrecorded = [one["name"] for one in found if one["record"] is None]
    if unrecorded:
        reasons.append(f"{len(unrecorded)} packages have no RECORD ({', '.join(unrecorded[:3])})")
    trees: list[tuple[str, str]] = []
    for one in found:
        if one["origin"] == "editable":
            _follow(scene, one, reasons)
            if tree := (one["editable"] or {}).get("tree"):
                trees.append((f"source-{one['name']}", tree))
        _clean_source(scene, one)
    reasons += _of_workers(scene, python)
    data = {
        "python": {name: python[name] for name in _PYTHON},
        "packages": found,
        "conda": conda,
        "path": [_relative(one, python) for one in python["path"]],
    }
    files, size = _content(scene, folders) if scene.wanted.deps_content else ([], 0)
    return judged(reasons, data, trees=(*trees, *files), size=size)


def _clean_source(scene: Scene, one: Plain) -> None:
    """Where a package came from, without what its address may hold beside credentials."""
    if source := one.get("source"):
        one["source"], found = scene.redactor.text(source)
        scene.redactions.extend((f"package {one['name']}", each) for each in found)


def _of_workers(scene: Scene, python: Plain) -> list[str]:
    """Why packages are missing: Steps that are calls run in DSec's own Python, which may be another one."""
    try:
        plan = plan_of(scene)
    except DSecError:
        return []
    if plan is None or not any(step.command.call for step in plan.steps) or python["prefix"] == sys.prefix:
        return []
    return [f"Steps with call: run in {sys.prefix}, which is not the Python on the PATH"]


def _relative(path: str, python: Plain) -> str:
    """A folder of the path as it would be called in an environment elsewhere."""
    for name in ("prefix", "base"):
        if path.startswith(python[name]):
            return f"{{{name}}}{path[len(python[name]) :]}"
    return path


def _follow(scene: Scene, one: Plain, reasons: list[str]) -> None:
    """The source tree of a package that is installed in place: its commit and what is not committed."""
    one["editable"] = None
    if one["name"] == _OURS:
        return
    from urllib.parse import unquote  # only who has such packages pays for it

    source = one.get("source") or ""
    folder = unquote(source.removeprefix("file://"))
    if not source.startswith("file://") or not os.path.isdir(folder):
        reasons.append(f"the source of {one['name']} is not there")
        return
    if os.path.realpath(folder) == os.path.realpath(scene.folder):
        one["editable"] = {"commit": None, "dirty": None, "own": True}
        return
    try:
        listing = list_code(folder, scene.environ)
    except (OSError, GitProblem) as problem:
        reasons.append(f"the source of {one['name']} could not be read: {problem}")
        return
    repository = listing.repository
    taken = [each for each in listing.taken if _is_code(each.path)]
    clean = _without_secrets(scene, folder, taken)
    if len(clean) < len(taken):
        reasons.append(f"{len(taken) - len(clean)} files of {one['name']} hold secrets, and are not taken")
    entries = [each.entry for each in clean]
    tree = scene.store.put_tree(os.fsencode(folder), entries, times=False, exact=MOST_BYTES)
    reasons += [f"{one['name']}: {spelled(each.path)}: {each.reason}" for each in tree.unread]
    one["editable"] = {
        "commit": repository.commit or None if repository is not None else None,
        "dirty": bool(listing.states) if repository is not None else None,
        "own": False,
        "tree": tree.id,
    }


def _without_secrets(scene: Scene, folder: str, taken: list[Taken]) -> list[Taken]:
    """Those that go in as they are."""
    name = blake3_of()(os.fsencode(folder)).hexdigest()[:16]
    path = os.path.join(scene.state, "cache", f"scanned-{name}.json")
    scanned = Scanned(path, os.fsencode(folder), scene.redactor)
    clean = [one for one in taken if one.link or scanned.secrets(one.path, one.facts) is None]
    scanned.keep(sum([not one.link for one in taken]))
    return clean


_ASIDE = (b"tests/", b"test/", b"docs/", b"doc/", b"examples/", b"benchmarks/")
"""Folders of a source tree that no import reaches."""


def _is_code(path: bytes) -> bool:
    return not path.startswith(_ASIDE) and path.endswith(
        (b".py", b".pyi", b".toml", b".cfg", b".c", b".cu", b".cpp", b".h", b".cuh")
    )


def _content(scene: Scene, folders: list[str]) -> tuple[list[tuple[str, str]], int]:
    trees: list[tuple[str, str]] = []
    size = 0
    for at, folder in enumerate(folders):
        tree = scene.store.put_folder(os.fsencode(folder), skip=_compiled, times=False)
        trees.append((f"site-{at}", tree.id))
        size += tree.size_bytes
    return trees, size


def _compiled(path: bytes, is_folder: bool) -> bool:
    return path.rpartition(b"/")[2] == b"__pycache__" if is_folder else path.endswith(b".pyc")


def compare(pair: Pair) -> Iterator[Difference]:
    """The Python itself, then packages by name."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    yield from _python(pair.before.data["python"], pair.after.data["python"])
    for label in ("packages", "conda"):
        before = {one["name"]: one for one in pair.before.data[label]}
        after = {one["name"]: one for one in pair.after.data[label]}
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name) and name != _OURS:
                yield from _package(name, before.get(name), after.get(name))
                yield from _sources(pair, name)


def _python(before: Plain, after: Plain) -> Iterator[Difference]:
    for name in _PYTHON:
        if before[name] != after[name]:
            subject = "python" if name == "version" else f"python {name}"
            why = "another Python: order of sets, random numbers and compiled packages may differ"
            yield Difference(
                "dependencies",
                "changed",
                subject,
                str(before[name]),
                str(after[name]),
                80,
                why if name == "version" else "",
            )


def _package(name: str, before: Plain | None, after: Plain | None) -> Iterator[Difference]:
    kind = "added" if before is None else "removed" if after is None else "changed"
    one, two = _told(before), _told(after)
    weight, cause = cause_of(name)
    if before is not None and after is not None and before["version"] == after["version"]:
        one, two = f"{one}{_build(before)}", f"{two}{_build(after)}"
        if one == two:  # an installer's name, or a hash that only one of them knows
            return
        kind, weight = "rebuilt", max(weight - 5, 30)
        cause = cause or "the same version, but other files: another build, or edited in place"
    yield Difference("dependencies", kind, name, one, two, weight, cause)


def _sources(pair: Pair, name: str) -> Iterator[Difference]:
    """Lines that differ in the source tree of a package that is installed in place."""
    label = f"source-{name}"
    if label not in pair.before.trees or label not in pair.after.trees:
        return
    one, two = (side._replace(trees={"code": side.trees[label]}) for side in (pair.before, pair.after))
    for at, found in enumerate(files(Pair(one, two, pair.live))):
        if at == _MOST_SOURCES:
            return
        yield found._replace(section="dependencies", subject=f"{name}: {found.subject}", cause="")


def _told(one: Plain | None) -> str:
    if one is None:
        return ""
    return f"{one['version']} {one['build']}" if "build" in one else str(one["version"])


def _build(one: Plain) -> str:
    """What tells two builds of one version apart."""
    parts = []
    if one.get("record"):
        parts.append(f"record {one['record'][:12]}")
    if one.get("origin") not in (None, "index"):
        parts.append(one["origin"])
    if one.get("commit"):
        parts.append(f"@{one['commit'][:12]}")
    editable = one.get("editable")
    if editable:
        parts.append(f"@{(editable.get('commit') or 'no commit')[:12]}")
        parts.append(f"source {editable['tree'][:12]}" if editable.get("tree") else "")
    return f" ({' '.join(part for part in parts if part)})" if parts else ""


PART = Part("dependencies", "Python packages", 20, capture, compare)
