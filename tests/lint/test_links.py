"""A declared NVLink is judged by the links of the given machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dsec_cli.fast import run

TASKS = """\
tasks:
  - {name: one, timeout: 1h, script: python a.py, compute_unit: {gpu_type: rtx-3090}}
  - {name: two, timeout: 1h, script: python b.py, compute_unit: {gpu_type: %s}}
communication:
  - {from: one, to: two, protocol: nvlink-p2p}
"""


@pytest.mark.parametrize(
    ("gpus", "other", "said"),
    [
        ("[{type: rtx-3090, count: 2, nvlink: pairs, numa: 0}]", "rtx-3090", ""),
        ("[{type: rtx-3090, count: 2, numa: 0}]", "rtx-3090", "without NVLink: 2 x rtx-3090 (GPU 0,1)"),
        (
            "[{type: rtx-3090, count: 2, nvlink: pairs, numa: 0}, {type: a6000, count: 2, nvlink: pairs}]",
            "a6000",
            "link-group-0: 2 x rtx-3090 (GPU 0,1); link-group-1: 2 x a6000 (GPU 2,3)",
        ),
        ("[{type: rtx-3090, count: 2}]", "rtx-3090", ""),  # it is not known how they are linked
        ("[{type: rtx-3090, count: 2, numa: 0}]", "a6000", ""),  # another rule says that it is not there
    ],
)
def test_links_of_the_inventory_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], gpus: str, other: str, said: str
) -> None:
    (tmp_path / "tasks.yaml").write_text(TASKS % other)
    (tmp_path / "box.yaml").write_text(f"gpus: {gpus}\n")
    run(
        "ds-contract-lint",
        ["--select", "DS509", "--inventory", str(tmp_path / "box.yaml"), str(tmp_path / "tasks.yaml")],
    )
    shown = " ".join(capsys.readouterr().out.split())
    assert ("error[DS509]" in shown) is bool(said)
    assert said in shown
