"""A resident worker: `python -P -m dsec.worker`, calls the functions it is told to and answers.

Descriptor 3 is a sequenced-packet socket. A call is a packet with one JSON object {id, call, step,
iteration, attempt, args, carried}. An answer is a packet `ID FROM TO CPU CAUSE TEXT`: FROM and TO say
which bytes of the worker's log (descriptors 1 and 2) belong to the call; CPU is what all threads of
this process took meanwhile, in microseconds; CAUSE is `ok`, and TEXT the
result as JSON, or it names the failure, and TEXT is a line about it. End of file means: leave.
A packet {ask: empty_cache} is no call and has no answer: the memory that libraries keep in reserve on
GPUs is given back, once the call in hand is over.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

from dsec.frames import FRAME_BYTES, QUICK_S, RESULT_BYTES
from dsec.sdk import StepContext, show_stacks, split_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

SOCKET = 3
_TOLD = (
    ("DSEC_STEP", "step"),
    ("DSEC_ITERATION", "iteration"),
    ("DSEC_ATTEMPT", "attempt"),
    ("DSEC_CARRIED", "carried"),
)


class BadResultError(Exception):
    """The function returned something that the journal cannot keep."""


def serve() -> None:
    """Answer calls until the executor closes the socket."""
    os.set_inheritable(SOCKET, False)
    show_stacks()
    # What is called is the user's own and lies there; all of ours is imported by now.
    sys.path.insert(0, os.environ["DSEC_CONTRACT_DIR"])
    functions: dict[str, Callable[..., object]] = {}
    surroundings = Surroundings()
    incoming = Incoming()
    end = os.fstat(1).st_size
    while packet := incoming.next():
        call = json.loads(packet)
        if "id" not in call:
            _asked(call)
            continue
        begin = end  # what threads print between two calls is found with the later one
        cpu_ns = time.process_time_ns()
        cause, text = _answer(call, functions, surroundings)
        sys.stdout.flush()
        sys.stderr.flush()
        cpu_us = (time.process_time_ns() - cpu_ns) // 1000
        end = os.fstat(1).st_size
        os.write(SOCKET, f"{call['id']} {begin} {end} {cpu_us} {cause} {text}".encode())


def _asked(request: dict[str, Any]) -> None:
    """Do what is asked between two calls; a newer executor may ask for what we do not know."""
    if request.get("ask") == "empty_cache":
        from dsec.caches import empty_caches  # few are ever asked

        os.write(1, f"dsec: asked for memory back; {empty_caches(sys.modules)}\n".encode())


class Incoming:
    """The calls, one by one; b"" when there will be no more."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._poll.register(SOCKET, select.POLLIN)
        self._quick = False

    def next(self) -> bytes:
        """The next packet. After a quick one it is looked for a moment before this process sleeps."""
        began = time.monotonic()
        if self._quick:
            until = began + QUICK_S
            look = self._poll.poll
            while not look(0) and time.monotonic() < until:
                pass
        packet = os.read(SOCKET, FRAME_BYTES)
        self._quick = time.monotonic() - began < QUICK_S
        return packet


def _answer(
    call: dict[str, Any], functions: dict[str, Callable[..., object]], surroundings: Surroundings
) -> tuple[str, str]:
    """Carry the call out; cause and text of the answer."""
    try:
        function = functions.get(call["call"])
        if function is None:
            function = functions[call["call"]] = _import(call["call"])
        return "ok", _kept(function(surroundings.context(call), **call["args"]))
    except BadResultError as problem:
        return "bad-result", _line(str(problem))
    except BaseException as problem:  # noqa: BLE001  # whatever it is (SystemExit, too): the Step failed
        import traceback

        traceback.print_exc()
        text = "".join(traceback.format_exception_only(problem)).strip().splitlines()
        return "raised", _line(text[-1] if text else type(problem).__name__)


def _line(text: str) -> str:
    return " ".join(text[:500].split()).encode("utf-8", "replace").decode()


def _kept(result: object) -> str:
    """The result as JSON text, in one line of ASCII."""
    if result is None:
        return "null"
    try:
        text = json.dumps(result, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadResultError(f"{type(result).__name__} is no JSON value: {problem}") from None
    if len(text) > RESULT_BYTES:
        raise BadResultError(
            f"{len(text)} bytes of JSON, {RESULT_BYTES} are kept; write it to a file (dsec.sdk.publish)"
        )
    return text


def _import(target: str) -> Callable[..., object]:
    """`module:function`, imported."""
    module, _, name = target.partition(":")
    __import__(module)
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{target} is {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]


class Surroundings:
    """What the environment says of the run, read once, and of the call, kept current."""

    def __init__(self) -> None:
        self._run = os.environ["DSEC_RUN"]
        self._run_dir = os.environ["DSEC_RUN_DIR"]
        self._contract_dir = os.environ["DSEC_CONTRACT_DIR"]
        self._split = split_of(os.environ)
        self._gpu_count = int(os.environ.get("DSEC_GPU_COUNT", "0"))
        self._told: dict[str, object] = {}

    def context(self, call: dict[str, Any]) -> StepContext:
        """The call's context, also put where `dsec.sdk.context()` looks."""
        told = self._told
        for key, name in _TOLD:
            value = call[name]
            if told.get(key) != value:  # os.environ encodes and copies at every access
                told[key] = value
                os.environ[key] = _carried(value) if name == "carried" else str(value)
        return StepContext(
            self._run,
            call["step"],
            call["iteration"],
            call["attempt"],
            self._run_dir,
            self._contract_dir,
            call["carried"],
            gpu_count=self._gpu_count,
            **self._split,
        )


def _carried(carried: dict[str, int]) -> str:
    return ",".join(f"{step}={earlier}" for step, earlier in carried.items())


if __name__ == "__main__":
    serve()
