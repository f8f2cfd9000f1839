"""`dsec simulate` as a user meets it: what it prints, writes and refuses, and the same in any process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dsec_cli.cells import cells
from dsec_cli.dag.view import Bar, Run, held_permille
from dsec_cli.exit import UsageError
from dsec_cli.fast import run
from dsec_cli.options import COMMANDS
from dsec_cli.simulation.fleetfile import KEYS

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/simulate"
PATHS = [str(ROOT), str(ROOT / "runtime"), *(path for path in sys.path if path.endswith("site-packages"))]
CONTRACT = """\
version: "1.0.0"
name: job
baseline: {gpu: {count: 2, memory: 40Gi, type: a100-sxm-80gb}, cpu: 8, memory: 64Gi}
elasticity: {gpu: {min_count: 2, max_count: 4}}
fault_tolerance: {level: pauseable, checkpoint_grace_period: 30s, resume_strategy: step_resume}
dependencies: []
iterations: {count: 4, max_staleness: 1, carried: [{from: update, to: roll}]}
steps:
  - {id: roll, run: "true", timeout: 1h, expected_duration: 90s, resources: {gpu: {count: 2}, cpu: 4}}
  - {id: score, run: "true", timeout: 1h, expected_duration: 30s, needs: [roll], resources: {cpu: 8}}
  - {id: update, run: "true", timeout: 1h, expected_duration: 2m, needs: [score], resources: {gpu: {count: 2}}}
"""  # noqa: E501  # a table
FLEET = """\
name: small
seed: 3
servers:
  - {name: box, inventory: builtin:4xl40s, count: 2}
  - {name: own, inventory: own.yaml}
agents:
  - name: learner
    count: 12
    arrive: {within: 20m}
    rounds: 2
    checkpoint: 30s
    steps:
      - {id: act, takes: {cpu: 4, memory: 8Gi}, lasts: {from: 30s, to: 2m}}
      - {id: learn, needs: [act], takes: {gpu: 1, type: l40s}, lasts: {median: 3m, spread: 1.5}}
  - {name: sweep, count: 30, level: discardable, takes: {gpu: 1, gpu_memory: 20Gi}, lasts: {mean: 4m}}
  - {name: judge, count: 2, level: critical, arrive: {at: 5m, every: 2m}, takes: {gpu: 2}, lasts: 3m}
  - {name: tune, count: 3, level: elastic, takes: {gpu: 2}, gpus: {min: 1, max: 4}, lasts: 6m}
