"""What is in a snapshot, what takes the space, what is missing and why."""

from __future__ import annotations

from dsec_cli.cells import padded, shown
from dsec_cli.snapshot.codediff import entries
from dsec_cli.snapshot.manifest import ABSENT, PRESENT
from dsec_cli.snapshot.sections.hardware import kinds
from dsec_cli.snapshot.spelling import readable
from dsec_cli.snapshot.views.quantities import counted, moment, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dsec_cli.snapshot.manifest import Manifest, Plain, Section
    from dsec_cli.snapshot.shelf import View

    Paint = Callable[[str, str], str]

FORMAT = "dsec.snapshot-inspect/1"
_STATES = {"present": "32", "partial": "33", "absent": "2"}
_KINDS = {"manual": "taken by hand", "start": "start of", "light": "during", "finish": "end of"}
MOST = 10


def title(manifest: Manifest) -> str:
    """Name, id, time and occasion in a line."""
    what = _KINDS.get(manifest.kind, manifest.kind)
    of = f" {manifest.job}" if manifest.job and manifest.kind != "manual" else ""
    return f"{manifest.name}  {manifest.id[:12]}  {moment(manifest.created_ms)} UTC  {what}{of}"


def render(view: View, *, paint: Paint, top: int = MOST) -> str:
    """The page for a terminal."""
    rows = list(view.manifest.sections)
    wide = max((len(row.name) for row in rows), default=0)
    lines = [paint(shown(title(view.manifest)), "1"), ""]
    for row in rows:
        told = row.reason if row.status == ABSENT else told_of(view, row)
        state = paint(f"{row.status:<8}", _STATES.get(row.status, ""))
        takes = "" if row.status == ABSENT else size(row.size)
        lines.append(f"{padded(row.name, wide)}  {state} {takes:>10}  {shown(told)}".rstrip())
        if row.status not in (ABSENT, PRESENT):
            lines.append(f"{' ' * wide}  {paint('why partial: ' + shown(row.reason), '33')}")
    code = view.side("code")
    if code.status != ABSENT:
        lines += _of_code(code.data, paint)
        lines += _largest(view, top, paint)
    return "".join(f"{line}\n" for line in lines)


def told_of(view: View, section: Section) -> str:
    """One section in a few words."""
    teller = _TELLERS.get(section.name)
    return teller(view.side(section.name).data) if teller is not None else ""


def _code(data: Plain) -> str:
    git = data["git"]
    told = counted(data["files"], "file")
    if git is None:
        return f"{told}, not in git"
    at = f"commit {git['commit'][:12]}" if git["commit"] else "no commit yet"
    branch = f" on {git['branch']}" if git["branch"] else ""
    changed = len(data["states"])
    return f"{told}, {at}{branch}" + (
        f", {counted(changed, 'path')} not as committed" if changed else ", clean"
    )


def _dependencies(data: Plain) -> str:
    return f"Python {data['python']['version']}, {counted(len(data['packages']), 'package')}" + (
        f", {len(data['conda'])} of conda" if data["conda"] else ""
    )


def _environment(data: Plain) -> str:
    return f"{counted(len(data['values']), 'value')}, {len(data['hidden'])} hidden (digests only)"


def _hardware(data: Plain) -> str:
    gpus = ", ".join(kinds(data["gpus"])) or "no GPU"
    driver = f", driver {data['driver']}, CUDA {data['cuda']}" if data["driver"] else ""
    return f"{gpus}{driver}, {data['cpu_m'] / 1000:g} cores"


def _run(data: Plain) -> str:
    results = f", {counted(len(data['results']), 'declared output')}" if data["results"] else ""
    return f"{data['job']}: {data['outcome']}, plan {data['plan'][:12]}{results}"


def _data(data: Plain) -> str:
    return f"{counted(len(data['dependencies']), 'dependency', 'dependencies')}, {len(data['named'])} named"


_TELLERS: dict[str, Callable[[Plain], str]] = {
    "code": _code,
    "dependencies": _dependencies,
    "environment": _environment,
    "command": lambda data: " ".join(data["argv"]),
    "hardware": _hardware,
    "kernel": lambda data: f"{data['release']}, {len(data['sysctls'])} parameters",
    "mounts": lambda data: counted(len(data["mounts"]), "mount"),
    "libraries": lambda data: counted(len(data["objects"]), "shared object"),
    "data": _data,
    "checks": lambda data: " and ".join(name for name in ("doctor", "netcheck") if data[name] is not None),
    "seeds": lambda data: counted(len(data["stated"]) + len(data["told"]), "seed"),
    "run": _run,
    "settings": lambda data: f"dsec {data['dsec']}",
    "state": lambda data: counted(data["files"], "file"),
}


def _of_code(data: Plain, paint: Paint) -> Iterator[str]:
    """What is not in the code as it is on the disk."""
    told = data["redacted"]
    if told:
        yield ""
        yield paint(f"{counted(len(told), 'secret')} replaced by keyed digests", "1")
        yield from (
            f"  {shown(one['path'])}:{one['line']}  {one['kind']}  {one['digest']}" for one in told[:MOST]
        )
        yield from _more(told)
    if data["withheld"]:
        yield ""
        yield paint("Withheld, as their names say that they are secrets", "1")
        yield from (f"  {shown(one['path'])}" for one in data["withheld"][:MOST])
        yield from _more(data["withheld"])
    if data["left_out"]:
        yield ""
        yield paint(f"Left out: {counted(len(data['left_out']), 'path')}", "1")
        yield from (f"  {shown(one['path'])}  {one['why']}" for one in data["left_out"][:MOST])
        yield from _more(data["left_out"])


def _more(rows: list[Plain]) -> Iterator[str]:
    if len(rows) > MOST:
        yield f"  ... and {len(rows) - MOST} more (--json)"


def largest(view: View, top: int) -> list[tuple[int, str]]:
    """The files that take the most, with their sizes."""
    side = view.side("code")
    if side.status == ABSENT:
        return []
    found = sorted((-entry.size, path) for path, entry in entries(side).items() if entry.kind == "file")
    return [(-count, readable(path)) for count, path in found[:top]]


def _largest(view: View, top: int, paint: Paint) -> Iterator[str]:
    found = largest(view, top)
    if found:
        yield ""
        yield paint("Takes the most space", "1")
        yield from (f"  {size(count):>10}  {shown(name)}" for count, name in found)


def document(view: View, top: int) -> Plain:
    """The same for programs, with the whole of every section."""
    manifest = view.manifest
    return {
        "format": FORMAT,
        "name": manifest.name,
        "id": manifest.id,
        "created_ms": manifest.created_ms,
        "kind": manifest.kind,
        "job": manifest.job or None,
        "version": manifest.version,
        "sections": {
            one.name: {
                "status": one.status,
                "reason": one.reason or None,
                "bytes": one.size,
                "data": view.side(one.name).data,
            }
            for one in manifest.sections
        },
        "largest": [{"path": name, "bytes": count} for count, name in largest(view, top)],
    }
