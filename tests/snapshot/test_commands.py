"""The commands as a user gives them: real processes, a project of its own, a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import command

from .kit import all_bytes, git, write
from .shell import CONTRACT, TRAIN, Shell


def test_the_whole_story(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    text = shell.ok("snapshot create --name v1 --include-code --include-deps")
    assert "first: succeeded" in text
    assert "redacted" not in text  # hashes of the plan are none of anybody's secrets
    assert "replaced" not in text
    assert "v1" in shell.ok("snapshot list")
    assert "takes the most space" in shell.ok("snapshot inspect v1").lower()
    assert "nothing differs" in shell.ok("snapshot diff v1 .")
    assert "1 snapshot" in shell.ok("snapshot verify")

    # One line and one package: the run stops, and both are shown.
    write(shell.project, {"train.sh": TRAIN.replace("lr=3", "lr=4")})
    (shell.site / "torch-2.4.0.dist-info").rename(shell.site / "torch-2.5.1.dist-info")
    text = shell.ok("snapshot run v1 --job-id stopped", 1)
    assert "- lr=3" in text
    assert "+ lr=4" in text
    assert "torch  2.4.0 -> 2.5.1" in text
    assert "stopped: 2 differ from the snapshot" in text
    assert not (shell.project / ".dsec" / "runs" / "stopped").exists()
    assert "train.sh:2" in shell.ok("snapshot diff v1 .", 1)
    told = json.loads(shell.ok("snapshot diff v1 . --json", 1))
    assert {one["subject"] for one in told["differences"]} == {"train.sh", "torch"}

    # As it was: it runs, and gives the same.
    write(shell.project, {"train.sh": TRAIN})
    (shell.site / "torch-2.5.1.dist-info").rename(shell.site / "torch-2.4.0.dist-info")
    text = shell.ok("snapshot run v1 --job-id again")
    assert "results: 1 equal to the recorded, 0 differ, 0 missing" in text
    runs = shell.project / ".dsec" / "runs"
    assert (runs / "again/work/policy").read_bytes() == (runs / "first/work/policy").read_bytes()


@pytest.mark.battery
def test_nothing_secret_by_the_commands(shell: Shell) -> None:
    secret, token = "aRgV-7Kq9mW2vB4nZ8pLt5", "ghp_aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2"
    git(shell.project, "remote", "add", "origin", f"https://{token}@h/x.git")
    write(shell.project, {".env": f"K={secret}\n", "s.py": f'API_KEY = "{secret}"\n'})
    out = shell.ok("run --snapshots always --job-id marked", MY_SECRET=secret)
    out += shell.ok("snapshot create --name v1", MY_SECRET=secret)
    out += shell.ok("snapshot inspect v1 --json") + shell.ok("snapshot diff v1 .", 1)
    out += shell.ok("code bundle -o ../b.tar")
    assert "secret" in out
    assert secret not in out
    assert token not in out
    for where, data in all_bytes(shell.project / ".dsec", shell.home):
        assert secret.encode() not in data, where
        assert token.encode() not in data, where
    assert secret.encode() not in (shell.project.parent / "b.tar").read_bytes()


def test_a_bundle_is_what_git_sees_and_the_same_each_time(shell: Shell, tmp_path: Path) -> None:
    write(shell.project, {"new.py": "1\n", ".dsec/x": "2\n"})
    os.symlink("new.py", shell.project / "link.py")
    (shell.project / "train.sh").chmod(0o755)
    shell.ok(f"code bundle -o {tmp_path}/a.tar.gz")
    os.utime(shell.project / "new.py", (5, 5))
    shell.ok(f"code bundle -o {tmp_path}/b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        found = {one.name: one for one in tar}
    assert sorted(found) == [".gitignore", "dsandbox.yaml", "link.py", "new.py", "train.sh"]
    assert found["link.py"].linkname == "new.py"
    assert found["train.sh"].mode == 0o755
    assert {one.mtime for one in found.values()} == {0}


def test_what_the_contract_leaves_out(shell: Shell) -> None:
    write(shell.project, {"dsandbox.yaml": CONTRACT + "include-code: {exclude_patterns: ['data/**']}\n"})
    write(shell.project, {"data/x.py": "1"})
    shell.ok("snapshot create --name v1")
    assert "data/x.py" not in shell.ok("snapshot inspect v1 --files")
    assert "include-code excludes it" in shell.ok("snapshot inspect v1")


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("snapshot create --name ../x", 2, "cannot name a snapshot"),
        ("snapshot create --budget lots", 2, "is no size"),
        ("snapshot create --budget 10B", 3, "--budget"),
        ("snapshot create --job none", 3, "no run 'none'"),
        ("snapshot create none.yaml", 3, "does not exist"),
        ("snapshot inspect v1", 3, "no snapshots"),
        ("snapshot diff . v1", 2, "older state"),
        ("snapshot diff", 2, "BEFORE is missing"),
        ("snapshot diff v1 --only nothing", 2, "cannot be"),
        ("snapshot creat", 2, "did you mean"),
        ("snapshot", 2, "create"),
        ("sandbox run", 2, "--snapshot"),
        ("snapshot prune --keep-runs -1", 3, "no snapshots"),
    ],
)
def test_asked_wrongly(shell: Shell, line: str, code: int, says: str) -> None:
    text = shell.ok(line, code)
    assert says in text
    assert not (shell.project / ".dsec" / "store").exists() or "budget" in line


def test_a_budget_prints_the_largest(shell: Shell) -> None:
    write(shell.project, {"big.txt": "x" * 3000})
    text = shell.ok("snapshot create --budget 2KB", 3)
    assert "2.9 KiB  big.txt" in text


def test_a_store_that_cannot_be_written(shell: Shell) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    shell.ok("snapshot create --name v1")
    store = shell.project / ".dsec" / "store"
    subprocess.run(["chmod", "-R", "a-w", str(store)], check=True)
    try:
        for line in ("list", "inspect v1", "diff v1 .", "verify", "restore v1"):
            shell.ok(f"snapshot {line}")
        assert "denied" in shell.ok("snapshot create --name v2", 3)
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(store)], check=True)


def test_damage_is_found_and_named(shell: Shell) -> None:
    shell.ok("snapshot create --name v1")
    (pack,) = (shell.project / ".dsec" / "store" / "packs").glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[len(data) // 3] ^= 1
    pack.chmod(0o644)
    pack.write_bytes(data)
    text = shell.ok("snapshot verify", 1)
    assert "damaged" in text
    assert "v1" in text
    assert json.loads(shell.ok("snapshot verify --json", 1))["intact"] is False


@pytest.mark.battery
def test_forgetting(shell: Shell) -> None:
    shell.ok("snapshot create --name v1")
    shell.ok("snapshot create --name v2")
    assert "would be forgotten: v1" in shell.ok("snapshot prune v1 --dry-run")
    assert "v1" in shell.ok("snapshot list")
    assert "1 snapshot forgotten" in shell.ok("snapshot prune v1")
    assert "v1" not in shell.ok("snapshot list")
    shell.ok("snapshot verify v2")


@pytest.mark.battery
def test_two_at_once(shell: Shell) -> None:
    both = [
        subprocess.Popen(
            command("dsec", "snapshot", "create", "--name", name),
            cwd=shell.project, env=shell.environ, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )
        for name in ("one", "two")
    ]  # fmt: skip
    assert [one.wait(60) for one in both] == [0, 0]
    assert "2 snapshots" in shell.ok("snapshot verify")


def test_html_and_a_file(shell: Shell, tmp_path: Path) -> None:
    shell.ok("snapshot create --name v1")
    write(shell.project, {"train.sh": TRAIN.replace("lr=3", "lr=4")})
    shell.ok(f"snapshot diff v1 . --output html -o {tmp_path}/d.html", 1)
    page = (tmp_path / "d.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "lr=4" in page
    assert "http" not in page


@pytest.mark.battery
def test_colours_only_where_they_are_wanted(shell: Shell) -> None:
    shell.ok("snapshot create --name v1")
    write(shell.project, {"train.sh": TRAIN.replace("lr=3", "lr=4")})
    assert "\x1b[" not in shell.ok("snapshot diff v1 .", 1)
    assert "\x1b[32m" in shell.ok("snapshot diff v1 . --color always", 1)
    assert "\x1b[" not in shell.ok("snapshot diff v1 .", 1, NO_COLOR="1")


@pytest.mark.battery
def test_long_names(shell: Shell) -> None:
    job = "j" * 128
    assert "snapshot: " in shell.ok(f"run --snapshots always --job-id {job}")
    (one,) = json.loads(shell.ok("snapshot list --json"))["snapshots"]
    assert one["name"] == "j" * 60 + "-finish"
    assert one["job"] == job
    assert "cannot name" in shell.ok(f"snapshot create --name {'n' * 81}", 2)
    shell.ok(f"snapshot create --name {'n' * 80}")
    long = shell.project.parent / ("p" * 200)
    long.mkdir()
    shell.ok(f"snapshot create {long}")
    for name in ("nothing", "n" * 300, "..", "-"):
        assert "no snapshot" in shell.ok(f"snapshot inspect -- {name}", 3)