faults: ["gpu-lost:box1/2@6m", "slow:own/0x0.5@2m+5m"]
assume: {detect: 2s, restore: 8s, preempt: true}
prices: {l40s: 1.20, other: 0.90}
"""
OWN = "name: own\ncpu: 16\nmemory: 64Gi\ngpus: [{type: rtx-4090, count: 2}]\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "dsandbox.yaml").write_text(CONTRACT)
    (tmp_path / "fleet.yaml").write_text(FLEET)
    (tmp_path / "own.yaml").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulate(*argv):
    return run("dsec", ["simulate", *argv])


BOX = ("--inventory", "builtin:8xa100-sxm-80gb")
CASES = {
    "contract.txt": ("dsandbox.yaml", *BOX, "--price", "2.50"),
    "contract-faults.txt": (
        "dsandbox.yaml", *BOX, "--iterations", "9", "--fault", "gpu-lost:0@2m",
        "--fault", "node-lost:machine@8m30s+1m", "--fault", "straggler:scorex3@10s",
        "--detect", "1s", "--restore", "5s",
    ),
    "contract.json": ("dsandbox.yaml", *BOX, "--iterations", "1", "--json"),
    "fleet.txt": ("fleet.yaml",),
    "fleet-agent.txt": ("fleet.yaml", "--hold", "agent", "--seed", "4"),
    "fleet-zh.txt": ("fleet.yaml", "--lang", "zh"),
    "fleet.json": ("fleet.yaml", "--json"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES))
def test_golden_output(folder, capfd, name):
    assert simulate(*CASES[name]) == 0
    found = capfd.readouterr().out
    golden = GOLDEN / name
    if os.environ.get("DSEC_BLESS"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found)
    assert found == golden.read_text(), "DSEC_BLESS=1 rewrites"
    if name.endswith(".txt"):
        assert max(map(cells, found.splitlines())) <= 80


@pytest.mark.battery
def test_the_same_bytes_in_any_process(folder):
    script = "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())"
    texts = []
    for seed in ("0", "1"):
        environ = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "PYTHONHASHSEED": seed}
        told = subprocess.run(
            [sys.executable, "-c", script, "simulate", "fleet.yaml", "--json", "--trace", "trace.json"],
            env=environ,
            capture_output=True,
            check=True,
            timeout=120,
        )
        texts.append(told.stdout + (folder / "trace.json").read_bytes())
    assert texts[0] == texts[1]


def test_the_plan_s_makespan_is_what_the_plan_states(folder, capfd):
    assert run("dsec", ["plan", "dsandbox.yaml", *BOX, "-o", "plan.json"]) == 0
    stated = json.loads((folder / "plan.json").read_text())["analysis"]["makespan_ms"]
    capfd.readouterr()
    assert simulate("plan.json", "--iterations", "1", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["makespan_ms"], found["planned_ms"]) == (stated, stated)


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (["gpu-lost:0@9h"], "fault gpu-lost:0@9h: it never came, for all ended at"),
        ([f"gpu-lost:{at}@30s" for at in range(8)], "1 Step hit, and it never ran again"),
    ],
)
def test_a_fault_that_comes_too_late_or_ends_a_step_for_good(folder, capfd, faults, said):
    argv = [word for fault in faults for word in ("--fault", fault)]
    assert simulate("dsandbox.yaml", *BOX, "--iterations", "1", *argv) in (0, 1)
    assert said in capfd.readouterr().out


def test_tokens_belong_to_the_job_wherever_it_is_played(folder, capfd):
    text = CONTRACT.replace("steps:", "tokens: {seat: 1}\nsteps:", 1)
    text = text.replace("resources: {", "resources: {tokens: {seat: 1}, ")
    assert text.count("seat: 1}") > 2
    (folder / "dsandbox.yaml").write_text(text)
    assert simulate("dsandbox.yaml", *BOX, "--json") == 0
    here = capfd.readouterr().out
    assert run("dsec", ["plan", "dsandbox.yaml", *BOX, "-o", "plan.json"]) == 0
    capfd.readouterr()
    assert simulate("plan.json", *BOX, "--json") == 0
    assert capfd.readouterr().out == here


def test_a_plan_is_simulated_on_another_machine(folder, capfd):
    text = CONTRACT.replace("type: a100-sxm-80gb", 'type: ">=a100"')
    (folder / "dsandbox.yaml").write_text(text)
    assert run("dsec", ["plan", "dsandbox.yaml", *BOX, "-o", "plan.json"]) == 0
    capfd.readouterr()
    spans = []
    for machine in ("8xa100-sxm-80gb", "8xh100-sxm-80gb"):
        assert simulate("plan.json", "--inventory", f"builtin:{machine}", "--json") == 0
        spans.append(json.loads(capfd.readouterr().out)["makespan_ms"])
    assert spans[1] < spans[0], "its devices are quicker"


def test_the_trace_has_every_attempt_and_every_fault(folder, capfd):
    assert simulate("fleet.yaml", "--trace", "trace.json", "--json") == 0
    counted = json.loads(capfd.readouterr().out)["attempts"]
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "i" for event in events) == 2
    bars = {(event["args"]["step"], event["args"]["attempt"]) for event in events if event["ph"] == "X"}
    assert len(bars) == counted
    names = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names == {"simulated box1", "simulated box2", "simulated own"}


def test_that_nothing_is_assumed_is_said(folder, capfd):
    assert simulate("dsandbox.yaml", *BOX, "--fault", "gpu-lost:GPU-0@1m") == 0
    assert "noticing and restoring are taken to need no time" in capfd.readouterr().out


def test_what_never_starts_is_an_answer_of_no(folder, capfd):
    faults = [f"gpu-lost:{at}@1s" for at in range(7)]
    argv = [word for one in faults for word in ("--fault", one)]
    assert simulate("dsandbox.yaml", *BOX, *argv) == 1
    out = capfd.readouterr().out
    assert "Steps were never done" in out
    assert "never ran again" in out
    assert "never done           " in out


WRONG = {
    "servers: [{inventory: builtin:4xl40s}]\nagents: []\n": (1, "DS104", "agents is empty", 1),
    "servers: 3\nagents: {}\n": (1, "DS104", "this must be a list", 1),
    "sevrers: []\nservers: []\nagents: []\n": (1, "DS101", "unknown key 'sevrers' in the fleet", 1),
    "servers: []\n  - x\nagents: []\n": (1, "DS002", "", 2),
    FLEET.replace("takes: {gpu: 2}, gpus", "takes: {gpu: 5}, gpus"): (
        1,
        "DS210",
        "no server can ever have it",
        17,
    ),
    FLEET.replace("seed: 3", "seed: three"): (1, "DS104", "this must be a whole number", 2),
    FLEET.replace("lasts: 3m", "lasts: 3"): (1, "DS106", "no unit", 16),
    FLEET.replace("4xl40s", "4xl40z"): (1, "DS105", "no built-in inventory", 4),
    FLEET.replace("needs: [act]", "needs: [akt]"): (1, "DS501", "called 'akt'", 14),
    FLEET.replace("level: critical", "level: vital"): (1, "DS105", "'vital' is not known here", 16),
    FLEET.replace("name: judge", "name: tune"): (1, "DS502", "are called 'tune'", 1),
    FLEET.replace("{min: 1, max: 4}", "{min: 3, max: 4}"): (1, "DS202", "not from 3 to 4", 17),
    FLEET.replace("count: 30", "count: 99999999"): (1, "DS104", "from 1 to 100000", 15),
    FLEET.replace("{median: 3m, spread: 1.5}", "{median: 3m}"): (1, "DS104", "make no distribution", 14),
    FLEET.replace("prices: {l40s: 1.20", "prices: {l40x: 1.20"): (1, "DS105", "no GPU type", 20),
    FLEET.replace("name: small\n", "name: small\nname: twice\n"): (1, "DS003", "", 2),
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_fleet_is_told_with_its_place(folder, capfd, text):
    code, lint, words, line = WRONG[text]
    (folder / "fleet.yaml").write_text(text)
    assert simulate("fleet.yaml") == code
    err = capfd.readouterr().err
    assert lint in err
    assert words in err
    assert f"fleet.yaml:{line}:" in err
    assert "Traceback" not in err


def test_all_that_is_wrong_is_told_at_once(folder, capfd):
    text = FLEET.replace("level: critical", "level: vital").replace("seed: 3", "sead: 3")
    (folder / "fleet.yaml").write_text(text.replace("lasts: 3m", "lasts: 3 minutes"))
    assert simulate("fleet.yaml") == 1
    assert "3 errors" in capfd.readouterr().err


USAGE = {
    ("dsandbox.yaml", *BOX, "--fault", "gpu-gone:3@1m"): "is no fault",
    ("dsandbox.yaml", *BOX, "--fault", "gpu-lost:3"): "lacks @TIME",
    ("dsandbox.yaml", *BOX, "--fault", "gpu-lost:9@1m"): "there is no GPU '9'",
    ("dsandbox.yaml", *BOX, "--fault", "gpu-lost:3@soon"): "does not start with a number",
    ("dsandbox.yaml", *BOX, "--fault", "slow:3x2@1m"): "the factor must be between 0 and 1",
    ("dsandbox.yaml", *BOX, "--fault", f"slow:3x{'1' * 5000}@1m"): "the factor has more than 18 digits",
    ("dsandbox.yaml", *BOX, "--fault", "straggler:nobody@1m"): "there is no Step 'nobody'",
    ("dsandbox.yaml", *BOX, "--fault", "node-lost:other@1m"): "there is no server 'other'",
    ("dsandbox.yaml", *BOX, "--price", "cheap"): "neither AMOUNT nor TYPE=AMOUNT",
    ("dsandbox.yaml", *BOX, "--detect", "5"): "--detect 5",
    ("dsandbox.yaml", *BOX, "--iterations", "0"): "from 1 to 1000000",
    ("dsandbox.yaml", *BOX, "--seed", "3"): "is for fleets",
    ("fleet.yaml", "--iterations", "3"): "is for contracts and plans",
    ("-",): "needs a file",
}


@pytest.mark.parametrize("argv", USAGE, ids=[" ".join(one[-2:])[:60] for one in USAGE])
def test_what_is_asked_wrongly(folder, argv):
    from dsec_cli.exit import UsageError

    with pytest.raises(UsageError) as told:
        simulate(*argv)
    assert USAGE[argv] in str(told.value)


def test_a_contract_with_errors_has_no_simulation(folder, capfd):
    (folder / "dsandbox.yaml").write_text(CONTRACT.replace("needs: [roll]", "needs: [rol]"))
    assert simulate("dsandbox.yaml", *BOX) == 1
    assert "DS501" in capfd.readouterr().err


def test_the_page_of_the_command_and_of_fleets_name_every_key():
    assert any(row[0] == "simulate" for row in COMMANDS)
    page = (ROOT / "docs/how-to/simulate.md").read_text()
    assert all(f"`{key}`" in page for key in KEYS)


def test_a_node_of_several_loses_its_devices(folder, capfd):
    (folder / "two.yaml").write_text(
        "machines:\n"
        "  - {name: a, cpu: 32, memory: 128Gi, gpus: [{type: a100-sxm-80gb, count: 4}]}\n"
        "  - {name: b, cpu: 32, memory: 128Gi, gpus: [{type: a100-sxm-80gb, count: 4}]}\n"
    )
    argv = ("dsandbox.yaml", "--inventory", "two.yaml", "--fault", "node-lost:a@1m", "--json")
    assert simulate(*argv) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["faults"][0]["hit"] == 1
    late = [one for one in found["attempt"] if one["from_ms"] >= 60_000]
    assert late
    assert {uuid.rpartition("-")[2] for one in late for uuid in one["devices"]} <= {"4", "5", "6", "7"}


def page_data(path):
    """What the page's script is given."""
    text = path.read_text()
    start = text.index(">", text.index('id="data"')) + 1
    return json.loads(text[start : text.index("</script>", start)])


