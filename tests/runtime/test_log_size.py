"""A log that grows without end keeps its beginning and its newest lines; logs can be searched."""

from __future__ import annotations

import os
import random
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec import holes

MIB = 1 << 20


def full(path: Path, size: int) -> bytes:
    data = random.Random(size).randbytes(size)
    path.write_bytes(data)
    os.sync()
    return data


@pytest.fixture(scope="module", autouse=True)
def able(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("able") / "f"
    full(path, 4 * holes.BLOCK_BYTES)
    try:
        holes.punch(str(path), 0, 4 * holes.BLOCK_BYTES)
    except OSError as problem:
        pytest.skip(f"this file system gives nothing back: {problem}")


@settings(max_examples=40, deadline=None)
@given(blocks=st.integers(1, 12), begin=st.integers(0, 800_000), length=st.integers(0, 800_000))
def test_only_whole_blocks_between_two_offsets_are_taken_out(
    tmp_path_factory: pytest.TempPathFactory, blocks: int, begin: int, length: int
) -> None:
    path = tmp_path_factory.mktemp("holes") / "f"
    size = blocks * holes.BLOCK_BYTES + 100
    before = full(path, size)
    holes.punch(str(path), begin, begin + length)
    after = path.read_bytes()
    assert len(after) == size
    first = -(-begin // holes.BLOCK_BYTES) * holes.BLOCK_BYTES
    last = max(first, min(size, (begin + length) // holes.BLOCK_BYTES * holes.BLOCK_BYTES))
    assert after[:first] == before[:first]
    assert after[last:] == before[last:]
    assert not any(after[first:last])
    with open(path, "rb") as file:
        found = list(holes.parts(file.fileno(), 0, size))
    assert [part[0] for part in found[1:]] == [part[1] for part in found[:-1]]
    assert (found[0][0], found[-1][1]) == (0, size)
    assert sum(end - begin for begin, end, out in found if out) == max(0, min(last, size) - first)


def test_what_cannot_be_cut_is_said(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(OSError, match="link"):
        holes.punch(str(tmp_path / "link"), 0, MIB)


CHATTY = """
import os, sys
for at in range(40_000):
    print(f"line {at:08}", "x" * 100)
    if at == 39_000:
        sys.stdout.flush()
        while not os.path.exists("go"): __import__("time").sleep(0.05)
"""


@pytest.mark.battery
def test_the_middle_goes_the_first_and_the_newest_lines_stay(job: Any, kit: SimpleNamespace) -> None:
    job.env["DSEC_AUDIT_S"] = "0.1"
    step = kit.step("A", argv=(sys.executable, "-c", CHATTY), env=(("DSEC_LOG_MAX", "1MiB"),))
    job.save(kit.plan(step, kit.step("B", shell="echo nothing is wrong with 00000007", env=())))
    process = job.start("run", "plan.json", "--job-id", "j")
    (notice,) = kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("notice"))
    (job.folder / "go").touch()
    out = process.communicate(timeout=60)[0].decode()
    assert process.returncode == 0, out
    assert (notice["kind"], notice["step"]) == ("log", "A")
    detail = r"logs/A@0\.1\.log is over 1 MiB: 3\.\d MiB of its middle were given back so far, "
    assert re.fullmatch(detail + "the first 128 KiB and the newest 512 KiB are kept", notice["detail"])
    assert "its middle were given back" in " ".join(job.dsec("report", "j").split())
    log = job.run_dir / "logs" / "A@0.1.log"
    assert log.stat().st_size > 4 * MIB
    assert holes.on_disk(str(log)) <= 1.2 * MIB
    shown = job.dsec("logs", "j", "A")
    assert shown.startswith("line 00000000 xxx")
    assert shown.splitlines()[-1].startswith("line 00039999 ")
    assert re.search(
        r"\n\[3\.\d MiB are missing here: they were given back to the disk, DSEC_LOG_MAX\]\n", shown
    )
    assert "\0" not in shown
    assert len(shown) < MIB
    found = job.dsec("logs", "j", "--grep", "0000(0007|9999)|0003999[89]", stderr=None).splitlines()
    assert [line.split(" x")[0] for line in found] == [
        "A@0.1:line 00000007",
        "A@0.1:line 00039998",
        "A@0.1:line 00039999",
        "B@0.1:nothing is wrong with 00000007",
    ]


def test_lines_are_searched(job: Any, kit: SimpleNamespace) -> None:
    step = kit.step("A", shell="printf 'loss 0.5\\nloss nan\\n[x]\\nend nan'")
    job.run(kit.plan(step))
    assert job.dsec("logs", "j", "--grep", "nan$") == "loss nan\nend nan\n"
    assert job.dsec("logs", "j", "-g", r"\[x", "-f") == "[x]\n"
    assert job.dsec("logs", "j", "--grep", "nowhere", expect=1) == ""
    refused = job.dsec("logs", "j", "--grep", "[x", expect=2)
    assert "--grep [x: no regular expression" in refused
    assert "Traceback" not in refused


def test_a_size_that_is_none_is_said(job: Any, kit: SimpleNamespace) -> None:
    job.env["DSEC_AUDIT_S"] = "0.1"
    shell = "head -c 1500000 /dev/zero | tr '\\0' y; until [ -e go ]; do sleep 0.05; done"
    job.save(kit.plan(kit.step("A", shell=shell, env=(("DSEC_LOG_MAX", "much"),))))
    process = job.start("run", "plan.json", "--job-id", "j")
    (notice,) = kit.wait_for(lambda: (job.run_dir / "journal").exists() and job.events("notice"))
    (job.folder / "go").touch()
    process.communicate(timeout=60)
    assert notice["detail"] == "DSEC_LOG_MAX 'much' is no size such as 256MiB: 1 GiB it is"
