"""The command line that the snapshot belongs to, without secrets."""

from __future__ import annotations

import os

from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.section import Pair, Scene


def capture(scene: Scene) -> Captured:
    """Take the words down."""
    if scene.argv is None:
        return absent("taken by hand, not by a run")
    words, found = scene.redactor.argv(scene.argv)
    scene.redactions.extend(("command line", one) for one in found)
    return present({"argv": [os.path.basename(words[0]), *words[1:]] if words else []})


def compare(pair: Pair) -> Iterator[Difference]:
    """Whether it is the same."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    one, two = (" ".join(side.data["argv"]) for side in (pair.before, pair.after))
    if one != two:
        yield Difference("command", "changed", "command line", one, two, 25)


PART = Part("command", "command line", 40, capture, compare)