def test_the_page_shows_the_graph_as_planned_and_as_played(folder, capfd):
    assert simulate("dsandbox.yaml", *BOX, "--fault", "gpu-lost:0@1m", "--html", "sim.html", "--json") == 0
    found = json.loads(capfd.readouterr().out)
    data = page_data(folder / "sim.html")
    run = data["run"]
    assert (run["simulated"], run["outcome"], run["span"]) == (True, "done", found["makespan_ms"])
    assert data["iterations"] == 4
    assert [row["text"] for row in run["account"]["remarks"]] == ["gpu-lost:0@1m: 1 Step hit"]
    assert sorted(bar[6] for bar in run["bars"]) == ["gpu-lost", *["ok"] * 12]
    listed = [[one["step"], one["from_ms"], one["to_ms"], one["devices"]] for one in found["attempt"]]
    ids = [step["id"] for step in data["steps"]]
    assert sorted([ids[at], *rest] for at, *rest in (bar[:4] for bar in run["bars"])) == sorted(listed)
    roll = data["steps"][ids.index("roll")]["run"]
    assert (roll["state"], roll["done"], roll["attempts"], roll["failures"]) == ("done", 4, 5, 1)
    assert roll["median_ms"] == 90_000
    assert data["steps"][ids.index("score")]["run"]["gpu_ms"] is None


