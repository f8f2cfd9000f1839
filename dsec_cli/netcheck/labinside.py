"""Within the lab's namespaces: builds them, serves at the far end, and measures or runs a command.

Its `main` is started by `unshare`; a job on stdin, one JSON document on stdout.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from dsec import units
from dsec.codec import encode
from dsec.errors import DSecError
from dsec.interpreter import apart
from dsec_cli.netcheck import lab
from dsec_cli.netcheck.flows import Wants, parse_flow
from dsec_cli.netcheck.replay import Replay, Wish, replayed
from dsec_cli.netcheck.serving import PORT

_NEW_NETWORK = 0x40000000
_DEATH_MS = 150
_NOT_FOUND_OUT = 3
"""Exit code of a lab that could not be built, or whose command does not start."""


def main() -> int:
    """Build, measure, tell."""
    line = sys.stdin.readline()
    if not line:  # who wanted the lab was interrupted
        return 1
    job = json.loads(line)
    signal.signal(signal.SIGINT, _left_alone)
    try:
        return _done(job)
    except DSecError as problem:
        if job["command"]:  # standard output is the user's there
            sys.stderr.write(f"dsec: error: {problem.what}\n")
            return _NOT_FOUND_OUT
        _say({"failed": problem.what, "hint": problem.hint})
    return 0


def _left_alone(_number: int, _frame: object) -> None:
    """Ctrl-C is for the user's command, or for the program that started the lab and ends it."""


def _done(job: dict[str, Any]) -> int:
    faults = [lab.fault_of(text) for text in job["faults"]]
    _build()
    for fault, value in faults:
        for line in fault.lines(value):
            _run(line)
    token = os.urandom(32).hex().encode()
    named = {fault.name: value for fault, value in faults}
    helpers = [_helper(one) for one in _helpers(named)]
    assert all(one.poll() is None for one in helpers), "each has said that it is ready"
    stranger = any(fault.name == lab.STRANGER for fault, _ in faults)
    peer = _serve(os.urandom(32) if stranger else token)
    _enter(lab.HERE)
    if job["command"]:
        return _command(job["command"], token)
    _say(_measured(job, token, peer, named))
    return 0


