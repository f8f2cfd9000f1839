"""Parts of DSec that are installed only where they are wanted."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, requires, version

from dsec_cli.doctor.check import UNKNOWN, Answer, Check, fine
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host


def look(_host: Host) -> Answer:
    """By the package's own list."""
    try:
        wanted = requires("dsec") or []
    except PackageNotFoundError:
        return Answer(UNKNOWN, (say("DSec is not installed as a package: nothing is known of its extras"),))
    extras: dict[str, list[str]] = {}
    for line in wanted:
        need, _, marker = line.partition(";")
        if "extra ==" in marker:
            extra = marker.partition("extra ==")[2].strip(" '\"")
            extras.setdefault(extra, []).append(need.strip())
    here = sorted(extra for extra, needs in extras.items() if all(map(_there, needs)))
    away = sorted(set(extras) - set(here))
    lines = (
        [say("not installed: {names} (pip install 'dsec[{first}]')", names=", ".join(away), first=away[0])]
        if away
        else []
    )
    return fine(say("extras: {names}", names=", ".join(here) or "-"), *lines)


def _there(need: str) -> bool:
    name = need
    for at, char in enumerate(need):
        if not (char.isalnum() or char in "-_."):
            name = need[:at]
            break
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


CHECK = Check("extras", look)
