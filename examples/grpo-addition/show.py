"""Draw the reward curve of a run in the terminal.

    python show.py [RUN]

RUN is a run's folder or its work folder; without it, the newest run beside this file.
"""

from __future__ import annotations

import io
import json
import math
import os
import sys
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
HEIGHT, COLUMNS = 8, 72
EIGHTHS = " ▁▂▃▄▅▆▇█"


def bars(values: list[float], *, width: int) -> list[str]:
    """Return rows of a bar chart over 0 to 1, top row first; each value is `width` columns wide."""
    rows = []
    for row in reversed(range(HEIGHT)):
        cells = (max(0, min(8, round((value * HEIGHT - row) * 8))) for value in values)
        rows.append("".join((EIGHTHS[cell] * max(1, width - 1)).ljust(width) for cell in cells))
    return rows


def chart(points: list[tuple[int, float]]) -> str:
    """Return the chart of (iteration, value) with its axes."""
    step = -(-len(points) // COLUMNS)
    points = points[::step]
    width = 3 if len(points) * 3 <= COLUMNS else 1
    lines = []
    for number, row in enumerate(bars([value for _, value in points], width=width)):
        label = f"{1 - number / HEIGHT:4.2f}" if number % 2 == 0 else "    "
        lines.append(f"{label} ┤{row}".rstrip())
    lines.append(f"0.00 ┼{'─' * (width * len(points))}")
    every = 6 // width
    ticks = "".join(f"{i:<6d}" for i, _ in points[::every])
    lines.append(f"      {ticks.rstrip()}  iteration")
    return "\n".join(lines)


def summary(lines: list[dict[str, Any]]) -> str:
    """Return the chart of the mean reward and the last figures."""
    first, last = lines[0], lines[-1]
    # A diverged run has "nan" here; the chart shows it as an empty column.
    points = [(line["iteration"], float(line["reward_mean"])) for line in lines]
    drawn = [(i, value if math.isfinite(value) else 0.0) for i, value in points]
    return "\n".join(
        (
            "mean reward",
            chart(drawn),
            f"reward {float(first['reward_mean']):.2f} -> {float(last['reward_mean']):.2f}, "
            f"{round(100 * last['exact_match'])} of 100 sums right, "
            f"entropy {float(last['entropy']):.2f}, KL {float(last['kl']):.3f}",
        )
    )


def newest_run() -> str | None:
    """Return the work folder written last."""
    runs = os.path.join(os.environ.get("DSEC_HOME", os.path.join(HERE, ".dsec")), "runs")
    names = os.listdir(runs) if os.path.isdir(runs) else []
    files = [os.path.join(runs, name, "work", "metrics.jsonl") for name in names]
    found = [file for file in files if os.path.exists(file)]
    return os.path.dirname(max(found, key=os.path.getmtime)) if found else None


def main(argv: list[str]) -> int:
    """Print the chart and the policy's hash."""
    folder = argv[0] if argv else newest_run()
    if folder and os.path.isdir(os.path.join(folder, "work")):
        folder = os.path.join(folder, "work")
    if not folder or not os.path.exists(os.path.join(folder, "metrics.jsonl")):
        print(f"show.py: no metrics.jsonl in {folder or 'any run here'}", file=sys.stderr)
        return 3
    with open(os.path.join(folder, "metrics.jsonl"), encoding="utf-8") as source:
        print(summary([json.loads(line) for line in source]))
    with open(os.path.join(folder, "policy.sha256"), encoding="utf-8") as source:
        print(f"policy {source.read().split()[0]}")
    return 0


if __name__ == "__main__":
    # Pipes and minimal images may say ASCII; block characters beat a traceback.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    sys.exit(main(sys.argv[1:]))
