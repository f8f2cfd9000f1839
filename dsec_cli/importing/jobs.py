"""What one Slurm job asks for, in a contract's quantities."""

from __future__ import annotations

from dsec_cli.importing import slurmvalues
from dsec_cli.importing.cardnames import gpu_type
from dsec_cli.importing.draft import Gpu
from dsec_cli.importing.notes import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from dsec_cli.importing.notes import Notes
    from dsec_cli.importing.sbatch import Option

    T = TypeVar("T")

_CLUSTER = "belongs to the cluster; a plan places Steps by what they need"
_PRINTED = "what a Step prints is kept by the run"
WHY = {
    "partition": _CLUSTER,
    "account": _CLUSTER,
    "qos": _CLUSTER,
    "constraint": _CLUSTER,
    "nodelist": _CLUSTER,
    "exclude": _CLUSTER,
    "clusters": _CLUSTER,
    "reservation": _CLUSTER,
    "licenses": _CLUSTER,
    "distribution": "how tasks are spread over nodes is Slurm's",
    "output": _PRINTED,
    "error": _PRINTED,
    "input": "a Step reads no standard input",
    "open-mode": _PRINTED,
    "mail-type": "nobody is sent mail",
    "mail-user": "nobody is sent mail",
    "exclusive": "devices are given to one Step alone, processors are not",
    "begin": "a run begins when it is started",
    "deadline": "a run begins when it is started",
    "signal": "a Step is sent SIGTERM, checkpoint_grace_period before SIGKILL",
    "nice": "Steps are ordered by what waits for them",
    "priority": "Steps are ordered by what waits for them",
    "comment": "a note of the user",
    "hint": "placement on cores is the system's",
    "export-file": "a Step gets the variables that its contract names",
    "get-user-env": "a Step gets the variables that its contract names",
    "hold": "a run begins when it is started",
}
QUIET = frozenset(("parsable", "quiet", "verbose", "no-requeue", "wait", "kill-on-invalid-dep"))


class Wants:
    """The options of one job; each is taken, and told where it is not understood."""

    def __init__(self, options: Mapping[str, Option], notes: Notes) -> None:
        self._open = dict(options)
        self._notes = notes

    def text(self, name: str) -> str:
        """The value of an option, "" where it is not given."""
        option = self._open.pop(name, None)
        return "" if option is None else option.value

    def value(self, name: str, read: Callable[[str], T | None], why: str) -> T | None:
        """The value read; what cannot be read is told with `why`."""
        option = self._open.pop(name, None)
        if option is None:
            return None
        found = read(option.value)
        if found is None:
            self.left(option, why)
        return found

    def whole(self, name: str) -> int | None:
        """A number of things; `2-4` (a range) counts as its most."""
        return self.value(name, _whole, "a whole number is expected")

    def left(self, option: Option, why: str) -> None:
        """Tell that an option, or a part of it, is not mapped."""
        shown = f"--{option.name}={option.value[:LONGEST]}" if option.value else f"--{option.name}"
        self._notes.left(option.source, option.span, shown, why)

    def open(self, option: Option, why: str) -> None:
        """The same for what the run cannot do without."""
        self._notes.open(option.source, option.span, f"--{option.name}={option.value}", why)

    def given(self, name: str) -> Option | None:
        """The option itself; it stays to be taken."""
        return self._open.get(name)

    def gpus(self, nodes: int, tasks: int) -> Gpu | None:
        """GPUs of all nodes together."""
        gres = self.given("gres")
        found = None
        if gres is not None:
            self._open.pop("gres")
            found, others = slurmvalues.gres(gres.value)
            for other in others:
                self.left(gres._replace(value=other), "a contract knows one type of GPU a Step, and no other")
            found = None if found is None else found._replace(count=found.count * nodes)
        for name, times in (("gpus", 1), ("gpus-per-node", nodes), ("gpus-per-task", tasks)):
            option = self.given(name)
            one = self.value(name, slurmvalues.gpus, "TYPE:NUMBER is expected")
            if one is not None and found is None:
                found, gres = one._replace(count=one.count * times), option
        if found is None or gres is None or not found.count:
            return None
        named = gpu_type(found.type, gres.source, gres.span, self._notes) if found.type else ""
        if not named:
            self.left(gres, "no GPU type: write one, it is never guessed")
        return Gpu(found.count, named)

    def close(self) -> None:
        """Tell every option that was not taken."""
        for name, option in self._open.items():
            if name not in QUIET:
                self.left(option, WHY.get(name, "a contract has no such thing"))
        self._open.clear()


def _whole(text: str) -> int | None:
    number = text.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 7 else None
