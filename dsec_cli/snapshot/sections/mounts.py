"""What is mounted where: by place, kind, source and options, without credentials."""

from __future__ import annotations

import re

from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.section import Captured, Difference, Part, absent, present

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Pair, Scene

_NO_FILES = frozenset(
    (
        *("proc", "sysfs", "devpts", "cgroup", "cgroup2", "mqueue", "debugfs", "tracefs", "securityfs"),
        *("pstore", "bpf", "configfs", "fusectl", "binfmt_misc", "hugetlbfs", "autofs", "rpc_pipefs", "nsfs"),
        *("efivarfs", "devtmpfs", "squashfs"),
    )
)
_PASSING = (
    *("/tmp/", "/var/tmp/", "/run/", "/var/run/", "/snap/"),  # noqa: S108  # places that are looked at
    *("/var/lib/docker/", "/var/lib/containers/", "/var/lib/kubelet/"),
)
"""What is mounted below comes and goes with other programs."""
_OCTAL = re.compile(r"\\([0-7]{3})")
_SECRET_OPTION = re.compile(r"(?i)\b(pass(?:word|wd)?|pw|secret|token|key|credentials?)=[^,]*")


def capture(scene: Scene) -> Captured:
    """Read the table of mounts."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(4 << 20).splitlines()
    except OSError as problem:
        return absent(f"/proc/self/mountinfo could not be read ({problem.strerror})")
    found = [one for line in lines if (one := _mount(scene, line)) is not None]
    return present({"mounts": sorted(found, key=lambda one: (one["at"], one["kind"], one["source"]))})


def _mount(scene: Scene, line: str) -> Plain | None:
    front, _, back = line.partition(" - ")
    fields, rest = front.split(" "), back.split(" ")
    if len(fields) < 6 or len(rest) < 3 or rest[0] in _NO_FILES or fields[4].startswith(_PASSING):
        return None
    options = ",".join(sorted({*fields[5].split(","), *rest[2].split(",")} - {"relatime", "noatime"}))
    source, found = scene.redactor.url(_plain(rest[1]))
    scene.redactions.extend((f"mount {_plain(fields[4])}", one) for one in found)
    clean = _SECRET_OPTION.sub(lambda hit: f"{hit[1]}={scene.redactor.instead(hit[0].encode())}", options)
    return {"at": _plain(fields[4]), "kind": rest[0], "source": source, "options": clean}


def _plain(text: str) -> str:
    raw = _OCTAL.sub(lambda hit: chr(int(hit[1], 8)), text)
    return raw.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def compare(pair: Pair) -> Iterator[Difference]:
    """By the place of the mount."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    before, after = ({one["at"]: one for one in side.data["mounts"]} for side in (pair.before, pair.after))
    for place in sorted({*before, *after}):
        one, two = before.get(place), after.get(place)
        if one == two:
            continue
        kind = "added" if one is None else "removed" if two is None else "changed"
        weight, cause = _judged(place, one, two)
        yield Difference("mounts", kind, place, _told(one), _told(two), weight, cause)


def _judged(place: str, one: Plain | None, two: Plain | None) -> tuple[int, str]:
    if place == "/dev/shm":  # noqa: S108  # a place that is looked at, not written to
        return 30, "loaders and NCCL share memory there: too little ends them"
    if one is None or two is None or one["source"] != two["source"] or one["kind"] != two["kind"]:
        return 20, ""
    return 6, ""


def _told(one: Plain | None) -> str:
    return "" if one is None else f"{one['source']} ({one['kind']}, {one['options']})"


PART = Part("mounts", "mounts", 70, capture, compare)
