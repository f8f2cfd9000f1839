"""What differs between two states of the code: files, lines with the function they are in, commits."""

from __future__ import annotations

import re

from dsec.store import Missing
from dsec_cli.snapshot.hunks import first_change, hunks, is_text
from dsec_cli.snapshot.manifest import ABSENT
from dsec_cli.snapshot.redaction import masked
from dsec_cli.snapshot.section import Difference
from dsec_cli.snapshot.spelling import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store import Store, TreeEntry
    from dsec_cli.snapshot.section import Hunk, Pair, Side

MOST_TEXT = 2 << 20
"""A larger file is told as changed, not by its lines."""
_NAMES = (
    r"lr|learning_rate|batch_size|batch|epochs?|gamma|beta[12]?|epsilon|eps|clip\w*|"
    r"temperature|top_[pk]|weight_decay|warmup\w*|momentum|dropout|kl\w*|entropy\w*|group_size|"
    r"max_(?:new_)?tokens|max_steps|steps|hidden\w*|layers|rank|alpha"
)
_TUNED = re.compile(
    rf"\b(?P<name>(?:\w+_)?(?:{_NAMES}))\b[\"']?\s*[:=]\s*[^=]",
    re.IGNORECASE,
)
_VALUE = r"(?:[ \t=]{1,20}[\"']?|[\"'][ \t]{0,20},[ \t]{0,20}[\"']?)[+-]?\.?\d"
"""A number behind the name of an argument, or as the next word of a list."""
_FLAG = re.compile(
    rf"(?<![\w-])--?(?P<name>(?:[\w-]{{1,40}}[-_])?(?:{_NAMES.replace('_', '[-_]')}))(?![\w-])"
    rf"{_VALUE}",
    re.IGNORECASE,
)
"""The same as an argument of a command: `--lr 3e-4`, `["--batch-size", "8"]`."""
_SEED = re.compile(
    r"\b(?:\w*seed\w*)\b\s*[\"']?\s*[(:=]|"
    r"(?<![\w-])--?(?:[\w-]{1,40}[-_])?seed(?![\w-])" + _VALUE,
    re.IGNORECASE,
)
_SEEDED, _TUNING, _MEANT, _LAYOUT, _OTHER_FILE = 98, 94, 70, 3, 30


def compare(pair: Pair) -> Iterator[Difference]:
    """Files that differ, then what git says differently."""
    if ABSENT in (pair.before.status, pair.after.status):
        return
    yield from files(pair)
    yield from _git(pair.before.data.get("git") or {}, pair.after.data.get("git") or {})


def _git(before: dict[str, object], after: dict[str, object]) -> Iterator[Difference]:
    for name, weight in (("commit", 8), ("branch", 2), ("busy", 2)):
        one, two = before.get(name), after.get(name)
        if one != two:
            yield Difference("code", "changed", name, str(one or ""), str(two or ""), weight)


def files(pair: Pair) -> Iterator[Difference]:
    """Files that were renamed, came, went or changed, by name."""
    removed, added, changed = _sorted_out(pair)
    gone = {entry.content: path for path, entry in removed.items() if entry.kind == "file"}
    for path, entry in sorted(added.items()):
        old = gone.pop(entry.content, None) if entry.kind == "file" else None
        if old is None:
            yield _whole("added", path, entry)
        else:
            del removed[old]
            yield Difference(
                "code", "renamed", spelled(path), spelled(old), spelled(path), 20, path=spelled(path)
            )
    for path, entry in sorted(removed.items()):
        yield _whole("removed", path, entry)
    for path, (old_entry, new_entry) in sorted(changed.items()):
        yield _changed(pair, path, old_entry, new_entry)


_Sorted = tuple[
    "dict[bytes, TreeEntry]", "dict[bytes, TreeEntry]", "dict[bytes, tuple[TreeEntry, TreeEntry]]"
]


_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:[^\n]{1,200}\n){0,9}?"
    rb"oid sha256:(?P<oid>[0-9a-f]{64})\n"
    rb"size (?P<size>\d{1,20})\n"
)


_ANNEXED = re.compile(
    rb"(?:/annex/objects/|[./]{0,60}\.git/annex/objects/\S{0,40}/)(?P<key>[\w.=-]{1,255})\n?"
)


def _sorted_out(pair: Pair) -> _Sorted:
    """Entries that only one side has, and those of both that differ."""
    before, after = dict[bytes, "TreeEntry"](), dict[bytes, "TreeEntry"]()
    if pair.before.store is pair.after.store:
        before, after = entries(pair.before, "redacted"), entries(pair.after, "redacted")
        for change in pair.before.store.diff(pair.before.trees["code"], pair.after.trees["code"]):
            if change.before is not None and change.before.kind != "dir":
                before[change.path] = change.before
            if change.after is not None and change.after.kind != "dir":
                after[change.path] = change.after
    else:
        before, after = entries(pair.before), entries(pair.after)
    changed = {
        path: (entry, after[path])
        for path, entry in before.items()
        if path in after and _differ(entry, after[path])
    }
    removed = {path: entry for path, entry in before.items() if path not in after}
    added = {path: entry for path, entry in after.items() if path not in before}
    return removed, added, changed


