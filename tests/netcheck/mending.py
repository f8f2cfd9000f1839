"""Within a lab: measure, carry out the commands that the report names as a user would, and measure again.

`python mending.py ASPECT PROBES NUMBERS`; prints the statements before and after as JSON. NUMBERS are those
of the commands between backquotes of the aspect's first problem or note, from 0; one of a host goes before
one of the path, which may be there to make it felt.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = "from dsec_cli.fast import netcheck; netcheck()"
COMMAND = re.compile(r"`([^`]+)`(?: on (here|b|both))?")


def statements(probes: str) -> list[dict[str, Any]]:
    """All that a report says."""
    words = ["run", "--peers", "b=10.77.2.1", "--flow", "here:b:64KiB@40/s", "--rate", "20Mbps"]
    words += [
        "--duration",
        "3s" if "bulk" in probes else "400ms",
        "--probes",
        probes,
        "-q",
        "--no-history",
        "--format",
        "json",
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        line = [sys.executable, "-c", PROGRAM, *words, "-o", str(path)]
        subprocess.run(line, cwd=folder, check=False)
        (verdict,) = json.loads(path.read_text())["verdicts"]
    found: list[dict[str, Any]] = verdict["statements"]
    return found


def carry_out(text: str, numbers: list[int]) -> None:
    """The commands of a mend, each on the host behind it."""
    found = COMMAND.findall(text)
    for number in numbers:
        command, where = found[number]
        if where in ("here", "both", ""):
            subprocess.run(["sh", "-ec", command], check=True, stdout=subprocess.DEVNULL)
        if where in ("b", "both"):
            line = ["ip", "netns", "exec", "b", "sh", "-ec", command]
            subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    """Before, mend, after."""
    aspect, probes, numbers = sys.argv[1:4]
    before = statements(probes)
    told = [one for one in before if one["aspect"] == aspect and one["state"] in ("problem", "note")]
    wrong = min(told, key=lambda one: one["cause"] == "path")
    carry_out(wrong["mend"], [int(word) for word in numbers.split(",")])
    print(json.dumps({"wrong": wrong, "before": before, "after": statements(probes)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
