"""A Step sees exactly the GPUs that it was granted, however they are named, and says so when it does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from dsec.devices.visible import allowed, environment
from dsec.granted import asked_cuda, compared, foreign, mismatch, shown
from dsec.inventory import Device
from dsec.sdk import DeviceMismatchError, check_devices, context

ONE = "GPU-1b2c3d4e-0000-0000-0000-00000000000a"
TWO = "GPU-2b2c3d4e-0000-0000-0000-00000000000b"
MIG = "MIG-3b2c3d4e-0000-0000-0000-00000000000c"
GRANT = {"DSEC_DEVICES": f"{ONE}=0,{TWO}=3"}
PARENT = {
    "an index": ("0", ONE),
    "a UUID": (ONE, ONE),
    "the start of a UUID": ("GPU-1b2c", ONE),
    "reordered": ("3,0", ONE),
    "a MIG UUID": (MIG, MIG),
    "none": (None, ONE),
}


def device(uuid, index):
    fields = dict.fromkeys(Device._fields, None) | {"uuid": uuid, "index": index, "type": "a", "model": "A"}
    return Device(**fields)


BOX = (device(ONE, 0), device(TWO, 3), device(MIG, 5))


@pytest.mark.parametrize("name", PARENT)
def test_however_the_inherited_mask_names_it_the_child_gets_the_uuid(name):
    mask, uuid = PARENT[name]
    assert uuid in allowed(mask, BOX)
    told = environment((uuid,), mask, BOX)
    assert told["CUDA_VISIBLE_DEVICES"] == uuid
    assert told["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    code = "from dsec.sdk import check_devices; print(*check_devices())"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **told}
    seen = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert seen.stdout == f"{uuid}\n", seen.stderr


def test_an_empty_inherited_mask_grants_nothing():
    assert allowed("", BOX) == ()
    assert environment((), "", BOX) == {"CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.mark.parametrize(
    ("mask", "order"),
    [
        (f"{ONE},{TWO}", (ONE, TWO)),
        ("3,0", (TWO, ONE)),
        ("GPU-2b, GPU-1b", (TWO, ONE)),
    ],
)
def test_what_names_the_same_is_the_same(mask, order):
    env = {**GRANT, "CUDA_VISIBLE_DEVICES": mask}
    assert mismatch(env) == ""
    assert shown(env) == order


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        ("0,1", "shows 1, which was not granted"),
        ("GPU-9", "shows GPU-9, which was not granted"),
        (MIG, f"shows {MIG}"),
        ("GPU-", "shows GPU-"),
        (None, "is not set, so every GPU is seen"),
    ],
)
def test_a_gpu_of_somebody_else_is_an_error(mask, words):
    env = GRANT | ({} if mask is None else {"CUDA_VISIBLE_DEVICES": mask})
    assert words in foreign(env)
    assert "\n" not in mismatch(env)
    run = {"DSEC_RUN": "j", "DSEC_STEP": "S", "DSEC_RUN_DIR": "/r"}
    with pytest.raises(DeviceMismatchError, match="granted"):
        context(env | run)


@pytest.mark.parametrize("mask", ["", "-1", "0", TWO, f"{ONE},-1,{TWO}"])
def test_fewer_is_allowed_to_a_part_of_a_step_and_told_when_asked(mask, monkeypatch):
    env = {**GRANT, "CUDA_VISIBLE_DEVICES": mask}
    assert foreign(env) == ""
    assert "hides" in mismatch(env)
    for key, value in env.items():
        monkeypatch.setenv(key, value)
    with pytest.raises(DeviceMismatchError, match="hides"):
        check_devices()


def test_without_a_grant_nothing_is_compared(monkeypatch):
    monkeypatch.delenv("DSEC_DEVICES", raising=False)
    assert mismatch({"CUDA_VISIBLE_DEVICES": "0,1,2"}) == ""
    assert check_devices(deep=True) == ()


def test_what_cuda_shows_is_compared_by_digits():
    one, two = ("1b2c3d4e0000000000000000000000" + end for end in ("0a", "0b"))
    two = "2" + two[1:]
    assert compared([two, one], GRANT) == ""
    assert "does not show" in compared([one], GRANT)
    assert "which was not granted" in compared([one, two, "ff" * 16], GRANT)
    assert asked_cuda("no-such-library.so") is None


FAKE_CUDA = """
#include <stdlib.h>
#include <string.h>
static const char *shown(void) { const char *s = getenv("FAKE_CUDA"); return s ? s : ""; }
int cuInit(unsigned flags) { return flags || !*shown() ? 100 : 0; }
int cuDeviceGetCount(int *count) { *count = (int)(strlen(shown()) / 2); return 0; }
int cuDeviceGet(int *device, int at) { *device = at; return 0; }
int cuDeviceGetUuid(unsigned char *uuid, int device) {
  const char head[] = {shown()[2 * device], 0};
  memset(uuid, 0, 16);
  uuid[0] = (unsigned char)(strtol(head, NULL, 16) << 4 | 0xb);
  uuid[1] = 0x2c; uuid[2] = 0x3d; uuid[3] = 0x4e;
  uuid[15] = (unsigned char)strtol((char[]){shown()[2 * device + 1], 0}, NULL, 16);
  return 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("shows", "code", "words"),
    [
        ("1a2b", 0, ""),
        ("2b1a", 0, ""),
        ("1a", 1, f"CUDA does not show {TWO}"),
        ("1a2b7f", 1, "which was not granted"),
        ("", 1, f"CUDA does not show {ONE}"),
    ],
)
def test_cuda_itself_is_asked(tmp_path, shows, code, words):
    (tmp_path / "cuda.c").write_text(FAKE_CUDA)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", "libcuda.so.1", "cuda.c"], cwd=tmp_path, check=True, timeout=60
    )
    env = {
        **os.environ,
        **GRANT,
        "CUDA_VISIBLE_DEVICES": f"{ONE},{TWO}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "LD_LIBRARY_PATH": str(tmp_path),
        "FAKE_CUDA": shows,
    }
    plain = [sys.executable, "-m", "dsec.granted", "--deep"]
    asked = subprocess.run(plain, env=env, capture_output=True, text=True, timeout=60)
    assert asked.returncode == code, asked.stderr
    assert words in asked.stderr
    assert len(asked.stderr.splitlines()) == code
    script = "from dsec.sdk import check_devices; print(len(check_devices(deep=True)))"
    sdk = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert (sdk.returncode == 0) == (code == 0)
    assert words in sdk.stderr