def _differ(one: TreeEntry, two: TreeEntry) -> bool:
    if (one.kind, one.content, one.target) != (two.kind, two.content, two.target):
        return True
    return one.kind == "file" and bool(one.mode & 0o100) != bool(two.mode & 0o100)


def entries(side: Side, *labels: str) -> dict[bytes, TreeEntry]:
    """Files and links of the code by path, those without their secrets among them.

    `labels`: of these trees only.
    """
    found: dict[bytes, TreeEntry] = {}
    for label in labels or ("code", "redacted"):
        if label in side.trees:
            found.update(
                (entry.path, entry) for entry in side.store.tree(side.trees[label]) if entry.kind != "dir"
            )
    return found


def content(store: Store, entry: TreeEntry) -> bytes | None:
    """The bytes of a file; None: it is large, or its content is not kept here."""
    if entry.kind == "link":
        return entry.target
    if entry.size > MOST_TEXT:
        return None
    try:
        return b"".join(store.content(entry))
    except Missing:
        return None


def _whole(kind: str, path: bytes, entry: TreeEntry) -> Difference:
    told = "link" if entry.kind == "link" else f"{entry.size} bytes"
    before, after = ("", told) if kind == "added" else (told, "")
    return Difference("code", kind, spelled(path), before, after, _OTHER_FILE, path=spelled(path))


def _changed(pair: Pair, path: bytes, old: TreeEntry, new: TreeEntry) -> Difference:
    name = spelled(path)
    before, after = content(pair.before.store, old), content(pair.after.store, new)
    told = _sized(old, before), _sized(new, after)
    blank = Difference("code", "changed", name, *told, _OTHER_FILE, path=name)
    if old.kind != new.kind:
        return blank
    if before is None or after is None or not (is_text(before) and is_text(after)):
        return blank
    if before == after:
        modes = (f"mode {old.mode:o}", f"mode {new.mode:o}")
        return blank._replace(before=modes[0], after=modes[1], weight=5)
    if pair.before.key != pair.after.key:
        before, after = masked(before), masked(after)
        if before == after:
            why = "only secrets may differ, whose digests were made with other keys"
            return blank._replace(kind="unknown", before=why, after=why, weight=1)
    one, two = (text.decode("utf-8", "backslashreplace") for text in (before, after))
    found = hunks(one, two, name)
    if not found:  # only how lines end
        return blank._replace(before=_endings(before), after=_endings(after), weight=_LAYOUT)
    weight, cause = judge(name, one, two, found)
    return blank._replace(
        before="", after="", weight=weight, cause=cause, line=first_change(found[0]), hunks=found
    )


def _sized(entry: TreeEntry, data: bytes | None) -> str:
    """What a file is as a whole: its size, or what a link or a pointer of Git LFS or git-annex stands for."""
    if entry.kind == "link":
        return f"a link to {spelled(entry.target)}"
    if data is not None and (annexed := _ANNEXED.fullmatch(data)) is not None:
        return f"a pointer of git-annex to {annexed['key'].decode()[:60]}"
    hit = _POINTER.match(data) if data is not None else None
    if hit is None:
        return f"{entry.size} bytes"
    return f"a pointer of Git LFS to {hit['size'].decode()} bytes, sha256 {hit['oid'][:12].decode()}"


def _endings(data: bytes) -> str:
    """How the lines of a text end."""
    pairs, line_feeds = data.count(b"\r\n"), data.count(b"\n")
    returns = data.count(b"\r") - pairs
    kinds = [name for name, count in (("CRLF", pairs), ("LF", line_feeds - pairs), ("CR", returns)) if count]
    last = "" if data.endswith((b"\n", b"\r")) or not data else ", the last one not ended"
    return f"lines end with {' and '.join(kinds) or 'nothing'}{last}"


def judge(name: str, before: str, after: str, found: tuple[Hunk, ...]) -> tuple[int, str]:
    """How much a change of a file means for what a run computes, and why."""
    if name.endswith((".py", ".pyi")) and _same_meaning(before, after):
        return _LAYOUT, ""
    lines = [text for hunk in found for sign, text in hunk.lines if sign != " "]
    if any(_SEED.search(line) for line in lines):
        return _SEEDED, "a seed is set here"
    hits = (hit for line in lines for shape in (_TUNED, _FLAG) for hit in shape.finditer(line))
    names = sorted({hit["name"].replace("-", "_") for hit in hits})
    if names:
        return _TUNING, f"a hyper-parameter is set here: {', '.join(names[:4])}"
    return (_MEANT if name.endswith((".py", ".yaml", ".yml", ".json", ".toml", ".sh")) else _OTHER_FILE), ""


def _same_meaning(before: str, after: str) -> bool:
    """Whether two Python texts differ in comments and layout only."""
    import ast  # who takes a snapshot compares nothing

    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
