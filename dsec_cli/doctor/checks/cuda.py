"""CUDA of the driver against the CUDA libraries that are installed for this Python.

Which driver a CUDA release needs is NVIDIA's table "CUDA Toolkit and Corresponding Driver Versions" (CUDA
release notes): within a major version any driver of its first release is enough for what was compiled
ahead of time ("minor version compatibility"); code that is compiled when it runs (PTX) needs the row itself.
"""

from __future__ import annotations

from importlib.metadata import distributions

from dsec_cli.doctor.check import ABSENT, ERROR, NOTE, Answer, Check, fine, problem
from dsec_cli.doctor.checks.driver import version
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.doctor.host import Host

WANTED = 12010
"""What the contracts' language counts on: 12.1."""
DRIVERS: dict[int, str] = {
    11000: "450.36.06", 11010: "455.23", 11020: "460.27.03", 11030: "465.19.01", 11040: "470.42.01",
    11050: "495.29.05", 11060: "510.39.01", 11070: "515.43.04", 11080: "520.61.05", 12000: "525.60.13",
    12010: "530.30.02", 12020: "535.54.03", 12030: "545.23.06", 12040: "550.54.14", 12050: "555.42.02",
    12060: "560.28.03", 12080: "570.26", 12090: "575.51.03", 13000: "580.65.06",
}  # fmt: skip
_PACKAGES = ("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu11", "nvidia-cuda-runtime-cu12", "cuda-python")


def look(host: Host) -> Answer:
    """The driver's CUDA, and what was installed for it."""
    gpus = host.gpus()
    if gpus.code or gpus.cuda is None:
        return Answer(ABSENT, (say("no CUDA driver can be asked: see driver"),))
    here = gpus.cuda
    if here < WANTED:
        return problem(
            say(
                "the driver speaks CUDA {here}, DSec counts on {wanted}", here=text(here), wanted=text(WANTED)
            ),
            mend=say("install driver {least} or newer", least=DRIVERS[WANTED]),
            severity=ERROR,
        )
    found = list(_installed())
    lines = [say("{name} is for CUDA {cuda}", name=name, cuda=text(cuda)) for name, cuda in found]
    newer = [(name, cuda) for name, cuda in found if cuda // 1000 > here // 1000]
    if newer:
        least = DRIVERS.get(newer[0][1] // 1000 * 1000, "?")
        return problem(
            say(
                "{name} needs CUDA {cuda}, the driver has {here}",
                name=newer[0][0],
                cuda=text(newer[0][1]),
                here=text(here),
            ),
            *lines,
            mend=say(
                "install driver {least} or newer, or a build for CUDA {major}",
                least=least,
                major=here // 1000,
            ),
            severity=ERROR,
        )
    if any(cuda > here for _, cuda in found):
        return Answer(
            NOTE,
            (
                say(
                    "the driver's CUDA {here} is older than a library's: what is compiled at run time fails",
                    here=text(here),
                ),
                *lines,
            ),
            say("install driver {least} or newer", least=_driver_for(max(cuda for _, cuda in found))),
        )
    if gpus.driver and version(gpus.driver) < version(_driver_for(here)):
        lines.append(say("the driver has CUDA {here} by a compatibility package", here=text(here)))
    return fine(say("the driver speaks CUDA {here}", here=text(here)), *lines)


def text(cuda: int) -> str:
    """12010 as people write it."""
    return f"{cuda // 1000}.{cuda % 1000 // 10}"


def _driver_for(cuda: int) -> str:
    return next((driver for number, driver in sorted(DRIVERS.items()) if number >= cuda), "580.65.06")


def _installed() -> Iterator[tuple[str, int]]:
    """CUDA packages of this Python, by the version that they bring; torch by what it was built for."""
    for one in distributions():
        name = (one.metadata["Name"] or "").lower()
        if name in _PACKAGES:
            numbers = version(one.version)
            if len(numbers) >= 2:
                yield name, numbers[0] * 1000 + numbers[1] * 10
        elif name == "torch" and "+cu" in one.version:
            digits = one.version.rpartition("+cu")[2]
            if digits.isdecimal() and len(digits) >= 3:
                yield name, int(digits[:-1]) * 1000 + int(digits[-1]) * 10


CHECK = Check("cuda", look, budget_s=10.0, of_gpus=True)
