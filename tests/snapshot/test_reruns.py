"""Running a snapshot again: what stops it, what is put back, what is linked, what is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .kit import write
from .shell import TRAIN, Shell


@pytest.mark.battery
def test_drift_is_allowed_when_asked_and_the_recorded_code_runs(shell: Shell) -> None:
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1")
    write(shell.project, {"train.sh": TRAIN.replace("lr=3", "lr=4")})
    text = shell.ok("sandbox run --snapshot v1 --allow-drift --job-id again")
    assert "+ lr=4" in text
    assert "1 equal to the recorded" in text
    policy = shell.project / ".dsec" / "runs" / "again" / "work" / "policy"
    assert policy.read_text().startswith("policy 3")


@pytest.mark.battery
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


@pytest.mark.battery
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


@pytest.mark.battery
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


@pytest.mark.battery
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


@pytest.mark.battery
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


@pytest.mark.battery
def test_data_that_was_named_is_looked_at_again(shell: Shell) -> None:
    write(shell.project, {"data/x.txt": "1", ".gitignore": ".dsec/\ndata/\n"})
    shell.ok("run -q --job-id first")
    shell.ok("snapshot create --name v1 --data data")
    assert "nothing differs" in shell.ok("snapshot diff v1 .")
    write(shell.project, {"data/x.txt": "2"})
    assert "other data" in shell.ok("snapshot diff v1 .", 1)
    text = shell.ok("snapshot run v1", 1)
    assert "data  blake3:" in text
    assert "data/x.txt" in text
    assert "stopped: 2 differ from the snapshot" in text


@pytest.mark.battery
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
