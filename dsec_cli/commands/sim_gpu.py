"""`dsec sim-gpu`: run a command on a machine with simulated GPUs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from dsec.devices.host import SIMULATED
from dsec.devices.profiles import names
from dsec.devices.visible import MASK
from dsec.errors import FileProblem
from dsec.inventory import AMPLE_CPU_M
from dsec.simgpu import building, scenario
from dsec.simgpu.rules import ScenarioProblem, rule
from dsec_cli.commands.cached import cache_folder
from dsec_cli.commands.speaking import listener
from dsec_cli.exit import UsageError
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.inventory import Inventory
    from dsec_cli.options import Args
    from dsec_cli.report.format import Tell

_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)
_NO_PROGRAM = 127
"""As a shell says it."""


def main(args: Args) -> int:
    """The exit code of the command, or 128 and the signal that ended it."""
    tell = listener(args.lang)
    if args.list:
        return _list(tell)
    if not args.command:
        raise UsageError(
            say("which command is to see the simulated GPUs?"),
            hint=say("write it last: dsec sim-gpu --profile 8xh100 -- dsec inventory"),
        )
    rules, driver, box = _rules(args)
    library = building.library(_cache(), os.environ, old=building.age(driver))
    folder = tempfile.mkdtemp(prefix="dsec-sim-gpu-")
    try:
        path = os.path.join(folder, "scenario.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"start {time.monotonic_ns() // 1_000_000}\n{rules}")
        if not args.quiet:
            line = say("dsec sim-gpu: the rules in {path} are read again while the command runs", path=path)
            sys.stderr.write(f"{tell(line)}\n")
        return _carried_out(args.command, _environment(library, path, box))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _list(tell: Tell) -> int:
    sys.stdout.write(tell(say("Boxes (--profile), and COUNTxTYPE:")) + "\n")
    sys.stdout.writelines(f"  {name}\n" for name in names())
    sys.stdout.write(tell(say("Scenarios (--scenario), and files:")) + "\n")
    sys.stdout.writelines(f"  {name:14}{tell(what)}\n" for name, what in scenario.READY.items())
    return 0


def _rules(args: Args) -> tuple[str, str, Inventory]:
    """The rules, the driver's version that they state, and the box; later rules win, own ones come last."""
    try:
        box = scenario.box(args.profile)
        parts = [scenario.of_box(box)]
        paths = [scenario.path_of(name) for name in args.scenario]
        own = "".join(f"{rule(text)}\n" for text in args.set)
    except ScenarioProblem as problem:
        raise UsageError(problem.what, hint=problem.hint) from problem
    stated = "".join(map(scenario.checked, paths)) + own
    if " count " not in f" {stated}".replace("\n", " "):
        _know_gpus(args.set, own, len(box.devices))
    parts += [f"include {path}\n" for path in paths]
    return "".join(parts) + own, scenario.driver(stated), box


def _know_gpus(texts: Iterable[str], rules: str, count: int) -> None:
    """Refuse rules of GPUs that the box does not have."""
    for text, line in zip(texts, rules.splitlines(), strict=True):
        _, named, rest = f" {line}".partition(" gpu ")
        number = rest.split(" ")[0]
        if named and number.isdecimal() and int(number) >= count:
            raise UsageError(
                say("--set {text}: the box has no GPU {number}", text=text, number=number),
                hint=say("it has {count}, counted from 0; --profile names another box", count=count),
            )


def _cache() -> str:
    lint = cache_folder()
    if lint:
        return os.path.join(os.path.dirname(lint), "sim-gpu")
    # Without a home (a service, a container) it is where runs keep what is this user's alone.
    from dsec.portbook import runtime_folder

    try:
        return os.path.join(runtime_folder(os.environb), "sim-gpu")
    except OSError as problem:
        raise FileProblem(
            say("{path}: {why}", path=problem.filename, why=system(problem)),
            hint=say("remove it, or name another folder in {name}", name="DSEC_CACHE_DIR"),
        ) from None


def _environment(library: str, path: str, box: Inventory) -> dict[str, str]:
    """What makes programs find the simulated library and the box's host, and no GPU hidden from them."""
    environ = {key: value for key, value in os.environ.items() if key != MASK}
    before = environ.get("LD_LIBRARY_PATH", "")
    environ["LD_LIBRARY_PATH"] = f"{library}:{before}" if before else library
    environ["SIM_GPU_SCENARIO"] = path
    cpu = "" if box.cpu_m == AMPLE_CPU_M else box.cpu_m
    environ[SIMULATED] = f"{cpu},{box.memory_bytes or ''}"
    return environ


def _carried_out(command: tuple[str, ...], environ: dict[str, str]) -> int:
    try:
        child = subprocess.Popen(command, env=environ)
    except OSError as problem:
        from dsec.words import system
        from dsec_cli.exit import tell

        tell(f"dsec: error: {command[0]}: {system(problem)}")
        return _NO_PROGRAM
    for number in _PASSED_ON:
        signal.signal(number, lambda received, _: child.send_signal(received))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal has told the command itself
    code = child.wait()
    return code if code >= 0 else 128 - code
