"""`dsec packages` as a user meets it: offline, against an environment, with tables of one's own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

Ds = Callable[..., object]
BAD = {"trl": "==0.9.6", "transformers": "==4.20.1"}
ROW = {
    "package": "our-lib",
    "versions": ">=2",
    "on": "torch",
    "needs": ">=2.4",
    "source": "https://example.org/our-lib",
    "why": "it calls what 2.4 brought",
}


def contract(folder: Path, texts: dict[str, str]) -> Path:
    path = folder / "agent-train-sandbox.yaml"
    body = "".join(f'  - package: {name}\n    version: "{text}"\n' for name, text in texts.items())
    path.write_text(f"base: registry.example/x:1.0.0\ndependencies:\n{body or '  []'}\n")
    return path


def install(site: Path, name: str, version: str, *wants: str) -> Path:
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in wants), "", "About"]
    (folder / "METADATA").write_text("\n".join(lines))
    return folder


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment, as far as its files tell."""
    folder = tmp_path / "venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("/nowhere/python3")
    (folder / "pyvenv.cfg").write_text("home = /nowhere\nversion = 3.8.10\n")
    install(folder / "lib" / "python3.8" / "site-packages", "trl", "0.9.6", "transformers>=4.31.0")
    return folder


def test_a_conflict_with_chains_source_and_alternative(ds: Ds, tmp_path: Path) -> None:
    contract(tmp_path, BAD)
    ran = ds("packages")
    assert ran.returncode == 1
    assert "error[DS110] transformers ==4.20.1 cannot go with trl ==0.9.6" in ran.stdout
    assert "contract -> trl 0.9.6 -> transformers >=4.31.0 versus" in ran.stdout
    document = json.loads(ds("packages", "--json").stdout)
    assert document["format"] == "dsec.packages/1"
    (conflict,) = document["conflicts"]
    assert conflict["chains"] == [
        ["contract", "trl 0.9.6", "transformers >=4.31.0"],
        ["contract", "transformers ==4.20.1"],
    ]
    assert conflict["sources"] == ["pkg:pypi/trl@0.9.6"]
    assert conflict["alternative"]["package"] == "transformers"
    assert [one["code"] for one in document["findings"]] == ["DS110"]


def test_a_set_that_fits(ds: Ds, tmp_path: Path) -> None:
    contract(tmp_path, {"trl": "==0.9.6", "transformers": ">=4.40.0,<4.42.0", "unheard-of": "==1"})
    ran = ds("packages")
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert " ".join(lines[1].split()) == "transformers >=4.40.0,<4.42.0 4.41.2 newest in the table that fits"
    assert " ".join(lines[2].split()) == "unheard-of ==1 not in the table"
    assert re.fullmatch(
        r"nothing found, as far as the table knows \([1-9]\d* rules of 2 of 3 packages\)", lines[-2]
    )
    assert "dsec packages --resolve" in lines[-1]


def test_no_packages(ds: Ds, tmp_path: Path) -> None:
    contract(tmp_path, {})
    ran = ds("packages")
    assert (ran.returncode, ran.stdout.splitlines()[0]) == (0, "no Python packages are stated")


@pytest.mark.parametrize("part", ["", "bin/python", "lib/python3.8/site-packages"])
def test_an_environment_is_read_and_not_run(ds: Ds, tmp_path: Path, venv: Path, part: str) -> None:
    contract(tmp_path, {"trl": ">=0.10", "transformers": "==4.20.1"})
    ran = ds("packages", "--environment", str(venv / part) if part else str(venv))
    if part == "bin/python":
        assert (ran.returncode, "does not exist" in ran.stderr) == (3, True)
        (venv / part).unlink()
        (venv / part).write_text("#!/bin/sh\ntouch ran\n")
        ran = ds("packages", "--environment", str(venv / part))
        assert not (tmp_path / "ran").exists()
    assert ran.returncode == 1, ran.stderr
    assert "warning[DS111] trl 0.9.6 is installed, >=0.10 is wanted" in ran.stdout


@pytest.mark.battery
def test_the_python_of_an_environment_is_held_against_the_contract(
    ds: Ds, tmp_path: Path, venv: Path
) -> None:
    contract(tmp_path, {"torch": "==2.6.0"})
    ran = ds("packages", "--environment", str(venv))
    assert "torch ==2.6.0 cannot go with python ==3.8.10" in ran.stdout
    (venv / "pyvenv.cfg").unlink()
    ran = ds("packages", "--environment", str(venv))
    assert "torch ==2.6.0 cannot go with python ==3.8.*" in ran.stdout
    assert ds("packages", "--environment", str(venv), "--python", "3.11").returncode == 0
    assert ds("packages", "--python", "3.8").returncode == 1


def test_the_environment_of_dsec_itself(ds: Ds, tmp_path: Path) -> None:
    contract(tmp_path, {"blake3": ">=1.0", "not-installed": "==1"})
    ran = ds("packages", "--environment", "-", "--json")
    assert ran.returncode == 0, ran.stdout
    how = {one["package"]: one["how"] for one in json.loads(ran.stdout)["packages"]}
    assert how == {"blake3": "installed", "not-installed": "not installed"}


