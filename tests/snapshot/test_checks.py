"""The last reports of dsec doctor and ds-netcheck in a snapshot."""

from __future__ import annotations

import json

import pytest

from .shell import Shell


@pytest.mark.battery
def test_what_the_machine_was_fit_for_is_in_the_snapshot(shell: Shell) -> None:
    assert "checks        absent: dsec doctor has not been run" in shell.ok("snapshot create --name none")
    state = shell.project / ".dsec"
    (state / "netcheck").mkdir()
    for at, said in ((9, "old"), (10, "ok")):
        report = {"verdicts": [{"flow": "a to b", "state": said}]}
        (state / "netcheck" / f"{at}-aa.json").write_text(json.dumps(report))
    assert "checks        partial" in shell.ok("snapshot create --name half")
    (state / "doctor.json").write_text(json.dumps({"checks": [{"name": "disk", "status": "ok"}]}))
    shell.ok("snapshot create --name one")
    assert "checks        present" in shell.ok("snapshot inspect one")
    (state / "doctor.json").write_text(json.dumps({"checks": [{"name": "disk", "status": "problem"}]}))
    (state / "netcheck" / "11-aa.json").write_text(
        json.dumps({"verdicts": [{"flow": "a to b", "state": "problem"}]})
    )
    shell.ok("snapshot create --name two")
    text = shell.ok("snapshot diff one two --only checks", 1)
    assert "doctor disk  ok -> problem" in text
    assert "netcheck a to b  ok -> problem" in text
    (state / "doctor.json").write_text("[")
    (state / "netcheck" / "12-aa.json").write_text("{")
    assert "checks        absent" in shell.ok("snapshot create --name damaged")


def test_doctor_leaves_its_report_beside_runs(shell: Shell) -> None:
    shell("doctor --only hugepages")
    assert not (shell.project / ".dsec" / "doctor.json").exists()
    (shell.project / ".dsec").mkdir(exist_ok=True)
    shell("doctor")
    held = json.loads((shell.project / ".dsec" / "doctor.json").read_bytes())
    assert {"disk", "landlock"} <= {one["name"] for one in held["checks"]}
