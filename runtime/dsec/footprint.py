"""Memory that processes together keep from others, shared pages counted once.

Adding up resident sizes counts what forked workers share as often as there are workers, and files
that the kernel could drop at once. The kernel's proportional shares do neither, but they cost it a
walk through all pages, so they are asked for only where the cheap sum is already too much.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_PARTS = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")


def footprint(pids: Iterable[int]) -> int | None:
    """Bytes that cannot be dropped (anonymous, shared memory, swapped); None: one cannot be asked."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/smaps_rollup", "rb", buffering=0) as file:
                text = file.read(16 * 1024)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        except OSError:
            return None
        total += parsed(text)
    return total


def parsed(text: bytes) -> int:
    """The same of one process's `smaps_rollup`."""
    found = 0
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] in _PARTS:
            found += int(words[1]) * 1024
    return found
