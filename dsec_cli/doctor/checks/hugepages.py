"""Huge pages: large tables of pages cost a training process several per cent."""

from __future__ import annotations

from dsec_cli.doctor.check import NOTE, UNKNOWN, Answer, Check, as_root, fine
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_FOLDER = "sys/kernel/mm/transparent_hugepage"


def look(host: Host) -> Answer:
    """What the kernel does by itself."""
    enabled = chosen(host.text(f"{_FOLDER}/enabled"))
    if not enabled:
        return Answer(UNKNOWN, (say("the kernel does not say whether it uses huge pages (no /sys)"),))
    if enabled == "never":
        return Answer(
            NOTE,
            (say("transparent huge pages are off"),),
            f"echo madvise | {as_root('tee /sys/kernel/mm/transparent_hugepage/enabled')}",
        )
    defrag = chosen(host.text(f"{_FOLDER}/defrag"))
    if defrag == "always":
        return Answer(
            NOTE,
            (
                say(
                    "transparent huge pages: {enabled}; memory is put in order while a program waits",
                    enabled=enabled,
                ),
            ),
            f"echo defer+madvise | {as_root('tee /sys/kernel/mm/transparent_hugepage/defrag')}",
        )
    return fine(say("transparent huge pages: {enabled}", enabled=enabled))


def chosen(text: str | None) -> str:
    """The word in brackets."""
    return (text or "").partition("[")[2].partition("]")[0]


CHECK = Check("hugepages", look)
