"""Importers: golden inputs of every kind, what lint says of the result, and any text at all."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec.devices.profiles import profile
from dsec.plan import Plan
from dsec_cli.commands.pipeline import prepare
from dsec_cli.diagnostics import Severity
from dsec_cli.importing.draft import Draft
from dsec_cli.importing.kind import Imported, ImportProblem, convert, kinds
from dsec_cli.importing.notes import Notes
from dsec_cli.importing.shellwords import MOST_OF_A_LINE
from dsec_cli.lint.linter import lint
from dsec_cli.options_import import KINDS
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "import"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "wf"
BY_NAME = {kind.name: kind for kind in kinds()}
CASES = sorted(path for path in GOLDEN.glob("*/*") if path.is_dir())
FIRST = ("submit.sh", "dvc.yaml", "task.yaml", "compose.yaml", "run.json")
EXPECTED = "expected.yaml"
STRUCTURE = {f"DS0{number:02}" for number in range(1, 12)} | {f"DS1{number:02}" for number in range(1, 10)}
"""What is wrong with the text or its keys: never, whatever was imported."""
LISTED = {
    "DS204": "no GPU type",
    "DS205": "not in the table of GPU types",
    "DS214": "",  # a chain of tasks on cards of several types
    "DS405": "",  # a mounted bucket: lint has the better words
    "DS510": "",  # a task that took no time
}
"""What lint may find in a golden contract, and the words of the list that say so as well."""


def _id(path: Path) -> str:
    return f"{path.parent.name}-{path.name}"


def read(case: Path) -> Imported:
    """Import a golden folder as the command would from within it."""
    kind = BY_NAME[case.parent.name]
    first = [case / name for name in FIRST if (case / name).exists()]
    files = first or sorted(path for path in case.iterdir() if path.name != EXPECTED)
    sources = tuple(SourceText.from_bytes(path.name, path.read_bytes()) for path in files)
    names = [name for name in kind.beside(sources[0]) if (case / name).is_file()]
    beside = {name: SourceText.from_bytes(name, (case / name).read_bytes()) for name in names}
    return convert(kind, sources, beside)


def linted(text: str):
    return lint(SourceText.from_bytes("dsandbox.yaml", text.encode()))


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_golden(case: Path) -> None:
    found = read(case).text
    path = case / EXPECTED
    if os.environ.get("DSEC_BLESS"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.battery
@pytest.mark.parametrize("case", CASES, ids=_id)
def test_lint_finds_nothing_that_is_not_listed(case: Path) -> None:
    found = read(case)
    whys = " ".join(one.why for one in found.left)
    unsettled = [one.line() for one in found.left if one.open]
    told = [one.message for one in linted(found.text) if one.code == "DS120"]
    assert len(told) == len(unsettled)
    assert all(line in " ".join(told) for line in unsettled)
    for one in linted(found.text):
        if one.severity is not Severity.INFO and one.code != "DS120":
            assert one.code in LISTED, f"{one.code} {one.message}"
            assert LISTED[one.code] in whys


def test_every_kind_has_several_goldens_and_stands_in_the_grammar() -> None:
    assert tuple(BY_NAME) == KINDS
    for name in BY_NAME:
        assert len([case for case in CASES if case.parent.name == name]) >= 2


def test_what_is_left_behind_has_its_place() -> None:
    found = read(GOLDEN / "compose" / "gpus")
    lines = [one.line() for one in found.left]
    assert any(line.startswith("compose.yaml:26:30: value of PASSWORD: a secret") for line in lines)
    assert "Vn9Rt4Kw8Pz1" not in found.text + " ".join(lines)


def test_a_secret_in_a_command_is_not_copied() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4
    text = f"run: |\n  curl -H 'Authorization: {token}' https://example.com\n"
    found = convert(BY_NAME["skypilot"], (SourceText.from_bytes("t.yaml", text.encode()),), {})
    assert token not in found.text
    assert any("GitHub token" in one.what for one in found.left)


OPEN = {
    "no command": ("compose", "services: {db: {image: redis}}", "the command is in the image"),
    "no number of GPUs": (
        "skypilot",
        'resources: {accelerators: "{H100:8, L4:8}"}\nrun: x',
        "NAME:NUMBER is expected",
    ),
    "options only": ("compose", "services: {a: {image: x, command: --server 1}}", "takes these options"),
    "a server": (
        "compose",
        "services: {a: {command: x}, b: {command: y, depends_on: [a]}}",
        "which a server never does",
    ),
    "built": ("compose", "services: {a: {build: ., command: x}}", "nothing is built"),
    "env file": ("compose", "services: {a: {command: x, env_file: .env}}", "variables of another file"),
    "a folder": ("compose", "services: {a: {command: x /data, volumes: ['./d:/data:ro']}}", "/data"),
    "a folder of env": (
        "compose",
        "services: {a: {command: x, environment: {D: /data/x}, volumes: [{source: d, target: /data}]}}",
        "/data",
    ),
    "all GPUs": ("compose", "services: {a: {command: x, gpus: all}}", "write the number"),
    "half a value": ("compose", "services: {a: {command: x, environment: {U: 'http://${H}/'}}}", "${H}"),
    "its own name": ("compose", "services: {a: {command: x, environment: {U: '${H}'}}}", "${H}"),
    "nodes": ("skypilot", "num_nodes: 2\nrun: x", "runs on one machine"),
    "rank": ("skypilot", "run: x $SKYPILOT_NODE_RANK", "only SkyPilot sets"),
    "argument": ("slurm", "#SBATCH -N1\nM=$1\nx $M", "an argument of the script"),
    "all arguments": ("slurm", '#SBATCH -N1\nx "$@"', "an argument of the script"),
    "srun behind ;": ("slurm", "#SBATCH -N1\ncd a 2>/dev/null; srun x", "starts tasks"),
    "srun in a loop": ("slurm", "#SBATCH -N1\nfor i in 1 2; do srun x $i & done", "starts tasks"),
    "srun behind &&": ("slurm", "#SBATCH -N1\na && A=1 time /usr/bin/srun x", "starts tasks"),
    "srun in a variable": ("slurm", '#SBATCH -N1\nRUN="srun -n 8"\n$RUN x', "starts tasks"),
    "scontrol inside": ("slurm", "#SBATCH -N1\nH=$(scontrol show hostnames | head -1)", "asks Slurm"),
    "squeue in a condition": ("slurm", "#SBATCH -N1\nif squeue -j 1; then x; fi", "asks Slurm"),
}


@pytest.mark.parametrize("name", OPEN)
def test_what_a_run_cannot_do_without_stops_lint_until_it_is_settled(name: str) -> None:
    kind, text, why = OPEN[name]
    found = convert(BY_NAME[kind], (SourceText("f", text.encode()),), {})
    assert why in " ".join(one.line() for one in found.left if one.open)
    assert "DS120" in {one.code for one in linted(found.text)}
    settled = "\n".join(line for line in found.text.splitlines() if "unsettled:" not in line)
    assert "DS120" not in {one.code for one in linted(settled)}


CLOSED = {
    "in quotes": ("slurm", "#SBATCH -N1\necho 'use srun' \"call srun\" # srun\nawk '{print $1}' f"),
    "own argument": ("slurm", "#SBATCH -N1\nf() { echo $1 ${X}; }\nf a\nx ${1:-8} ${2-a}"),
    "a value": ("compose", "services: {a: {command: x, environment: {K: '${K}'}}}"),
    "finished": (
        "compose",
        "services: {a: {command: x}, b: {command: y, depends_on: {a: {condition: "
        "service_completed_successfully}}}}",
    ),
    "default": ("compose", "services: {a: {command: 'x ${N:-4}', gpus: [{count: '${N:-2}'}]}}"),
}


@pytest.mark.parametrize("name", CLOSED)
def test_what_a_run_can_do_without_is_only_told(name: str) -> None:
    kind, text = CLOSED[name]
    found = convert(BY_NAME[kind], (SourceText("f", text.encode()),), {})
    assert [one.line() for one in found.left if one.open] == []


def test_variables_of_compose_are_never_written_as_letters() -> None:
    text = "services: {a: {command: 'x ${M} --n \"a b\"', environment: {K: '${K}', L: , N: '${N:-1}'}}}"
    found = convert(BY_NAME["compose"], (SourceText("f", text.encode()),), {}).text
    assert '{name: K, source: "env://K"}' in found
    assert '{name: L, source: "env://L"}' in found
    assert "N: 1" in found.replace('"', "")
    assert "x \"${M}\" --n 'a b'" in found.split("run: |")[1]
    assert "DS610" not in {one.code for one in linted(found)}


@pytest.mark.parametrize(
    ("accelerators", "gpu"),
    [
        ("{H200:8, H100:8}", '{count: 8, type: ">=h100"}'),
        ("{H100:8, H200:8}", '{count: 8, type: ">=h100"}'),
        ("[H100:2, H200:2]", '{count: 2, type: ">=h100"}'),
        ("{H100:4, H200:2}", "{count: 4, type: h100}"),
        ("{L4:1, H100:1}", "{count: 1, type: l4}"),
        ("{H200: 8}", "{count: 8, type: h200"),
        ("H200:8", "{count: 8, type: h200"),
    ],
)
def test_a_set_of_accelerators(accelerators: str, gpu: str) -> None:
    text = f"resources: {{accelerators: {accelerators}, disk_size: 256GB, memory: 64GB+}}\nrun: x"
    found = convert(BY_NAME["skypilot"], (SourceText("f", text.encode()),), {})
    assert gpu in found.text
    assert "disk: 256Gi" in found.text
    assert "memory: 64Gi" in found.text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("dvc", "stages: 3"),
        ("dvc", "- a"),
        ("dvc", ""),
        ("compose", "services: {}"),
        ("compose", "a: [1"),
        ("skypilot", "name: x"),
        ("slurm", "echo nothing of Slurm"),
        ("wfcommons", "{}"),
        ("wfcommons", '{"workflow": {"specification": {"tasks": []}}}'),
        ("wfcommons", "[" * 500),
        ("slurm", "#SBATCH -J a\0b\n"),
        ("skypilot", 'run: "a\\0b"\n'),
    ],
)
def test_what_is_not_of_the_kind_is_one_line(kind: str, text: str) -> None:
    with pytest.raises(ImportProblem) as told:
        convert(BY_NAME[kind], (SourceText.from_bytes("f", text.encode()),), {})
    assert told.value.what.startswith("f")
    assert "\n" not in str(told.value)


@pytest.mark.battery
def test_a_matrix_without_end_is_refused() -> None:
    axes = ", ".join(f"a{at}: [{', '.join(map(str, range(10)))}]" for at in range(9))
    text = f"stages:\n  s:\n    matrix: {{{axes}}}\n    cmd: x\n"
    with pytest.raises(ImportProblem, match="more than 10,000"):
        convert(BY_NAME["dvc"], (SourceText.from_bytes("dvc.yaml", text.encode()),), {})


def _checked(kind: str, text: str) -> None:
    """Any text is refused in one line, or makes a contract whose structure is right."""
    source = SourceText.from_bytes("f", text.encode("utf-8", "surrogatepass"))
    try:
        BY_NAME[kind].beside(source)
        found = convert(BY_NAME[kind], (source,), {})
    except ImportProblem:
        return
    made = SourceText.from_bytes("dsandbox.yaml", found.text.encode())
    assert not parse(made).problems, found.text
    wrong = [one for one in lint(made) if one.code in STRUCTURE and one.severity is Severity.ERROR]
    assert not wrong, f"{wrong[0].code} {wrong[0].message}\n{found.text}"
    assert convert(BY_NAME[kind], (source,), {}) == found


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(KINDS), text=st.text(max_size=200))
def test_any_text_is_answered(kind: str, text: str) -> None:
    _checked(kind, text)


INPUTS = [
    (case.parent.name, path.read_text(encoding="utf-8"))
    for case in CASES
    for path in sorted(case.iterdir())
    if path.name in FIRST or path.suffix in (".sh", ".slurm")
]


@pytest.mark.battery
@settings(max_examples=150, deadline=None)
@given(
    at=st.integers(0, len(INPUTS) - 1),
    kind=st.none() | st.sampled_from(KINDS),
    cuts=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.integers(0, 12),
            st.sampled_from(
                ("", "0", "-1", ": ", "[", "null", "é\u2028", "'", '"', "${", "\t", "{run}", "#", "x" * 70)
            )
            | st.text(max_size=4),
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_damaged_inputs_are_answered(at: int, kind: str | None, cuts) -> None:
    name, text = INPUTS[at]
    for place, length, put in cuts:
        start = int(place * len(text))
        text = text[:start] + put + text[start + length :]
    _checked(kind or name, text)


@pytest.mark.battery
@pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded workflows are not beside this checkout")
def test_recorded_workflows_import_and_have_a_plan(tmp_path: Path) -> None:
    machine = profile("builtin:8xh100-sxm-80gb")
    files = sorted(SHARED.glob("*.json"))
    for path in files:
        source = SourceText.from_bytes(path.name, path.read_bytes())
        found = convert(BY_NAME["wfcommons"], (source,), {})
        tasks = json.loads(source.text)["workflow"]["specification"]["tasks"]
        assert found.steps == len(tasks)
        contract = tmp_path / "dsandbox.yaml"
        contract.write_text(found.text, encoding="utf-8")
        plan = prepare(str(contract), machine)
        assert isinstance(plan, Plan), path.name
        assert len(plan.steps) == len(tasks)
    assert files


def run(argv: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """The installed command."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from dsec_cli.fast import dsec; sys.exit(dsec())",
            "import",
            *argv,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_command_writes_the_contract_and_the_list(tmp_path: Path) -> None:
    done = run(
        ["compose", str(GOLDEN / "compose" / "service" / "compose.yaml"), "-o", "dsandbox.yaml"], tmp_path
    )
    assert done.returncode == 0
    assert done.stdout == ""
    assert "not mapped: " in done.stderr
    assert "lint: error[DS204] gpu-type-missing\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("dsandbox.yaml: 2 Steps; to be settled: 2; not mapped: ")
    assert (tmp_path / "dsandbox.yaml").read_text().startswith("# Made of ")