def test_damaged_and_odd_metadata_are_passed_over(ds: Ds, tmp_path: Path, venv: Path) -> None:
    site = venv / "lib" / "python3.8" / "site-packages"
    install(site, "empty", "1").joinpath("METADATA").write_text("")
    (install(site, "gone", "1") / "METADATA").unlink()
    odd = install(site, "odd", "1") / "METADATA"
    odd.write_bytes(b"Name: odd\xff\nVersion: \x00\n" + b"x" * 3_000_000)
    (site / "nodir-1.dist-info").write_text("a file")
    contract(tmp_path, {"trl": "==0.9.6"})
    assert ds("packages", "--environment", str(venv)).returncode == 0


def test_a_pipe_is_not_waited_for(ds: Ds, tmp_path: Path, venv: Path) -> None:
    folder = venv / "lib" / "python3.8" / "site-packages" / "pipe-1.dist-info"
    folder.mkdir()
    os.mkfifo(folder / "METADATA")
    contract(tmp_path, {"trl": "==0.9.6"})
    ran = ds("packages", "--environment", str(venv))
    assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)


@pytest.mark.parametrize("where", [".dsec", "home/.ds"])
def test_rows_of_ones_own(ds: Ds, tmp_path: Path, where: str) -> None:
    contract(tmp_path, {"our-lib": "==2.1", "torch": "==2.3.0"})
    assert ds("packages").returncode == 0
    folder = tmp_path / where
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "conflicts.json"
    table.write_text(json.dumps({"format": "dsec.conflicts/1", "rows": [ROW]}))
    ran = ds("packages")
    assert ran.returncode == 1
    assert "it calls what 2.4 brought" in ran.stdout
    table.write_text('{"format": "dsec.conflicts/1", "rows": [{}]}')
    ran = ds("packages")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (3, "", 1)
    assert "rows[0]: package is no text" in ran.stderr


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--environment", "nowhere"), 3, "does not exist"),
        (("--environment", "."), 3, "is no Python environment"),
        (("--environment", "agent-train-sandbox.yaml"), 3, "is no Python environment"),
        (("missing.yaml",), 3, "could not be read"),
        (("--python", "three"), 2, "is no version"),
        (("--python", "3"), 2, "is no version"),
        (("--index", "https://example.org/simple"), 2, "--resolve"),
        (("--timeout", "0"), 2, "between 1 and 86400 seconds"),
        (("--timeout", "999999999999999999"), 2, "between 1 and 86400 seconds"),
        (("--resolve", "--index", "file:///etc"), 3, "no http(s) URL"),
    ],
)
def test_what_cannot_be_asked(ds: Ds, tmp_path: Path, words: tuple[str, ...], code: int, text: str) -> None:
    contract(tmp_path, BAD)
    ran = ds("packages", *words)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert text in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_output_goes_to_a_file(ds: Ds, tmp_path: Path) -> None:
    contract(tmp_path, BAD)
    ran = ds("packages", "--json", "-o", "out.json")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert json.loads((tmp_path / "out.json").read_text())["conflicts"]


def test_other_rules_are_not_asked(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(
        "nonsense: 1\ndependencies:\n  - package: trl\n    version: 0.9,1\n"
    )
    ran = ds("packages", "dsandbox.yaml", "--json")
    assert [one["code"] for one in json.loads(ran.stdout)["findings"]] == ["DS108"]


def test_a_lint_reads_rows_of_ones_own_as_well(ds: Ds, tmp_path: Path) -> None:
    contract(tmp_path, {"our-lib": "==2.1", "torch": "==2.3.0"})
    assert "DS110" not in ds("lint").stdout
    (tmp_path / ".dsec").mkdir(exist_ok=True)
    table = tmp_path / ".dsec" / "conflicts.json"
    table.write_text(json.dumps({"format": "dsec.conflicts/1", "rows": [ROW]}))
    assert "DS110" in ds("lint").stdout
    assert "DS110" in ds("lint").stdout
    table.unlink()
    assert "DS110" not in ds("lint").stdout
    table.write_text("damaged")
    ran = ds("lint")
    assert (ran.returncode, ran.stderr.count("\n")) == (3, 1)


def test_an_entry_that_cannot_be_read_is_told(ds: Ds, tmp_path: Path) -> None:
    (tmp_path / "dsandbox.yaml").write_text(
        "iterations: x\ndependencies:\n  - package: [1]\n  - package: trl\n    version: [1]\n"
    )
    ran = ds("packages", "dsandbox.yaml", "--json")
    found = [(one["code"], one["path"]) for one in json.loads(ran.stdout)["findings"]]
    assert ran.returncode == 1
    assert found == [("DS104", "dependencies[0].package"), ("DS104", "dependencies[1].version")]
