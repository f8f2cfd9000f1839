"""`dsec sim-gpu` as people use it: boxes, scenarios, rules, and the command that sees them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import ROOT, Machine

from dsec.cards import card, total_bytes
from dsec.devices.described import DRIVER_MIB
from dsec.devices.profiles import names, profile
from dsec.simgpu import scenario
from dsec.simgpu.building import NAME, NoCompilerError, age, library
from dsec.simgpu.rules import GPU_KEYS, MACHINE_KEYS, ScenarioProblem, check, rule, wrong

DSEC = (sys.executable, "-c", "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())")


@pytest.fixture(scope="session")
def cache(nvml_library: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache that holds the library already, so that no test builds it again."""
    folder = tmp_path_factory.mktemp("cache")
    for old in (0, 1):
        built = nvml_library(old)
        os.makedirs(folder / "sim-gpu", exist_ok=True)
        os.symlink(built, folder / "sim-gpu" / os.path.basename(built))
    return str(folder)


@pytest.fixture
def sim(cache: str, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "DSEC_CACHE_DIR": cache, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", **more}
        return subprocess.run(
            [*DSEC, "sim-gpu", *args],
            env=environ,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


INVENTORY = ("--", *DSEC, "inventory", "--json")


@pytest.mark.battery
def test_a_box_of_eight(sim: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = sim("--profile", "8xh100", *INVENTORY)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert [device["type"] for device in found["devices"]] == ["h100-sxm-80gb"] * 8
    assert re.fullmatch(r"dsec sim-gpu: the rules in \S+/scenario.txt are read again .*\n", done.stderr)
    path = re.search(r"\S+/scenario.txt", done.stderr)
    assert path is not None
    assert not os.path.exists(os.path.dirname(path[0]))


@pytest.mark.parametrize(("count", "box"), [(0, "0xh100"), (64, "64xl4"), (1, "1xgb10")])
def test_boxes_of_any_size(
    sim: Callable[..., subprocess.CompletedProcess[str]], count: int, box: str
) -> None:
    done = sim("-q", "--profile", box, *INVENTORY)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["devices"]) == count


@pytest.mark.parametrize("name", sorted(scenario.READY))
def test_ready_made_scenarios(sim: Callable[..., subprocess.CompletedProcess[str]], name: str) -> None:
    done = sim("-q", "--scenario", name, "--profile", "2xh100", *INVENTORY)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    expected = {"mig": 4, "mismatch": 0, "no-driver": 0, "no-gpu": 0, "no-permission": 0}
    assert len(found["devices"]) == expected.get(name, 2)
    words = {
        "gb10": "shares the host's memory",
        "mismatch": "differ in version",
        "no-driver": "not loaded",
        "no-gpu": "has no GPU",
        "no-permission": "no permission",
    }
    assert words.get(name, "") in " ".join(found["notes"])


def test_every_file_of_rules_is_named() -> None:
    assert {path.stem for path in Path(scenario.path_of("lost")).parent.iterdir()} == set(scenario.READY)


def test_rules_of_the_command_line_come_last(sim: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = sim("-q", "--scenario", "no-gpu", "--set", "count=3", "--set", "gpu=1,lost", *INVENTORY)
    assert [device["health"] for device in json.loads(done.stdout)["devices"]] == ["ok", "lost", "ok"]


def test_a_file_of_rules_may_change_meanwhile(
    sim: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    rules = tmp_path / "my rules.txt"
    rules.write_text("count 1\n")
    code = """if True:
        import sys
        from dsec.devices import nvml
        print(len(nvml.read().devices))
        with open(sys.argv[1], "a") as file:
            file.write("count 5\\n")
        print(len(nvml.read().devices))
    """
    done = sim("-q", "--scenario", str(rules), "--", sys.executable, "-c", code, str(rules))
    assert done.stdout.split() == ["1", "5"], done.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--set", "gpu=3,lsot", "--", "true"), "did you mean lost?"),
        (("--set", "lost", "--", "true"), "of a GPU"),
        (("--set", "gpu=1,count=2", "--", "true"), "of the machine"),
        (("--set", "gpu=1,total=big", "--", "true"), "no value of total"),
        (("--set", "count=129", "--", "true"), "no value of count"),
        (("--set", "a b", "--", "true"), "no rule"),
        (("--set", "gpu=1,lost@soon", "--", "true"), "is no rule"),
        (("--profile", "2xl4", "--set", "gpu=2,lost@1m", "--", "true"), "the box has no GPU 2"),
        (("--profile", "9xfoo", "--", "true"), "8xh100-sxm-80gb"),
        (("--profile", "65xl4", "--", "true"), "up to 64"),
        (("--scenario", "nowhere", "--", "true"), "no-driver"),
        ((), "which command"),
    ],
)
def test_what_is_asked_wrongly(
    sim: Callable[..., subprocess.CompletedProcess[str]], args: tuple[str, ...], words: str
) -> None:
    done = sim(*args)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert done.stdout == ""


def test_a_wrong_file_is_told_with_its_line(
    sim: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "rules").write_text("# mine\ncount 1\ngpu 0 colour 3\n")
    done = sim("--scenario", "rules", "--", "true")
    assert done.returncode == 3
    assert "rules:3: there is no rule colour" in done.stderr


def test_the_commands_end_is_passed_on(sim: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    assert sim("-q", "--", "sh", "-c", "exit 7").returncode == 7
    assert sim("-q", "--", "sh", "-c", "kill -9 $$").returncode == 137
    missing = sim("-q", "--", "no-such-program")
    assert (missing.returncode, missing.stderr.count("\n")) == (127, 1)


def test_a_stop_reaches_the_command(cache: str) -> None:
    environ = {**os.environ, "DSEC_CACHE_DIR": cache, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
    code = (
        "import signal, sys; signal.signal(15, lambda *_: sys.exit(5)); print(1, flush=True); signal.pause()"
    )
    child = subprocess.Popen(
        [*DSEC, "sim-gpu", "-q", "--", sys.executable, "-c", code],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "1\n"
    child.send_signal(signal.SIGTERM)
    assert child.wait(timeout=20) == 5
    child.stdout.close()


def test_masks_of_the_caller_do_not_hide_what_is_simulated(
    sim: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = sim("-q", *INVENTORY, CUDA_VISIBLE_DEVICES="0")
    assert len(json.loads(done.stdout)["devices"]) == 8


def test_without_a_compiler_it_says_so(
    sim: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    done = sim("--", "true", DSEC_CACHE_DIR=str(tmp_path / "empty"), CC="no-such-cc")
    assert done.returncode == 3
    assert "need a C compiler, and there is no no-such-cc" in done.stderr
    assert "gcc" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_compiler_that_fails_is_told(tmp_path: Path) -> None:
    for name, text in (("bad", "echo 'x.c:1: error: no headers' >&2; exit 1"), ("mute", "exit 1")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        with pytest.raises(NoCompilerError, match="no headers" if name == "bad" else "could not build"):
            library(str(tmp_path / "cache"), {"CC": str(program), "PATH": os.environ["PATH"]})
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_the_library_is_built_once(nvml_library: Callable[..., str], tmp_path: Path) -> None:
    folder = nvml_library()
    before = os.stat(os.path.join(folder, NAME)).st_mtime_ns
    assert library(os.path.dirname(folder), {"PATH": ""}) == folder
    assert os.stat(os.path.join(folder, NAME)).st_mtime_ns == before


@pytest.mark.battery
def test_the_library_has_no_warnings(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    from dsec.simgpu.building import SOURCES

    sources = sorted(map(str, Path(SOURCES).glob("*.c")))
    flags = ["-std=c11", "-D_GNU_SOURCE", "-fPIC", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    for old in (0, 1, 2):
        subprocess.run([compiler, *flags, f"-DOLD_DRIVER={old}", *sources], check=True, cwd=tmp_path)


@pytest.mark.parametrize(
    ("driver", "old"), [("550.54.14", 0), ("535.104.05", 0), ("470.57", 1), ("440", 2), ("", 0)]
)
def test_ages_of_drivers(driver: str, old: int) -> None:
    assert age(driver) == old


BOXES = """
import json, sys
from dsec.codec import encode
from dsec.devices import nvml
for path in sys.argv[2:]:
    with open(path) as file, open(sys.argv[1], "w") as there:
        there.write(file.read())
    print(json.dumps(encode(nvml.read())["devices"]))
"""


def test_a_simulated_box_is_the_built_in_one(machine: Machine, tmp_path: Path) -> None:
    """Types, memory and links read through the bindings are those of the inventory."""
    paths = []
    for number, name in enumerate(names()):
        path = tmp_path / f"{name}.txt"
        path.write_text(scenario.of_box(profile(f"builtin:{name}")) + "# \n" * number)  # each of its own size
        paths.append(str(path))
    machine.rules("count 0\n")
    printed = machine.python(BOXES, str(machine.path), *paths).splitlines()
    assert len(printed) == len(names())
    for name, line in zip(names(), printed, strict=True):
        wanted, found = profile(f"builtin:{name}").devices, json.loads(line)
        row = card(wanted[0].type)
        assert row is not None
        assert [device["type"] for device in found] == [device.type for device in wanted], name
        assert {device["memory_bytes"] for device in found} == {total_bytes(row) - DRIVER_MIB * 2**20}, name
        places = {device.uuid: at for at, device in enumerate(wanted)}
        uuids = [device["uuid"] for device in found]
        for one, other in zip(found, wanted, strict=True):
            links = {uuids[places[uuid]]: link for uuid, link in other.links}
            assert dict(map(tuple, one["links"])) == links, name


@given(st.text(max_size=60))
def test_any_text_is_a_rule_or_is_told(text: str) -> None:
    try:
        line = rule(text)
    except ScenarioProblem as problem:
        line = ""
        told = problem.what
    else:
        told = ""
    assert wrong(line) == ""
    assert "\n" not in told
    assert bool(line) != bool(told)


@given(st.text(max_size=80))
def test_any_line_is_judged(text: str) -> None:
    told = "rules:"
    try:
        check(text, "rules")
    except ScenarioProblem as problem:
        told = problem.what
    assert told.startswith("rules:")


def test_keys_are_those_that_the_library_asks_for() -> None:
    from dsec.simgpu.building import SOURCES

    text = "".join(path.read_text() for path in Path(SOURCES).glob("*.[ch]"))
    asked = set(re.findall(r"(?:sim_scalar|sim_number|sim_find|sim_count|sim_nth)\([^\"\n]*\"(\w+)\"", text))
    asked |= set(re.findall(r"^(?:SCALAR|SCALAR_OF|PAIR)\(\w+, \"(\w+)\"\)", text, re.MULTILINE))
    asked |= {"include", "start", "error", "pid", "graphics_pid", "mps_pid"}
    asked |= set(re.findall(r"\{\d+, \"(\w+)\", \d+\}", text))
    missing = asked - set(GPU_KEYS) - set(MACHINE_KEYS)
    assert missing == set()
    unread = {key for key in (*GPU_KEYS, *MACHINE_KEYS) if f'"{key}' not in text}
    assert unread == set()