def test_command_reads_the_scripts_beside(tmp_path: Path) -> None:
    done = run(["slurm", "submit.sh", "--json"], GOLDEN / "slurm" / "chain")
    body = json.loads(done.stdout)
    assert body["version"] == 1
    assert body["steps"] == 4
    assert [(one["code"], one["count"]) for one in body["lint"]] == [("DS120", 4)]
    assert {"what", "why", "unsettled", "places"} == set(body["not_mapped"][0])
    assert body["contract"] == (GOLDEN / "slurm" / "chain" / EXPECTED).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["dvc", "nowhere.yaml"], 3, "nowhere.yaml could not be read"),
        (["dvc", "a", "b"], 2, "dvc takes one file, not 2"),
        (["slurm", "a", "a"], 2, "named twice"),
        (["nothing", "a"], 2, "compose"),
    ],
)
def test_command_asked_wrongly(argv: list[str], code: int, words: str, tmp_path: Path) -> None:
    done = run(argv, tmp_path)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_the_module_of_the_command_is_found_by_its_name() -> None:
    assert callable(importlib.import_module("dsec_cli.commands.import").main)
    assert Draft._fields[0] == "name"


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("compose", "services:\n  a: 3\n", "f:2:3: a: a mapping is expected"),
        ("dvc", 'stages:\n  a: {foreach: "${gone}", do: {cmd: x}}\n', "no variable is called gone"),
        ("compose", "services: {}\n", "it was read as a compose file (services)"),
    ],
)
def test_a_file_that_comes_to_nothing_says_why(kind: str, text: str, why: str) -> None:
    with pytest.raises(ImportProblem, match="nothing to run") as caught:
        convert(BY_NAME[kind], (SourceText("f", text.encode()),), {})
    assert caught.value.hint is not None
    assert why in caught.value.hint


