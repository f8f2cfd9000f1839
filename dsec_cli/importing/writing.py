"""A draft as the text of a contract: the same draft gives the same bytes."""

from __future__ import annotations

from dsec.units import Bytes, Duration
from dsec_cli.importing.completing import standing_cpu_m, standing_gpu, standing_memory
from dsec_cli.importing.notes import one_line
from dsec_cli.lint.rules.import_not_settled import MARK
from dsec_cli.source.spelling import spelled
from dsec_cli.words import said, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dsec_cli.importing.draft import Command, Draft, Gpu, Step
    from dsec_cli.importing.notes import Left

    Tell = Callable[[str], str]

LONGEST = 96
_LARGEST = say("What the largest Step holds.")
_UNSAID = say("The file does not say how the job takes an interruption, so it must not be interrupted.")
MOST_UNSETTLED = 100
SHOWN = 40
"""Things left behind that the head of the contract lists; --json has all."""


def write(
    draft: Draft, kind: str, *, left: tuple[Left, ...], taken: tuple[str, ...], tell: Tell = str
) -> str:
    """The contract, with what it lacks and what it assumes in comments at its top, said by `tell`."""
    head = _head(draft, kind, left, taken=taken)
    lines = [
        *(f"# {tell(text)}".rstrip() for text in head),
        'version: "1.0.0"',
        f"name: {spelled(draft.name)}",
    ]
    if draft.base:
        lines.append(f"base: {spelled(draft.base)}")
    lines += ["", *_standing(draft, tell)]
    lines += _context(draft)
    lines += ["", "steps:"]
    for at, step in enumerate(draft.steps):
        lines += ([""] if at else []) + _step(step)
    return "\n".join(lines) + "\n"


def _head(draft: Draft, kind: str, left: tuple[Left, ...], *, taken: tuple[str, ...]) -> list[str]:
    origin = one_line(draft.origin, 200)
    lines: list[str] = [say("Made of {origin} by: dsec import {kind}", origin=origin, kind=kind)]
    unsettled = tuple(one for one in left if one.open)
    left = tuple(one for one in left if not one.open)
    if unsettled:
        lines += ["", say("To be settled first: lint stops at each of these lines until it is taken out.")]
        lines += [f"{MARK} {one.line()}" for one in unsettled[:MOST_UNSETTLED]]
    if len(unsettled) > MOST_UNSETTLED:
        count = len(unsettled) - MOST_UNSETTLED
        more = say("and {count} more: dsec import {kind} --json lists them", count=count, kind=kind)
        lines.append(f"{MARK} {more}")
    if left:
        lines += ["", say("Not mapped:"), *(say("  {line}", line=one.line()) for one in left[:SHOWN])]
    if len(left) > SHOWN:
        count = len(left) - SHOWN
        more = say("and {count} more: dsec import {kind} --json lists them", count=count, kind=kind)
        lines.append(f"  {more}")
    if taken:
        lines += ["", say("Assumed:"), *(say("  {line}", line=said(text)) for text in taken)]
    return lines


def _standing(draft: Draft, tell: Tell) -> list[str]:
    gpu = standing_gpu(draft)
    memory = standing_memory(draft)
    lines = [f"# {tell(_LARGEST)}", "baseline:"]
    if gpu is not None:
        lines.append(f"  gpu: {_gpu(gpu)}")
    lines.append(f"  cpu: {_cpu(standing_cpu_m(draft))}")
    if memory is not None:
        lines.append(f"  memory: {Bytes(memory)}")
    most = 0 if gpu is None else gpu.count
    lines += ["", "elasticity:", f"  gpu: {{min_count: {most}, max_count: {most}}}", ""]
    lines += [f"# {tell(_UNSAID)}"]
    lines += ["fault_tolerance:", "  level: critical", "", "dependencies: []"]
    return lines


def _gpu(gpu: Gpu) -> str:
    parts = [f"count: {gpu.count}"]
    if gpu.memory_bytes is not None:
        parts.append(f"memory: {Bytes(gpu.memory_bytes)}")
    if gpu.type:
        parts.append(f"type: {spelled(gpu.type, flow=True)}")
    return "{" + ", ".join(parts) + "}"


