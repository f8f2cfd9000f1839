"""Processes that put in and prune, killed at any moment, again and again (`make battery`)."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from dsec.store import open_store

WORKER = """
import os, sys, random
from dsec.store import NameTaken, StoreProblem, open_store
place, root, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
draw = random.Random(seed)
for at in range(1000):
    with open_store(place) as store:
        what = draw.random()
        if what < 0.7:
            name = os.path.join(root, f"{draw.randrange(30)}.bin")
            with open(name, "wb") as file:
                file.write(draw.randbytes(draw.randrange(200_000)))
            tree = store.put_folder(os.fsencode(root)).id
            more = store.put_bytes(draw.randbytes(5000))
            store.put_record(f"{seed}.{at}", b"", trees=[tree], contents=[more])
            print(f"{seed}.{at}", flush=True)
        else:
            try:
                store.prune(budget=3_000_000, wait_s=0.5)
            except StoreProblem:
                pass
"""


@pytest.mark.battery
def test_killed_at_any_moment(tmp_path):
    seconds = float(os.environ.get("DSEC_CHAOS_S", "20"))
    draw = random.Random(int(os.environ.get("DSEC_CHAOS_SEED", "1")))
    root, place = tmp_path / "root", tmp_path / "store"
    root.mkdir()
    with open_store(str(place)):
        pass
    until, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, str(place), str(root), str(100 * rounds + at)],
                stdout=subprocess.PIPE, text=True,
            )
            for at in range(2)
        ]  # fmt: skip
        for one in workers:
            assert one.stdout is not None
            one.stdout.readline()  # it has done something
        time.sleep(draw.random() * 0.5)  # the moment is what is drawn: nothing is awaited
        for one in workers:
            one.send_signal(signal.SIGKILL)
            one.communicate()
        with open_store(str(place)) as store:
            found = store.verify()
            assert (found.damage, found.notes) == ((), ()), f"round {rounds}"
            for record in store.records():
                assert sum(1 for _ in store.tree(record.trees[0])) <= 30
            store.prune(budget=3_000_000)
            assert store.usage().unfinished_bytes == 0
        rounds += 1
    print(f"{rounds} rounds, {2 * rounds} kills")
    assert rounds > 2