def test_what_is_never_done_is_told_on_the_page(folder):
    assert simulate("dsandbox.yaml", *BOX, "--fault", "node-lost:machine@2m", "--html", "x.html") == 1
    data = page_data(folder / "x.html")
    assert data["run"]["outcome"] == "not all done"
    assert ["simulation", "not all done", True] in data["figures"]


def test_a_fleet_has_no_page(folder):
    with pytest.raises(UsageError, match="a fleet has none"):
        simulate("fleet.yaml", "--html", "x.html")
    assert not (folder / "x.html").exists()


def test_a_device_that_is_shared_is_held_once():
    bars = [
        Bar("a", 0, 1, 0, 6, ("x",), "ok"),
        Bar("b", 0, 1, 2, 8, ("x", "y"), "ok"),
        Bar("c", 0, 1, 9, None, ("x",), "running"),
    ]
    run = Run("j", "running", {}, tuple(bars), 10, (("x", "GPU 0"), ("y", "GPU 1")))
    assert held_permille(run) == 750  # 8 + 1 of x, 6 of y
    assert held_permille(run._replace(devices=())) is None


def test_a_plan_may_be_larger_than_what_is_read_of_a_contract(folder, capfd, monkeypatch):
    assert run("dsec", ["plan", "dsandbox.yaml", *BOX, "-o", "plan.json"]) == 0
    monkeypatch.setenv("DSEC_MAX_NODES", "10")
    capfd.readouterr()
    assert simulate("plan.json") == 0
    assert "12 Steps done" in capfd.readouterr().out


def test_what_is_asked_wrongly_is_told_before_the_contract_is_looked_at(folder):
    (folder / "dsandbox.yaml").write_text("steps: 5")
    with pytest.raises(UsageError, match="from 1 to 1000000"):
        simulate("dsandbox.yaml", "--iterations", "0")


def test_a_gpu_is_named_by_its_index_in_the_hint(folder):
    with pytest.raises(UsageError) as refused:
        simulate("dsandbox.yaml", *BOX, "--fault", "gpu-lost:9@1m")
    assert refused.value.hint == "there are 0, 1, 2, 3, 4, 5, 6, 7"