def _cpu(cpu_m: int) -> str:
    return f"{cpu_m / 1000:g}" if cpu_m < 10**9 else str(cpu_m // 1000)


def _context(draft: Draft) -> list[str]:
    lines = []
    if draft.variables or draft.secrets:
        pairs = [(name, f"value: {spelled(value, flow=True)}") for name, value in draft.variables]
        pairs += [(name, f"source: {spelled(f'env://{name}', flow=True)}") for name in draft.secrets]
        lines += ["  env_vars:", *(f"    - {{name: {name}, {what}}}" for name, what in pairs)]
    if draft.mounts:
        lines.append("  mounts:")
        for mount in draft.mounts:
            mode = ", mode: rw" if mount.writable else ""
            path, source = spelled(mount.path, flow=True), spelled(mount.source, flow=True)
            lines.append(f"    - {{path: {path}, source: {source}{mode}}}")
    return ["", "runtime_context:", *lines] if lines else []


def _step(step: Step) -> list[str]:
    lines = [f"  # {one_line(step.remark, 200)}"] if step.remark else []
    lines.append(f"  - id: {spelled(step.id)}")
    if step.name and step.name != step.id:
        lines.append(f"    name: {spelled(step.name)}")
    lines += _run(step.command)
    lines += _list("needs", step.needs)
    held = _resources(step)
    if held:
        lines.append(f"    resources: {{{', '.join(held)}}}")
    lines += _list("inputs", step.inputs)
    lines += _list("outputs", step.outputs)
    if step.env:
        lines += ["    env:", *(f"      {name}: {spelled(value)}" for name, value in step.env)]
    if step.cwd:
        lines.append(f"    cwd: {spelled(step.cwd)}")
    if step.timeout_ns is not None:
        lines.append(f"    timeout: {Duration(step.timeout_ns)}")
    if step.expected_ns:
        lines.append(f"    expected_duration: {Duration(step.expected_ns)}")
    if step.retries:
        lines.append(f"    retries: {step.retries}")
    return lines


def _resources(step: Step) -> list[str]:
    held = []
    if step.gpu is not None and step.gpu.count:
        held.append(f"gpu: {_gpu(step.gpu)}")
    if step.cpu_m:
        held.append(f"cpu: {_cpu(step.cpu_m)}")
    if step.memory_bytes:
        held.append(f"memory: {Bytes(step.memory_bytes)}")
    if step.disk_bytes:
        held.append(f"disk: {Bytes(step.disk_bytes)}")
    return held


def _run(command: Command) -> list[str]:
    if command.script:
        return _script(command.script)
    if command.line:
        return [f"    run: {spelled(command.line)}"]
    words = [spelled(word, flow=True) for word in command.argv]
    one = f"    run: [{', '.join(words)}]"
    if len(one) <= LONGEST and not any("\n" in word for word in command.argv):
        return [one]
    lines = ["    run:"]
    for word in command.argv:
        lines += (
            _block("      -", "        ", word)
            if "\n" in word and _fits(word)
            else [f"      - {spelled(word)}"]
        )
    return lines


def _script(script: str) -> list[str]:
    """A block; what a block cannot hold is handed to the shell in quotes."""
    if not _fits(script):
        return [
            "    run:",
            "      - sh",
            '      - "-e"',
            '      - "-c"',
            f"      - {spelled(script, 'double')}",
        ]
    return _block("    run:", "      ", script)


def _fits(text: str) -> bool:
    return all(line.replace("\t", "").isprintable() for line in text.split("\n"))


def _block(head: str, indent: str, text: str) -> list[str]:
    """A literal block; one that begins with a blank says how far it is indented."""
    lines = text.split("\n")
    sign = "2" if lines[0][:1] in ("", " ", "\t") else ""
    return [f"{head} |{sign}", *(f"{indent}{line}" if line else "" for line in lines)]


def _list(key: str, values: tuple[str, ...]) -> list[str]:
    if not values:
        return []
    words = [spelled(value, flow=True) for value in values]
    one = f"    {key}: [{', '.join(words)}]"
    return [one] if len(one) <= LONGEST else [f"    {key}:", *(f"      - {word}" for word in words)]
