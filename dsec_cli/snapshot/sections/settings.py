"""DSec itself: its version and the user's settings, without secrets."""

from __future__ import annotations

import os

from dsec import __version__
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.section import Pair, Scene

_MOST = 1 << 20


def capture(scene: Scene) -> Captured:
    """Read the settings file, if there is one."""
    path = os.path.join(scene.environ.get("HOME") or os.path.expanduser("~"), ".ds", "config.yaml")
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_MOST)
    except OSError:
        text = ""
    clean, found = scene.redactor.text(text)
    scene.redactions.extend(("settings", one) for one in found)
    return present({"dsec": __version__, "settings": clean})


def compare(pair: Pair) -> Iterator[Difference]:
    """The version and the text."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    one, two = pair.before.data, pair.after.data
    if one["dsec"] != two["dsec"]:
        yield Difference("settings", "changed", "dsec", one["dsec"], two["dsec"], 15)
    if one["settings"] != two["settings"]:
        yield Difference("settings", "changed", "~/.ds/config.yaml", "", "", 2)


PART = Part("settings", "settings of DSec", 95, capture, compare)