@pytest.mark.battery
@pytest.mark.parametrize(
    "text",
    [
        "#SBATCH --dependency=" + "afterok:1," * 50_000,
        "#SBATCH --dependency=afterok" + ":1" * 50_000,
        "#SBATCH --dependency=afterok" + "".join(f":{at}" for at in range(20_000)),
        "#SBATCH --gres=" + "gpu:1,license:x," * 20_000,
        "#SBATCH --export=" + "A=1,B," * 20_000,
        "#SBATCH --array=" + "0-1," * 20_000,
        "#SBATCH -N1\n" + "srun x; " * 20_000,
        "#SBATCH -N1\n" + "echo $1 ${2}\n" * 10_000,
        "#SBATCH -N1\n" + "'" * 20_000 + "${" * 10_000,
    ],
    ids=["items", "jobs", "others", "gres", "export", "array", "programs", "arguments", "quotes"],
)
def test_a_long_option_is_read_within_bounds(text: str, monkeypatch) -> None:
    calls = 0
    left = Notes.left

    def counted(*args) -> None:
        nonlocal calls
        calls += 1
        assert len(args[3]) < 1000
        left(*args)

    monkeypatch.setattr(Notes, "left", counted)
    found = convert(BY_NAME["slurm"], (SourceText("f", f"#!/bin/bash\n{text}\nx\n".encode()),), {})
    assert found.steps >= 1
    assert calls < 50_000
    long = any(len(line) > MOST_OF_A_LINE for line in text.splitlines() if line.startswith("#SBATCH"))
    assert long == any("could not be split" in one.why for one in found.left)