def _say(document: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # who asked is gone
        os._exit(1)


def _build() -> None:
    """Namespaces are named below /run, which is ours alone here."""
    _run(("", "mount", "-t", "tmpfs", "none", "/run"))
    os.makedirs("/run/netns")
    for line in lab.network():
        _run(line)


def _run(line: tuple[str, ...]) -> str:
    namespace, *words = line
    if namespace:
        words = ["ip", "netns", "exec", namespace, *words]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise lab.LabProblem(f"{' '.join(words)}: {problem}") from None
    if done.returncode:
        said = " ".join(done.stderr.split())[:300]
        hint = "apt install nftables iproute2" if "exec of" in said else ""
        raise lab.LabProblem(f"{' '.join(words)}: {said}", hint=hint)
    return done.stdout


def _serve(token: bytes) -> subprocess.Popen[str]:
    words = ["ip", "netns", "exec", lab.PEER, *apart("dsec_cli.netcheck.labpeer")]
    peer = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert peer.stdin is not None
    assert peer.stdout is not None
    peer.stdin.write(json.dumps({"token": token.hex(), "host": lab.PEER_ADDRESS, "port": PORT}) + "\n")
    peer.stdin.flush()
    if peer.stdout.readline() != "listening\n":
        raise lab.LabProblem("the far end's server did not start")
    return peer


def _helpers(faults: dict[str, str]) -> list[dict[str, str]]:
    """Jobs of the programs in the router."""
    jobs: list[dict[str, str]] = []
    relayed = {
        name: faults[name].removesuffix("%").removesuffix("ms") for name in lab.RELAYED if name in faults
    }
    if relayed:
        jobs.append({"kind": "relay", "peer": lab.PEER_ADDRESS, **relayed})
    if lab.FRAMES in faults:
        jobs.append({"kind": "frames", "device": "out0"})
    if lab.TRAFFIC in faults:
        rate = str(int(units.parse(units.BitsPerSecond, faults[lab.TRAFFIC])))
        jobs.append({"kind": "traffic", "peer": lab.PEER_ADDRESS, "rate_bps": rate})
    return jobs


def _helper(job: dict[str, str]) -> subprocess.Popen[str]:
    """One of them, once it is ready; it ends with the namespaces."""
    words = ["ip", "netns", "exec", lab.ROUTER, *apart("dsec_cli.netcheck.lab_relay")]
    one = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert one.stdin is not None
    assert one.stdout is not None
    one.stdin.write(json.dumps(job) + "\n")
    one.stdin.flush()
    if one.stdout.readline() != "ready\n":
        raise lab.LabProblem(f"the router's program for {job['kind']} did not start", hint=f"needs {lab.TUN}")
    return one


def _enter(name: str) -> None:
    """This process into a namespace, with that one's /sys."""
    descriptor = os.open(f"/run/netns/{name}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _NEW_NETWORK):
        raise lab.LabProblem(f"cannot enter namespace {name}: {os.strerror(ctypes.get_errno())}")
    os.close(descriptor)
    subprocess.run(["mount", "-t", "sysfs", "none", "/sys"], capture_output=True, check=False)


def _command(words: list[str], token: bytes) -> int:
    """The user's command on the near host, with a token file for it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "token")
        with open(
            path, "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)
        ) as file:
            file.write(token.decode())
        environ = {**os.environ, "DSEC_NETCHECK_TOKEN_FILE": path}
        with open("/dev/tty" if _terminal() else os.devnull, encoding="utf-8") as terminal:
            try:
                code = subprocess.run(words, env=environ, stdin=terminal, check=False).returncode
            except OSError as problem:
                raise lab.LabProblem(f"{words[0]}: {problem.strerror or problem}") from None
            return code if code >= 0 else 128 - code


def _terminal() -> bool:
    """Whether somebody sits there: the job itself came by a pipe."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError:
        return False
    return sys.stdout.isatty()


def _measured(
    job: dict[str, Any], token: bytes, peer: subprocess.Popen[str], faults: dict[str, str]
) -> dict[str, Any]:
    def tell(what: str) -> None:
        if lab.DIES in faults and what == faults[lab.DIES]:
            threading.Thread(target=_kill_later, args=(peer,), daemon=True).start()

    wish = Wish(tuple(job["probes"]), job["span_ms"], job["stream_bps"], job["streams"], job["engine"])
    replay = Replay({"b": (lab.PEER_ADDRESS, PORT)}, token, wish=wish, tell=tell)
    wants = Wants(*job["wants"])
    flow = parse_flow(job["flow"])
    try:
        floor, legs = replayed(replay, [flow], wants)
    finally:
        replay.close()
        peer.kill()
    return {"floor": encode(floor), "legs": encode(legs), "router": router_counts()}


def _kill_later(peer: subprocess.Popen[str]) -> None:
    time.sleep(_DEATH_MS / 1000)  # in the middle of the probe, not before it
    peer.kill()


def router_counts() -> dict[str, int]:
    """What the router itself has dropped: by its queues, and by its rules."""
    drops = 0
    for row in json.loads(_run((lab.ROUTER, "tc", "-s", "-j", "qdisc", "show"))):
        if row.get("kind") == "tbf":
            drops += int(row.get("drops", 0))
    counted = 0
    try:
        rules = json.loads(_run((lab.ROUTER, "nft", "-j", "list", "ruleset")))
    except lab.LabProblem:
        rules = {}
    for row in rules.get("nftables", []):
        for part in row.get("rule", {}).get("expr", []):
            counted += int(part["counter"]["packets"]) if "counter" in part else 0
    return {"queue_drops": drops, "rule_packets": counted}


if __name__ == "__main__":
    sys.exit(main())
