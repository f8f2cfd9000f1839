"""What the run reads: dependencies with their hashes as they were found, and data that `--data` names."""

from __future__ import annotations

import json
import os

from dsec.containment import read_beneath
from dsec.errors import FileProblem
from dsec.store import Entry
from dsec.words import say
from dsec_cli.snapshot import inodes
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, judged
from dsec_cli.snapshot.spelling import Repositories, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store import Tree
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Pair, Scene

_WHY = "other data"
_BESIDE = ("file", "links", "attributes", "files")
MOST_FILES = 10_000
"""Of a folder with more, it is not said which file changed."""
_TOLD = 20


def capture(scene: Scene) -> Captured:
    """Take down what the run found of its dependencies, and hash or take in what is named."""
    found, reasons = _dependencies(scene)
    named: list[Plain] = []
    trees: list[tuple[str, str]] = []
    size = 0
    for spec in scene.wanted.data:
        path, _, how = spec.rpartition(":") if spec.endswith((":hash", ":content")) else (spec, "", "hash")
        files: dict[str, str] = {}
        digest: str | None = None
        try:
            digest = scene.hashes.of(os.path.join(scene.folder, path), files)
        except FileProblem as problem:
            reasons.append(str(problem.what))
        named.append({"path": path, "hash": digest})
        if digest is None:
            if not os.path.exists(os.path.join(scene.folder, path)):
                continue
            named[-1]["there"] = True
        if 0 < len(files) <= MOST_FILES and how != "content":
            named[-1]["files"] = {spelled(os.fsencode(name)): one[:16] for name, one in files.items()}
        if how == "content":
            tree, beside, told = _content(scene, path)
            reasons += told
            named[-1] = {**named[-1], **beside}
            trees.append((f"data-{len(named) - 1}", tree.id))
            size += tree.size_bytes
    if not found and not named and not reasons:
        return absent("the contract states no dependencies, and no --data was named")
    return judged(reasons, {"dependencies": found, "named": named}, trees=tuple(trees), size=size)


def _content(scene: Scene, path: str) -> tuple[Tree, Plain, list[str]]:
    """The tree of what is there, what is known beside it, and what is not in it."""
    full, without = os.path.join(scene.folder, path), Repositories()
    if os.path.isdir(full):
        root, base = os.fsencode(full), ""
        tree = scene.store.put_folder(root, skip=without.skips)
    else:
        folder, base = os.path.split(os.path.abspath(full))
        root = os.fsencode(folder)
        tree = scene.store.put_tree(root, [Entry(os.fsencode(base))])
    seen = inodes.look(root, scene.store.tree(tree.id))
    unread = [f"{path}: {spelled(one.path)}: {one.reason}" for one in tree.unread]
    return tree, {"file": bool(base), **seen.document()}, unread + seen.reasons + without.reasons(path)


def _dependencies(scene: Scene) -> tuple[list[Plain], list[str]]:
    """What the run's dependency check wrote; addresses lose their credentials."""
    if scene.run is None:
        return [], []
    try:
        rows = json.loads(read_beneath(scene.run.path, "dependencies.json"))["dependencies"]
    except FileNotFoundError:
        return [], []
    except (OSError, ValueError, KeyError, TypeError):
        return [], ["the run's dependencies.json could not be read"]
    found = []
    for row in rows:
        stated = row.get("dependency", {})
        source, hidden = scene.redactor.url(str(stated.get("source", "")))
        scene.redactions.extend((f"dependency {stated.get('name')}", one) for one in hidden)
        found.append(
            {
                "name": stated.get("name"),
                "version": stated.get("version"),
                "source": source,
                "hash": stated.get("hash") or None,
                "verdict": row.get("verdict"),
            }
        )
    return found, []


def compare(pair: Pair) -> Iterator[Difference]:
    """By name and by path."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    for label, key in (("dependencies", "name"), ("named", "path")):
        before = {one[key]: one for one in pair.before.data[label]}
        after = {one[key]: one for one in pair.after.data[label]}
        for name in sorted({*before, *after}):
            one, two = before.get(name), after.get(name)
            if _essence(one) != _essence(two) and not (pair.live and two is None):
                kind = "added" if one is None else "removed" if two is None else "changed"
                yield Difference("data", kind, str(name), _told(one), _told(two), 93, _WHY)
                yield from _files(
                    str(name), (one or {}).get("files"), (two or {}).get("files"), {*before, *after}
                )
            elif label == "named" and one and one.get("there") and not one["hash"]:
                why = say("it could not be hashed: whether it changed is unknown")
                yield Difference("data", "unknown", str(name), why, why, 1)
    if not pair.live and pair.before.store is pair.after.store:
        yield from _taken(pair)


def _taken(pair: Pair) -> Iterator[Difference]:
    """Files of folders that both sides took in as a whole."""
    trees = [
        {
            row["path"]: side.trees[f"data-{at}"]
            for at, row in enumerate(side.data["named"])
            if f"data-{at}" in side.trees and not row.get("file")
        }
        for side in (pair.before, pair.after)
    ]
    for path in sorted(trees[0].keys() & trees[1].keys()):
        for change in pair.before.store.diff(trees[0][path], trees[1][path]):
            if change.content_differs and "dir" not in {one.kind for one in change[1:] if one is not None}:
                kind = "added" if change.before is None else "removed" if change.after is None else "changed"
                was, now = (f"{one.size} bytes" if one else "" for one in (change.before, change.after))
                yield Difference("data", kind, f"{path}/{spelled(change.path)}", was, now, 93, _WHY)


def _files(path: str, before: Plain, after: Plain, told: set[str]) -> Iterator[Difference]:
    """Which files of a folder differ, where both sides know them; those `told` have a line of their own."""
    if not before or not after:
        return
    names = [
        name
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name) and f"{path}/{name}" not in told
    ]
    for name in names[:_TOLD]:
        kind = "added" if name not in before else "removed" if name not in after else "changed"
        yield Difference("data", kind, f"{path}/{name}", before.get(name, ""), after.get(name, ""), 93, _WHY)
    if len(names) > _TOLD:
        yield Difference(
            "data", "changed", path, "", say("and {count} more files", count=len(names) - _TOLD), 93, _WHY
        )


def _essence(one: Plain | None) -> Plain:
    """What counts of a row: how its content is kept does not."""
    return one and {key: value for key, value in one.items() if key not in _BESIDE}


def _told(one: Plain | None) -> str:
    if one is None:
        return ""
    digest = str(one["hash"] or "no hash")[:24]
    return f"{one['version']} {digest}" if one.get("version") else digest


PART = Part("data", "data and dependencies", 80, capture, compare)
