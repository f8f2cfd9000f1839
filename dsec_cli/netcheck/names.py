"""What this host's resolver makes of names: programs find each other by them."""

from __future__ import annotations

import socket
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 4
_WITHIN_S = 2.0


def resolve(names: Sequence[str], *, within_s: float = _WITHIN_S) -> dict[str, tuple[str, ...]]:
    """Addresses by name, none for one that is not known; a name without an answer in time is left out."""
    found: dict[str, tuple[str, ...]] = {}

    def ask(name: str) -> None:
        try:
            rows = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except socket.gaierror as problem:
            if problem.errno in (socket.EAI_NONAME, socket.EAI_NODATA):
                found[name] = ()
        except (OSError, UnicodeError):
            return
        else:
            found[name] = tuple(sorted({str(row[4][0]) for row in rows}))

    threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in list(names)[:_MOST]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(within_s)
    return dict(found)
