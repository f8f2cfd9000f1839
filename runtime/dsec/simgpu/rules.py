"""The rules of a scenario: which there are, and how `--set` writes one."""

from __future__ import annotations

import re

from dsec.errors import DSecError
from dsec.words import say

MACHINE_KEYS = ("count", "count_error", "crash", "down", "driver", "hang", "include", "init", "start")
GPU_KEYS = (
    "architecture",
    "brand",
    "capability",
    "clock",
    "compute_mode",
    "cpus",
    "decoder",
    "display",
    "driver_model",
    "ecc",
    "ecc_corrected",
    "ecc_uncorrected",
    "encoder",
    "energy",
    "error",
    "fan",
    "fans",
    "graphics_pid",
    "handle_error",
    "holders",
    "instance",
    "level",
    "lost",
    "max_clock",
    "memory_utilization",
    "mig",
    "mps_pid",
    "name",
    "numa",
    "nvlink_rx",
    "nvlink_tx",
    "pcie_counters",
    "pcie_generation",
    "pcie_rx",
    "pcie_tx",
    "pcie_width",
    "peer",
    "persistence",
    "pid",
    "power",
    "power_limit",
    "power_mode",
    "pstate",
    "reserved",
    "switch",
    "temperature",
    "threshold",
    "throttle",
    "told",
    "total",
    "used",
    "utilization",
    "xid",
)
_TEXTS = {
    "count": r"\d|\d\d|1[01]\d|12[0-8]",
    "cpus": r"\d+-\d+",
    "driver": r"\S+",
    "error": r"\w+ \d+",
    "graphics_pid": r"\d+ -?\d+( \d+)?",
    "holders": r"rss|\d+",
    "include": r".+",
    "instance": r"\S+ \d+",
    "level": r"(\*|\d+) \d+",
    "mps_pid": r"\d+ -?\d+( \d+)?",
    "name": r".+",
    "peer": r"\d+ \d+",
    "pid": r"\d+ -?\d+( \d+)?",
    "utilization": r"holders|\d+|ramp( \d+(\.\d+)?){3}",
}
"""What stands behind a key where it is not one number."""
_NUMBER = r"\d+|ramp( \d+(\.\d+)?){3}"
_TIME = r"\d+(\.\d+)?(ms|s|m|h)"
_LINE = re.compile(rf"(@{_TIME}(-{_TIME})? )?(?P<gpu>gpu (\*|\d+) )?(?P<key>\w+) (?P<value>.*)", re.ASCII)
_SET = re.compile(
    rf"(gpu=(?P<gpu>\*|\d+),)?(?!gpu=)(?P<key>\w+)(=(?P<value>.*?))?(?P<when>@{_TIME}(-{_TIME})?)?"
)
_LONGEST = 159
"""Characters of a text that the library keeps."""


class ScenarioProblem(DSecError):
    """A rule that the simulation does not know."""


def check(text: str, name: str) -> None:
    """Raise ScenarioProblem with the first line that is no rule."""
    for number, line in enumerate(text.splitlines(), 1):
        reason = wrong(line.strip())
        if reason:
            raise ScenarioProblem(
                say("{name}:{number}: {reason}", name=name, number=number, reason=reason),
                hint=say("one rule a line, as in: {example}", example="@10s gpu 3 lost 1"),
            )


def wrong(line: str) -> str:
    """What is wrong with a line; "": it is a rule, or says nothing."""
    if not line or line.startswith("#"):
        return ""
    match = _LINE.fullmatch(line) if line.isprintable() else None
    if match is None:
        return say("{line} is no rule", line=repr(line[:60]))
    of_gpu, key, value = match["gpu"] is not None, match["key"], match["value"].strip()
    known = GPU_KEYS if of_gpu else MACHINE_KEYS
    if key not in known:
        return _unknown(key, of_gpu=of_gpu)
    too_long = len(value) > _LONGEST and key != "include"
    if too_long or re.fullmatch(_TEXTS.get(key, _NUMBER), value, re.ASCII) is None:
        return say("{value} is no value of {key}", value=repr(value[:60]), key=key)
    return ""


def _unknown(key: str, *, of_gpu: bool) -> str:
    from difflib import get_close_matches

    if key in (MACHINE_KEYS if of_gpu else GPU_KEYS):
        place = say("of the machine") if of_gpu else say("of a GPU (gpu N)")
        return say("{key} is a rule {place}", key=key, place=place)
    near = get_close_matches(key, GPU_KEYS if of_gpu else MACHINE_KEYS, 1)
    if near:
        return say("there is no rule {key}; did you mean {near}?", key=key, near=near[0])
    return say("there is no rule {key}", key=key)


def rule(text: str) -> str:
    """The line that `gpu=3,lost@10s` stands for; raises ScenarioProblem.

    `KEY` alone is `KEY=1`, and colons in a value stand for blanks: `temperature=ramp:45:95:60`.
    """
    match = _SET.fullmatch(text.strip()) if text.strip().isprintable() else None
    if match is None:
        raise ScenarioProblem(
            say("{text} is no rule", text=repr(text[:60])),
            hint=say("write [gpu=N,]KEY[=VALUE][@FROM[-UNTIL]], for example gpu=3,lost@10s"),
        )
    value = "1" if match["value"] is None else match["value"].replace(":", " ")
    when = f"{match['when']} " if match["when"] else ""
    gpu = f"gpu {match['gpu']} " if match["gpu"] else ""
    line = f"{when}{gpu}{match['key']} {value}"
    reason = wrong(line)
    if reason:
        raise ScenarioProblem(
            say("{text}: {reason}", text=text.strip(), reason=reason),
            hint=say("write [gpu=N,]KEY[=VALUE][@FROM[-UNTIL]], for example gpu=3,lost@10s"),
        )
    return line
