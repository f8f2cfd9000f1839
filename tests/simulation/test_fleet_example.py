"""The shipped fleet: its page shows what it prints, to the digit, and what the page claims holds."""

from pathlib import Path

import pytest

from dsec.core.simulation import simulate
from dsec_cli.commands.outlook import outlook
from dsec_cli.fast import run
from dsec_cli.simulation.faults import faults_of
from dsec_cli.simulation.scenes import of_fleet
from dsec_cli.simulation.values import Fleet

FOLDER = Path(__file__).resolve().parents[2] / "examples/fleet-sim"


@pytest.mark.battery
def test_the_page_shows_what_the_fleet_prints(monkeypatch, capfd):
    monkeypatch.chdir(FOLDER)
    assert run("dsec", ["simulate", "fleet.yaml"]) == 0
    printed = capfd.readouterr().out.splitlines()
    page = (FOLDER / "README.md").read_text().split("$ dsec simulate fleet.yaml\n")[1].split("```")[0]
    shown = [line for line in page.splitlines() if line.strip() and "..." not in line]
    assert shown
    assert [line for line in shown if line not in printed] == []


@pytest.fixture(scope="module")
def fleet():
    found = outlook(str(FOLDER / "fleet.yaml"), None)
    assert isinstance(found, Fleet)
    return found


def test_it_is_the_scenario_of_the_source_documents(fleet):
    assert sum(one.many for one in fleet.agents) == 2000
    assert [len(one.inventory.devices) for one in fleet.machines] == [8, 8, 8]
    assert {device.type for one in fleet.machines for device in one.inventory.devices} == {"a100-sxm-80gb"}
    assert {one.level for one in fleet.agents} == {"critical", "pauseable", "elastic", "discardable"}
    assert fleet.faults == ("gpu-lost:server2/5@1h",)


def test_every_agent_of_a_smaller_one_is_done_and_nothing_starves(fleet):
    few = fleet._replace(agents=tuple(one._replace(many=one.many // 20) for one in fleet.agents))
    scene = of_fleet(few)
    scene = scene._replace(faults=faults_of(few.faults, scene.work, few.machines))
    history = simulate(scene)
    assert not history.never
    assert sum(piece.cause == "ok" for piece in history.pieces) == len(scene.work.steps) - 100
