"""The command behind `mend:` is taken as it stands, and what it was said of is gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dsec_cli.netcheck.text import GRAVITY
from tests.cli.conftest import command
from tests.netcheck import labs

SCRIPT = Path(__file__).with_name("mending.py")


@pytest.fixture(autouse=True)
def lab() -> None:
    if why := labs.missing("nft"):
        pytest.skip(why)


Said = list[dict[str, str]]


def mended(fault: str, aspect: str, probes: str, numbers: str) -> tuple[Said, Said, str]:
    """What is said before and after the commands of one aspect, and their text; `fault` may name several."""
    script = [sys.executable, str(SCRIPT), aspect, probes, numbers]
    done = subprocess.run(
        command("dsec", "netcheck", "lab", *(f"--fault={one}" for one in fault.split()), "--", *script),
        capture_output=True,
        text=True,
        timeout=120,
        env=labs.ENVIRON,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return said["before"], said["after"], said["wrong"]["mend"]


def states(statements: Said) -> dict[str, str]:
    """Of all aspects, the gravest of each."""
    found: dict[str, str] = {}
    for one in sorted(statements, key=lambda one: GRAVITY.index(one["state"]), reverse=True):
        found[one["aspect"]] = one["state"]
    return found


@pytest.mark.parametrize(
    ("fault", "aspect", "probes", "numbers"),
    [
        ("router-mtu-silent=1400", "mtu", "sizes", "0,1"),
        pytest.param("here-rate=5Mbps", "rate", "stream", "0,1", marks=pytest.mark.battery),
        pytest.param("peer-window=4096", "tcp", "bulk", "0", marks=pytest.mark.battery),
        pytest.param("peer-mtu=1400", "mtu", "sizes", "0", marks=pytest.mark.battery),
        pytest.param("peer-mtu=1400", "mtu", "sizes", "1", marks=pytest.mark.battery),
        pytest.param("here-mtu=1400", "mtu", "sizes", "0", marks=pytest.mark.battery),
        pytest.param("here-mtu=1400", "mtu", "sizes", "1", marks=pytest.mark.battery),
        pytest.param("router-mtu=1400", "mtu", "sizes", "0,1", marks=pytest.mark.battery),
        pytest.param("here-buffer=4096 delay=5", "tcp", "bulk", "0", marks=pytest.mark.battery),
    ],
)
def test_a_mend_mends(fault: str, aspect: str, probes: str, numbers: str) -> None:
    _, after, mend = mended(fault, aspect, probes, numbers)
    assert mend
    assert aspect in states(after)
    assert mend not in {one["mend"] for one in after}  # others may come where the machine is busy


@pytest.mark.battery
def test_one_shorter_end_is_enough_for_tcp_in_a_black_hole() -> None:
    """Datagrams of the other end still vanish, which is said."""
    said = mended("router-mtu-silent=1400", "mtu", "sizes,bulk", "0")[:2]
    before, after = (states(one) for one in said)
    assert (before["tcp"], before["mtu"]) == ("problem", "problem")
    assert (after["tcp"], after["mtu"]) == ("ok", "problem")
