"""The commands as a user gives them: real processes, a project of its own, a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, command

from .kit import all_bytes, git, write
from .shell import CONTRACT, TRAIN, Shell


def test_the_whole_story(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    text = shell.ok("snapshot create --name v1 --include-code --include-deps")
    assert "first: succeeded" in text
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


def test_drift_is_allowed_when_asked_and_the_recorded_code_runs(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1")
    write(shell.project, {"train.sh": TRAIN.replace("lr=3", "lr=4")})
    text = shell.ok("sandbox run --snapshot v1 --allow-drift --job-id again")
    assert "+ lr=4" in text
    assert "1 equal to the recorded" in text
    policy = shell.project / ".dsec" / "runs" / "again" / "work" / "policy"
    assert policy.read_text().startswith("policy 3")


def test_variables_are_put_back(shell: Shell) -> None:
    shell.ok("run -q --job-id first", OMP_NUM_THREADS="2")
    shell.ok("snapshot create --name v1", OMP_NUM_THREADS="2")
    text = shell.ok("snapshot run v1 --job-id again", OMP_NUM_THREADS="7")
    assert "environment: OMP_NUM_THREADS=2 as recorded" in text
    assert (shell.project / ".dsec/runs/again/work/policy").read_text() == "policy 3 2\n"


@pytest.mark.battery
def test_results_that_differ_are_told(shell: Shell) -> None:
    write(shell.project, {"train.sh": '#!/bin/sh\ndate +%s%N > "$DSEC_RUN_DIR/policy"\n'})
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1")
    text = shell.ok("snapshot run v1 --job-id again", 1)
    assert "result differs: policy" in text


def test_another_machine(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1 --inventory builtin:8xa100-sxm-80gb")
    text = shell.ok("snapshot run v1 --dry-run", 1)
    assert "blocked" in text
    text = shell.ok("snapshot run v1 --dry-run --inventory builtin:8xh100-sxm-80gb", 1)
    assert "degraded" in text
    assert "--compat goes on" in text
    text = shell.ok("snapshot run v1 --dry-run --compat --inventory builtin:8xh100-sxm-80gb")
    assert "adapted: TRITON_CACHE_DIR=" in text
    assert "h100-sxm-80gb" in text


def test_what_is_in_the_way_for_programs(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1 --inventory builtin:8xa100-sxm-80gb")
    write(shell.project, {"train.sh": TRAIN.replace("lr=3", "lr=4")})
    told = json.loads(shell.ok("snapshot run v1 --dry-run --json --inventory builtin:8xh100-sxm-80gb", 1))
    assert told["runs"] is False
    assert told["machine"]["verdict"] == "degraded"
    assert [one["subject"] for one in told["stops"]] == ["train.sh"]
    line = "snapshot run v1 --dry-run --json --compat --allow-drift --inventory builtin:8xh100-sxm-80gb"
    assert json.loads(shell.ok(line))["runs"] is True
    assert "--dry-run" in shell.ok("snapshot run v1 --json", 2)


def test_restoring_parts_and_refusing_to_overwrite(shell: Shell, tmp_path: Path) -> None:
    shell.ok("snapshot create --name v1")
    shell.ok(f"snapshot restore v1 train.sh --to {tmp_path}/part")
    assert [path.name for path in (tmp_path / "part").iterdir()] == ["train.sh"]
    assert "not empty" in shell.ok(f"snapshot restore v1 --to {tmp_path}/part", 2)
    assert "no path within" in shell.ok(f"snapshot restore v1 ../x --to {tmp_path}/other", 2)
    assert "has nothing at" in shell.ok(f"snapshot restore v1 none.py --to {tmp_path}/other", 3)
    assert not (tmp_path / "other").exists()
    (tmp_path / "empty").mkdir()
    shell.ok(f"snapshot restore v1 --to {tmp_path}/empty")
    assert (tmp_path / "empty" / "train.sh").read_text() == TRAIN


def test_marks_of_a_run(shell: Shell) -> None:
    write(shell.project, {"train.sh": TRAIN + "sleep 0.5\n"})
    text = shell.ok("run --snapshots always --job-id marked")
    assert "snapshot: marked-finish" in text
    names = [one["name"] for one in json.loads(shell.ok("snapshot list --json"))["snapshots"]]
    assert names == ["marked-start", "marked-finish"]
    told = json.loads(shell.ok("snapshot inspect marked-finish --json"))
    assert told["sections"]["command"]["data"]["argv"][-1] == "marked"
    assert told["sections"]["run"]["data"]["outcome"] == "succeeded"
    assert "equal to the recorded" in shell.ok("snapshot run marked-finish --job-id again")
    assert "snapshot:" not in shell.ok("run --snapshots never --job-id unmarked")


def test_a_run_that_is_over_at_once_has_a_mark_of_its_finish(shell: Shell) -> None:
    assert "snapshot: marked-finish" in shell.ok("run --snapshots always --job-id marked")
    assert [one["name"] for one in json.loads(shell.ok("snapshot list --json"))["snapshots"]] == [
        "marked-finish"
    ]


def test_marks_never_make_a_run_fail(shell: Shell) -> None:
    (shell.project / ".dsec").mkdir()
    (shell.project / ".dsec" / "store").write_text("in the way")
    text = shell.ok("run --snapshots always --job-id marked")
    assert "succeeded" in text
    assert "not taken (finish)" in (shell.project / ".dsec/runs/marked/snapshots.log").read_text()


def test_an_interrupted_run_leaves_no_process(shell: Shell) -> None:
    write(shell.project, {"train.sh": "#!/bin/sh\necho begun\nsleep 60\n"})
    run = subprocess.Popen(
        command("dsec", "run", "--job-id", "long", "--snapshots", "always"),
        cwd=shell.project, env=shell.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    log = shell.project / ".dsec" / "runs" / "long" / "snapshots.log"
    until = time.monotonic() + 60
    while not (log.exists() and "taken" in log.read_text()):
        assert time.monotonic() < until, run.poll()
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    assert run.wait(60) == 130
    mine = str(log.parent).encode()
    left = [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if mine in _read(path) and int(path.parent.name) != os.getpid()
    ]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


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


def test_colours_only_where_they_are_wanted(shell: Shell) -> None:
    shell.ok("snapshot create --name v1")
    write(shell.project, {"train.sh": TRAIN.replace("lr=3", "lr=4")})
    assert "\x1b[" not in shell.ok("snapshot diff v1 .", 1)
    assert "\x1b[32m" in shell.ok("snapshot diff v1 . --color always", 1)
    assert "\x1b[" not in shell.ok("snapshot diff v1 .", 1, NO_COLOR="1")


@pytest.mark.battery
def test_a_resumed_run_has_a_start_of_its_own(shell: Shell) -> None:
    write(shell.project, {"train.sh": "#!/bin/sh\nsleep 0.5\nfalse\n"})
    assert "failed" in shell.ok("run --snapshots always --job-id again", 1)
    write(shell.project, {"train.sh": TRAIN + "sleep 0.5\n"})
    assert "snapshot: again-finish-2" in shell.ok("resume again --snapshots always")
    names = [one["name"] for one in json.loads(shell.ok("snapshot list --json"))["snapshots"]]
    assert names == ["again-start", "again-finish", "again-start-2", "again-finish-2"]
    assert "train.sh" in shell.ok("snapshot diff again-finish again-finish-2", 1)


def test_a_mount_that_is_gone_is_told_with_what_would_bring_it_back(shell: Shell) -> None:
    from dsec.store import open_store
    from dsec_cli.snapshot.manifest import encode, identity
    from dsec_cli.snapshot.shelf import find

    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1")
    with open_store(str(shell.project / ".dsec" / "store")) as store:
        one = find(store, "v1")
        mount = {"at": "/data", "kind": "nfs4", "source": "h:/x", "options": "rw,vers=4"}
        content = store.put_bytes(json.dumps({"mounts": [mount]}).encode())
        sections = tuple(
            each._replace(document=content) if each.name == "mounts" else each for each in one.sections
        )
        later = one._replace(name="v2", sections=sections, id=identity(sections))
        trees = [tree for each in sections for _, tree in each.trees]
        kept = [each.document for each in sections if each.document] + [
            c for each in sections for _, c in each.contents
        ]
        store.put_record("v2", encode(later), trees=trees, contents=kept)
    text = shell.ok("snapshot run v2 --dry-run")
    assert "mount: /data is not as it was: mount -t nfs4 -o rw,vers=4 h:/x /data" in text


def test_data_that_was_named_is_looked_at_again(shell: Shell) -> None:
    write(shell.project, {"data/x.txt": "1", ".gitignore": ".dsec/\ndata/\n"})
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1 --data data")
    assert "nothing differs" in shell.ok("snapshot diff v1 .")
    write(shell.project, {"data/x.txt": "2"})
    assert "other data" in shell.ok("snapshot diff v1 .", 1)
    text = shell.ok("snapshot run v1", 1)
    assert "data  blake3:" in text
    assert "stopped: 1 differs" in text


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


def test_data_that_git_ignores_is_linked_when_asked(shell: Shell) -> None:
    script = '#!/bin/sh\ncat data/x.txt extra/y.txt > "$DSEC_RUN_DIR/policy"\n'
    write(
        shell.project,
        {"data/x.txt": "1\n", "extra/y.txt": "2\n", ".gitignore": ".dsec/\ndata/\nextra/\n*.log\n"},
    )
    write(shell.project, {"train.sh": script, "x.log": "3"})
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1 --data data")
    text = shell.ok("snapshot run v1 -q --job-id without", 1)
    assert "not in the snapshot: extra/ (--link PATH" in text
    assert "linked to this folder's: data" in text
    text = shell.ok("snapshot run v1 -q --job-id with --link extra")
    assert "linked to this folder's: data, extra" in text
    assert "1 equal to the recorded" in text
    assert "no path within" in shell.ok("snapshot run v1 --link ../x", 2)
    assert "does not exist" in shell.ok("snapshot run v1 --link none", 3)


@pytest.mark.battery
def test_a_described_machine_is_found_from_the_folder_it_was_named_in(shell: Shell) -> None:
    write(shell.project, {"box.yaml": "cpu: 4\nmemory: 8GiB\ngpus: []\n"})
    shell.ok("run -q --job-id first --inventory box.yaml")
    shell.ok("snapshot create --name v1 --inventory box.yaml")
    assert "1 equal" in shell.ok("snapshot run v1 -q --inventory box.yaml")


@pytest.mark.battery
def test_states_between_the_marks(shell: Shell) -> None:
    write(shell.project, {"train.sh": TRAIN + "sleep 0.3\n"})
    shell.ok("run -q --job-id first")
    run = str(shell.project / ".dsec" / "runs" / "first")
    code = (
        "import sys; from dsec_cli.commands import marking; marking.EVERY_S = 0.4; "
        f"sys.exit(marking.main(['first', {run!r}]))"
    )
    environ = {**shell.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=shell.project,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    told = {
        "folder": str(shell.project),
        "contract": "dsandbox.yaml",
        "argv": ["dsec", "run", "--token", "x9Kq7mW2vB4nZ8pL"],
    }
    child.stdin.write(json.dumps(told) + "\n")
    child.stdin.flush()
    lines = [child.stdout.readline().strip() for _ in range(3)]
    child.stdin.close()
    rest = child.stdout.read().split("\n")
    child.stdout.close()
    assert child.wait(30) == 0
    assert lines == ["taken: first-start", "taken: first-0m", "taken: first-0m-2"]
    assert rest[-2] == "taken: first-finish"
    words = json.loads(shell.ok("snapshot inspect first-start --json"))["sections"]["command"]["data"]["argv"]
    assert words[-1].startswith("<redacted:")


def test_work_areas_and_environments_go(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1")
    for job in ("a", "b"):
        shell.ok(f"snapshot run v1 -q --job-id {job}")
    state = shell.project / ".dsec"
    (state / "environments" / "0123").mkdir(parents=True)
    (state / "reruns" / "alive").mkdir()
    (state / "runs" / "alive").mkdir()
    (state / "runs" / "alive" / "journal").write_bytes(b"")  # as one looks that has not ended
    os.utime(state / "reruns" / "alive", (1, 1))
    os.utime(state / "reruns" / "a", (2, 2))
    told = shell.ok("snapshot prune --keep-runs 1 --dry-run")
    assert told.splitlines() == ["would be removed: reruns/a", "would be removed: environments/0123"]
    shell.ok("snapshot prune --keep-runs 1")
    assert sorted(path.name for path in (state / "reruns").iterdir()) == ["alive", "b"]
    assert list((state / "environments").iterdir()) == []
    assert "v1" in shell.ok("snapshot list")


def test_a_start_frees_what_nothing_needs(shell: Shell) -> None:
    write(shell.project, {"train.sh": TRAIN + "sleep 0.5\n", "large.txt": os.urandom(100_000).hex()})
    shell.ok("snapshot create --name v1")
    (shell.project / "large.txt").unlink()
    from dsec.store import open_store

    with open_store(str(shell.project / ".dsec" / "store")) as store:
        store.delete_record("v1")
    shell.ok("run -q --job-id marked --snapshots always")
    packs = (shell.project / ".dsec" / "store" / "packs").glob("*.pack")
    assert sum(path.stat().st_size for path in packs) < 50_000
    assert "intact: 2 snapshots" in shell.ok("snapshot verify")
