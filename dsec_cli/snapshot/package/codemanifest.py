"""`code_manifest.json`: every file of the code with its BLAKE3, and how it stands to the commit. Pure."""

from __future__ import annotations

from dsec_cli.snapshot.spelling import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec.store import TreeEntry
    from dsec_cli.snapshot.manifest import Plain

FORMAT = "dsec.code-manifest/1"


def described(code: Plain, trees: Iterable[tuple[str, Iterable[TreeEntry]]]) -> Plain:
    """The manifest of a code section and its trees, by their labels; `code` is None for an absent one."""
    if code is None:
        return {"format": FORMAT, "git": None, "files": [], "absent": True}
    states = dict(code["states"])
    files: dict[str, Plain] = {}
    for label, entries in trees:
        for entry in entries:
            if entry.kind != "dir":
                name = spelled(entry.path)
                files[name] = _file(entry, states.get(name, _clean(code)), redacted=label == "redacted")
    return {
        "format": FORMAT,
        "git": code["git"],
        "repositories": code["repositories"],
        "files": [{"path": name, **files[name]} for name in sorted(files)],
        "left_out": code["left_out"],
        "withheld": code["withheld"],
        "absent": False,
    }


def _clean(code: Plain) -> str:
    return "clean" if code["git"] is not None else "without git"


def _file(entry: TreeEntry, state: str, *, redacted: bool) -> Plain:
    if entry.kind == "link":
        return {"link": spelled(entry.target), "state": state}
    made = {"blake3": entry.content, "size": entry.size, "mode": f"{entry.mode:o}", "state": state}
    return {**made, "redacted": True} if redacted else made
