"""PYTHONDONTWRITEBYTECODE: every Step that starts Python compiles all of it again."""

from __future__ import annotations

from dsec_cli.doctor.check import NOTE, Answer, Check, fine
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.doctor.host import Host

_VARIABLE = "PYTHONDONTWRITEBYTECODE"


def look(host: Host) -> Answer:
    """As Steps inherit it."""
    if host.environ.get(_VARIABLE):
        text = say("{name} is set: Python compiles what it imports at every start", name=_VARIABLE)
        return Answer(NOTE, (text,), f"unset {_VARIABLE}")
    return fine(say("Python keeps what it has compiled"))


CHECK = Check("bytecode", look, words=("python",))
