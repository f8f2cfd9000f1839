"""Inputs, programs and scripts that are not there are told before anything starts, and stop nothing."""

from __future__ import annotations

import os

import pytest

from dsec_cli.commands.missing_files import MOST_TOLD, missing, tell_of_missing
from dsec_cli.dag.script_file import command_of, script_of
from tests.runtime.conftest import make_plan, make_step


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("data/train.csv", "update.py", "run.sh"):
        (tmp_path / name).touch()
    os.symlink("nowhere", tmp_path / "link")
    return tmp_path


def told(folder, *steps):
    return [str(one.text) for one in missing(make_plan(*steps), str(folder), os.environ)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data/train.csv", ""),
        ("./data//train.csv", ""),
        ("data", ""),
        ("{run}/anything", ""),
        ("old-{previous}", ""),
        ("made/deep/y", ""),
        ("shard-{iteration}.csv", "reads shard-0.csv, which does not exist"),
        ("data/trian.csv", "; did you mean data/train.csv?"),
        ("dat/train.csv", "; did you mean data/train.csv?"),
        ("train.csv", "reads train.csv, which does not exist"),
        ("link", "which links to nowhere, which does not exist"),
        ("data/train.csv/x", "which cannot be read: Not a directory"),
        ("/nonexistent/abs", "reads /nonexistent/abs, which does not exist"),
    ],
)
def test_inputs(folder, text, said):
    steps = (make_step("make", outputs=("made/",)), make_step("use", inputs=(text,)))
    found = told(folder, *steps)
    assert len(found) == bool(said)
    assert not said or said in found[0]


@pytest.mark.parametrize(
    ("argv", "shell", "said"),
    [
        (("python3", "update.py"), "", ""),
        (("python3", "updat.py", "--x"), "", "runs the script updat.py"),
        (("python3", "-u", "-W", "ignore", "updat.py"), "", "; did you mean update.py?"),
        (("python3", "-m", "updat"), "", ""),
        (("python3", "-c", "updat.py"), "", ""),
        (("python3", "--unheard-of", "updat.py"), "", ""),
        (("bash", "-eu", "-o", "pipefail", "rnu.sh"), "", "; did you mean run.sh?"),
        (("bash", "ls"), "", ""),  # bash looks on PATH, too
        (("./rnu.sh",), "", "starts ./rnu.sh, which does not exist; did you mean ./run.sh?"),
        (("no-such-program", "x"), "", "starts no-such-program, which is not on PATH"),
        (("env", "A=1", "python3", "updat.py"), "", "runs the script updat.py"),
        (("env", "-i", "python3", "updat.py"), "", ""),
        (("python3", "made.py"), "", ""),
        ((), "set -e\n# a comment\nexport A=b\nX=1 python3 updat.py $A > log", "runs the script updat.py"),
        (("bash", "-ec", "python3 'updat.py'"), "", "runs the script updat.py"),
        ((), "echo $A\nmkdir -p out\n\nbash rnu.sh", "; did you mean run.sh?"),
        ((), "echo 'import os' > updat.py\npython3 updat.py", ""),
        ((), "cp x updat.py\npython3 updat.py", ""),
        (("nohup", "nice", "python3", "updat.py"), "", "runs the script updat.py"),
        (("nice", "-n", "5", "python3", "updat.py"), "", ""),
        ((), "cd data\npython3 updat.py", ""),
        ((), "[ -f updat.py ] && python3 updat.py", ""),
        ((), "python3 $HERE/updat.py", ""),
        ((), "python3 'updat.py", ""),
        ((), "no_function_known_here x", ""),
    ],
)
def test_programs_and_scripts(folder, argv, shell, said):
    steps = (make_step("make", outputs=("made.py",)), make_step("use", argv=argv, shell=shell))
    found = told(folder, *steps)
    assert len(found) == bool(said)
    assert not said or said in found[0]


def test_folders_and_modules(folder):
    assert (
        "the folder dta, which does not exist; did you mean data?"
        in told(folder, make_step("S", cwd="dta", argv=("python3", "x.py")))[0]
    )
    assert told(folder, make_step("S", cwd="data", inputs=("train.csv",)))[0].endswith(
        "; did you mean data/train.csv?"
    )
    assert told(folder, make_step("S", cwd="data", argv=("python3", "../update.py"))) == []
    assert told(folder, make_step("S", call="update:f"), make_step("T", call="json:dumps")) == []
    assert told(folder, make_step("S", call="updat.sub:f"))[0].endswith("; did you mean update?")


def test_who_waits_for_nobody_is_warned_and_much_is_cut_short(folder, capsys):
    later = (make_step(f"S{at}", "first", inputs=(f"n{at}",)) for at in range(MOST_TOLD))
    plan = make_plan(make_step("first"), *later, make_step("lone", inputs=("\x1b[31m",)))
    tell_of_missing(plan, str(folder), "en")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("dsec: warning: Step lone reads ")
    assert "\x1b" not in lines[0]
    assert lines[1] == (
        "dsec: note: Step S0 reads n0, which does not exist, and no Step has it among its outputs"
        " (dsandbox.yaml:1)"
    )
    assert lines[-2:] == [
        "dsec: ... and 1 more",
        "dsec: note: what a Step writes for others belongs into its outputs; then this is not said",
    ]
    tell_of_missing(make_plan(make_step("first")), str(folder), "en")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words", [(), ("",), ("python3",), ("python3", "-"), ("python3", "-W"), ("bash", "-c")]
)
def test_commands_that_name_no_file(words):
    assert script_of(command_of(words, "")) == ("", False) or script_of(words)[0] == ""


def test_run_tells_it_and_starts(job, kit):
    out = job.run(kit.plan(kit.step("S", inputs=("gone",))))
    assert out.startswith("dsec: warning: Step S reads gone, which does not exist")
    assert "succeeded" in out
