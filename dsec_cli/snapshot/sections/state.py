"""The files of the run itself: checkpoints, training states, outputs (`--full-state`)."""

from __future__ import annotations

import os

from dsec_cli.snapshot import inodes
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, judged
from dsec_cli.snapshot.spelling import Repositories, spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.section import Pair, Scene


def capture(scene: Scene) -> Captured:
    """Take in the run's work folder."""
    if not scene.wanted.full_state:
        return absent("not asked for (--full-state)")
    if scene.run is None:
        return absent("there is no run here")
    root = os.fsencode(scene.run.work)
    without = Repositories()
    tree = scene.store.put_folder(root, skip=without.skips)
    seen = inodes.look(root, scene.store.tree(tree.id))
    reasons = [f"{spelled(one.path)}: {one.reason}" for one in tree.unread] + seen.reasons
    reasons += without.reasons()
    data = {"files": tree.files, "bytes": tree.size_bytes, **seen.document()}
    return judged(reasons, data, trees=(("work", tree.id),), size=tree.size_bytes)


def compare(pair: Pair) -> Iterator[Difference]:
    """Files by content."""
    if ABSENT in (pair.before.status, pair.after.status) or pair.live:
        return
    if pair.before.store is not pair.after.store:
        return
    for change in pair.before.store.diff(pair.before.trees["work"], pair.after.trees["work"]):
        if change.content_differs:
            one, two = (f"{entry.size} bytes" if entry else "" for entry in (change.before, change.after))
            kind = "added" if not one else "removed" if not two else "changed"
            yield Difference("state", kind, spelled(change.path), one, two, 45)


PART = Part("state", "files of the run", 99, capture, compare)
