"""What the last checks of the machine and of the network said: `dsec doctor`, `ds-netcheck`.

Neither is run for a snapshot: both take time, and the network's needs other hosts. Their last reports lie
in the state folder.
"""

from __future__ import annotations

import json
import os

from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, partial, present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Pair, Scene

_MOST = 4 << 20
_NO_DOCTOR = "dsec doctor has not been run beside these runs"
_NO_NETCHECK = "ds-netcheck keeps no report here"


def capture(scene: Scene) -> Captured:
    """Take the reports in that are there."""
    doctor = _read(scene, os.path.join(scene.state, "doctor.json"))
    network = _read(scene, _newest(os.path.join(scene.state, "netcheck")))
    missing = [why for why, report in ((_NO_DOCTOR, doctor), (_NO_NETCHECK, network)) if report is None]
    if len(missing) == 2:
        return absent("; ".join(missing))
    data = {"doctor": doctor, "netcheck": network}
    return partial(missing[0], data) if missing else present(data)


def _newest(folder: str) -> str:
    """The last report that was kept: names begin with its time in seconds."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
    except OSError:
        return ""
    timed = [(int(name.partition("-")[0]), name) for name in names if name.partition("-")[0].isdecimal()]
    return os.path.join(folder, max(timed)[1]) if timed else ""


def _read(scene: Scene, path: str) -> Plain:
    try:
        with open(path, "rb") as file:
            text, found = scene.redactor.text(file.read(_MOST).decode("utf-8", "replace"))
        report = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return None
    scene.redactions.extend(("checks", one) for one in found)
    return report if isinstance(report, dict) else None


def compare(pair: Pair) -> Iterator[Difference]:
    """Checks whose answer is another one, and flows whose verdict is."""
    if ABSENT in (pair.before.status, pair.after.status) or pair.live:
        return
    for what, rows, name, state in (
        ("doctor", "checks", "name", "status"),
        ("netcheck", "verdicts", "flow", "state"),
    ):
        one, two = (_answers(side.data.get(what), rows, name, state) for side in (pair.before, pair.after))
        for key in sorted(one.keys() & two.keys()):
            if one[key] != two[key]:
                yield Difference("checks", "changed", f"{what} {key}", one[key], two[key], 20)


def _answers(report: Plain, rows: str, name: str, state: str) -> dict[str, str]:
    held = report.get(rows) if isinstance(report, dict) else None
    found = [row for row in held if isinstance(row, dict)] if isinstance(held, list) else []
    return {str(row.get(name)): str(row.get(state)) for row in found}


PART = Part("checks", "last checks of the machine and the network", 82, capture, compare)
