"""Limits by a real cgroup v2 tree with all its controllers, in a virtual machine of our own.

Build machines rarely delegate one, so this is the only place where the kernel itself holds to them.
"""

from __future__ import annotations

import json
import re

import guest
import pytest

pytestmark = [
    pytest.mark.battery,
    pytest.mark.skipif(bool(guest.lacks()), reason=f"no virtual machine: {guest.lacks()}"),
]
MIB = 1 << 20
TAKES = "import sys; x = b'x' * (int(sys.argv[1]) << 20); print('held', flush=True)"
SEEN = """\
sleep 0.3
here=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
for name in memory.max memory.swap.max memory.oom.group pids.max cpu.weight; do
  echo $name $(cat $here/$name)
done
"""
RUN = "python -c 'import sys; from dsec_cli.fast import dsec; sys.exit(dsec())' run plan.json --job-id j -k"
TREE = """\
cd /sys/fs/cgroup
for name in memory pids cpu; do echo +$name > cgroup.subtree_control; done
mkdir ours
cd /root
"""
TOLD = """
echo code $code
cat .dsec/runs/j/journal; echo; cat .dsec/runs/j/logs/shows@0.1.log
echo left $(find /sys/fs/cgroup/ours -mindepth 1 -type d)
"""
BY_ROOT = TREE + f"code=0; DSEC_CGROUP=/sys/fs/cgroup/ours {RUN} || code=$?" + TOLD
BY_USER = (
    TREE
    + f"""\
echo "cd /root; HOME=/tmp exec {RUN}" > /run.sh
chown -R user /sys/fs/cgroup/ours /root; chmod 1777 /tmp
code=0; sh -c 'echo $$ > /sys/fs/cgroup/ours/cgroup.procs; exec su -s /bin/sh user /run.sh' || code=$?"""
    + TOLD
)
"""As a service manager delegates a tree: it is the user's, who is in it, and makes room for limits."""


def plan_of(kit):
    """One within its limit, one whose grandchild takes more, one that shows its limits, a critical one."""
    stated = kit.demand(memory_bytes=96 * MIB, cpu_m=250)
    hidden = f'setsid python -c "{TAKES}" 400 & wait $!; sleep 60'
    return kit.plan(
        kit.step("calm", shell=f'python -c "{TAKES}" 40; sleep 3', demand=stated),
        kit.step("greedy", shell=hidden, demand=stated),
        kit.step("shows", shell=SEEN, demand=stated),
        kit.step("free", shell=f'python -c "{TAKES}" 300', level="critical", demand=stated),
    )


@pytest.mark.parametrize("script", [BY_ROOT, BY_USER], ids=["root", "user"])
def test_the_kernel_ends_who_takes_more_than_it_states_and_nobody_else(script, job, kit, tmp_path):
    job.save(plan_of(kit))
    files = {"/root/plan.json": (job.folder / "plan.json").read_text()}
    (tmp_path / "machine").mkdir()
    told = guest.run(script, files, folder=tmp_path / "machine", seconds=240)
    events = [json.loads(one) for one in re.findall(r"^\w{8} \w{8}[+ ](\{.*\})$", told, re.MULTILINE)]
    ends = {one["step"]: one for one in events if one.get("event") == "exit"}
    assert {step: one["cause"] for step, one in ends.items()} == {
        "calm": "ok", "greedy": "over-memory", "shows": "ok", "free": "ok",
    }, told  # fmt: skip
    assert ends["greedy"]["detail"] == "its cgroup's limit is 96 MiB"
    assert ends["greedy"]["signal"] == 9, "its shell went with the process that took too much"
    assert "\ncode 1\n" in told
    limits = dict(re.findall(r"^([a-z]+\.[a-z.]+) (\S+)$", told, re.MULTILINE))
    assert limits.pop("pids.max").isdecimal()
    assert limits == {
        "memory.max": str(96 * MIB), "memory.swap.max": "0", "memory.oom.group": "1", "cpu.weight": "25",
    }  # fmt: skip
    assert re.search(r"^left *$", told, re.MULTILINE), "nothing of the tree is left"
