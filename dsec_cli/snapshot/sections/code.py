"""The code: files as git sees them, commit, branch, remotes, what is not committed; without its secrets."""

from __future__ import annotations

import contextlib
import os
import stat

from dsec.errors import DSecError
from dsec.store import CHANGED, Damaged, Entry, Missing
from dsec.words import say
from dsec_cli.snapshot.codediff import compare
from dsec_cli.snapshot.git import GitProblem, dirty_diff
from dsec_cli.snapshot.listing import list_code
from dsec_cli.snapshot.scanned import MOST_BYTES, Scanned, Secrets, opened
from dsec_cli.snapshot.secretfiles import is_dotenv, withheld
from dsec_cli.snapshot.section import Captured, Part, absent, judged
from dsec_cli.snapshot.spelling import spelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec.store import Store, Tree
    from dsec_cli.snapshot.listing import Listing, Taken
    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.redaction import Found
    from dsec_cli.snapshot.section import Scene

MOST_DIFF = 8 << 20
"""Bytes of the difference from the commit that are kept beside the files."""
LARGEST = 10


class TooLarge(DSecError):
    """The code is larger than its budget; `largest` names the paths that make it so."""

    def __init__(self, size: int, budget: int, largest: list[tuple[int, str]]) -> None:
        super().__init__(
            say(
                "the code takes {size} MiB, more than its budget of {budget} MiB",
                size=-(-size >> 20),
                budget=budget >> 20,
            ),
            hint="let .gitignore or include-code.exclude_patterns name what is no code, or raise --budget",
        )
        self.largest = largest


def capture(scene: Scene) -> Captured:
    """Take the code in."""
    if not scene.wanted.code:
        return absent("not asked for (--include-code)")
    listing = list_code(scene.folder, scene.environ, scene.wanted.excluded)
    scene.memory["listing"] = listing
    _within(listing, scene.wanted.budget)
    scanned = Scanned(
        os.path.join(scene.state, "cache", "scanned.json"), os.fsencode(scene.folder), scene.redactor
    )
    clean, dirty = _secrets(scene, listing, scanned)
    root = os.fsencode(scene.folder)
    code = scene.store.put_tree(root, [one.entry for one in clean], times=False, exact=MOST_BYTES)
    changed = [one.path for one in code.unread if one.reason == CHANGED and not one.kept]
    aside = [path for path in changed if _aside(scene, path, dirty, scanned)]
    trees = [("code", code.id)]
    size = code.size_bytes
    if dirty.files:
        redacted, its_size = _redacted(scene, dirty, scanned)
        trees.append(("redacted", redacted))
        size += its_size
    scanned.keep(sum([not one.link for one in listing.taken]))
    if scanned.unread:
        dirty.reasons.append(f"{len(scanned.unread)} files were not looked at for secrets (too large)")
    contents, diffed = _diff(scene, listing, dirty)
    data = {**_facts(scene, listing, dirty), "files": code.files + len(dirty.files), "bytes": size}
    data["redacted"], data["withheld"] = dirty.told, dirty.withheld
    reasons = [*listing.reasons, *diffed, *_unread(code, aside), *dirty.reasons]
    return judged(reasons, data, trees=tuple(trees), contents=contents, size=size)


class _Dirty:
    """Files with secrets in them."""

    def __init__(self, all_names: dict[bytes, str], names: dict[bytes, str]) -> None:
        self._told = {**all_names, **names}
        self.names = names
        """Paths that hold a secret themselves, or lead to one that does, and how they are told."""
        self.files: dict[bytes, bytes | None] = {}
        """What is in those that have some, without them; None: it was not read this time."""
        self.told: list[Plain] = []
        self.withheld: list[Plain] = []
        self.left: list[bytes] = []
        """Paths of those that are withheld."""
        self.reasons: list[str] = []

    def told_as(self, path: bytes) -> str:
        """A path as it is told: one that holds a secret without it."""
        return self._told.get(path) or spelled(path)


def _within(listing: Listing, budget: int | None) -> None:
    size = sum(one.size for one in listing.taken)
    if budget is not None and size > budget:
        largest = sorted(listing.taken, key=lambda one: (-one.size, one.path))[:LARGEST]
        raise TooLarge(size, budget, [(one.size, spelled(one.path)) for one in largest])


def _secrets(scene: Scene, listing: Listing, scanned: Scanned) -> tuple[list[Taken], _Dirty]:
    """The files that go in as they are, and what becomes of the others."""
    dirty = _Dirty(*_names(scene, listing, scanned))
    files = listing.taken
    if not dirty.names and (known := scanned.same(files)) is not None:
        held, kept_out = known
        aside = {os.fsencode(name) for name in (*held, *kept_out)}
        for one in files if aside else ():
            if one.path in aside:
                name = os.fsdecode(one.path)
                _set_aside(scene, one, dirty, Secrets(held[name], None) if name in held else None)
        return [one for one in files if one.path not in aside], dirty
    clean: list[Taken] = []
    for one in files:
        name = os.fsdecode(one.path)
        if one.path in dirty.names:  # a name that is not to be written anywhere
            _set_aside(scene, one, dirty, None)
        elif not one.link and withheld(name):
            scanned.withhold(name)
            _set_aside(scene, one, dirty, None)
        elif not one.link and (secrets := scanned.secrets(one.path, one.facts)) is not None:
            _set_aside(scene, one, dirty, secrets)
        else:
            clean.append(one)
    return clean, dirty


def _set_aside(scene: Scene, one: Taken, dirty: _Dirty, secrets: Secrets | None) -> None:
    """A file that holds secrets; None: it is one as a whole."""
    if secrets is None:
        _withhold(scene, one.path, dirty)
        return
    dirty.files[one.path] = secrets.clean
    for secret in secrets.found:
        _tell(scene, one.path, secret, dirty)


def _aside(scene: Scene, path: bytes, dirty: _Dirty, scanned: Scanned) -> bool:
    """Take in what a file holds that has changed since it was looked at; False: it cannot be read as one.

    It goes with those that held secrets: what is kept of them is what was looked at, byte by byte.
    """
    held = scanned.now(path)
    if held is None:
        return False
    dirty.files[path] = held.clean
    for secret in held.found:
        _tell(scene, path, secret, dirty)
    return True


def _tell(scene: Scene, path: bytes, secret: Found, dirty: _Dirty) -> None:
    dirty.told.append(
        {"path": dirty.told_as(path), "line": secret.line, "kind": secret.kind, "digest": secret.digest}
    )
    scene.redactions.append((dirty.told_as(path), secret))


def _withhold(scene: Scene, path: bytes, dirty: _Dirty) -> None:
    try:
        with open(os.path.join(os.fsencode(scene.folder), path), "rb", opener=opened) as file:
            digest = scene.redactor.digest(file.read(1 << 20))
    except OSError:
        digest = ""
    dirty.left.append(path)
    dirty.withheld.append({"path": dirty.told_as(path), "digest": digest})


def _names(scene: Scene, listing: Listing, scanned: Scanned) -> tuple[dict[bytes, str], dict[bytes, str]]:
    """All paths as text, and those with a secret in them, without it.

    Usually there is none, which one look at all of them tells.
    """
    root = os.fsencode(scene.folder)
    paths = [one.path for one in listing.taken] + [one.path for one in listing.left_out]
    paths += [one.path for one in listing.under] + [path for path, _ in listing.states]
    names = {path: spelled(path) for path in dict.fromkeys(paths)}
    targets: dict[bytes, str] = {}
    for one in listing.taken:
        if one.link:
            with contextlib.suppress(OSError):
                targets[one.path] = spelled(os.readlink(os.path.join(root, one.path)))
    if scanned.is_clean("\n".join((*names.values(), *targets.values()))):
        return names, {}
    shown = {path: f"{name} {targets[path]}" if path in targets else name for path, name in names.items()}
    found = [path for path, name in shown.items() if scene.redactor.text(name)[1]]
    return names, {path: scene.redactor.text(names[path])[0] for path in found}


def _redacted(scene: Scene, dirty: _Dirty, scanned: Scanned) -> tuple[str, int]:
    """Id and size of the tree of the files without their secrets."""
    tree, size = scanned.redacted(dirty.files)
    if tree and _is_there(scene.store, tree):
        return tree, size
    read = {path: scanned.without(path) if data is None else data for path, data in dirty.files.items()}
    made = _redacted_tree(scene, {path: data for path, data in read.items() if data is not None})
    scanned.remember(made.id, made.size_bytes)
    return made.id, made.size_bytes


def _is_there(store: Store, tree: str) -> bool:
    """Whether the store has the tree, and all that it names."""
    try:
        return all(not one.pieces and (not one.content or one.content in store) for one in store.tree(tree))
    except (Missing, Damaged):
        return False


def _redacted_tree(scene: Scene, files: dict[bytes, bytes]) -> Tree:
    """The files without their secrets, in a tree of their own; made aside first, as the store reads files."""
    import shutil  # only here is there something to make and to remove
    import tempfile

    room = os.fsencode(tempfile.mkdtemp(prefix="dsec-redacted-"))
    root = os.fsencode(scene.folder)
    folders = {folder for path in files for folder in _folders_of(path)}
    try:
        for path, data in files.items():
            target = os.path.join(room, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)
            _same_mode(os.path.join(root, path), target)
        for folder in sorted(folders, reverse=True):
            _same_mode(os.path.join(root, folder), os.path.join(room, folder))
        return scene.store.put_tree(room, [Entry(path) for path in files], times=False)
    finally:
        for folder in sorted(folders):
            with contextlib.suppress(OSError):
                os.chmod(os.path.join(room, folder), 0o700)
        shutil.rmtree(room, ignore_errors=True)


def _folders_of(path: bytes) -> Iterator[bytes]:
    """The folders that a path goes through."""
    while path := os.path.dirname(path):
        yield path


def _same_mode(source: bytes, target: bytes) -> None:
    """What may be done with the one may be done with the other; what we must read stays readable."""
    with contextlib.suppress(OSError):  # it may be gone by now
        os.chmod(target, stat.S_IMODE(os.lstat(source).st_mode) & 0o1777 | 0o400)


def _diff(scene: Scene, listing: Listing, dirty: _Dirty) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """What is not committed, as a text, without secrets, and without the files that have some.

    A few lines of a key, or of a .env file, do not tell what they are.
    """
    repository = listing.repository
    if repository is None or not any(state != "untracked" for _, state in listing.states):
        return (), []
    try:
        text = dirty_diff(
            scene.folder,
            scene.environ,
            against_nothing=not repository.commit,
            without=sorted({*dirty.files, *dirty.left, *_secret_by_name(listing)}),
        )
    except GitProblem as problem:
        return (), [f"the difference from the commit is missing: {problem.what}"]
    if len(text) > MOST_DIFF:
        return (), [
            f"the difference from the commit is larger than {MOST_DIFF >> 20} MiB; the files are all here"
        ]
    clean, _ = scene.redactor.diff(text)
    return (("diff", scene.store.put_bytes(clean)),), []


def _secret_by_name(listing: Listing) -> Iterator[bytes]:
    """Paths that are not as committed, and were secrets as a whole: also those that are gone."""
    for path, _ in listing.states:
        name = os.fsdecode(path)
        if withheld(name) or is_dotenv(name):
            yield path


def _facts(scene: Scene, listing: Listing, dirty: _Dirty) -> dict[str, Plain]:
    git = None
    if (found := listing.repository) is not None:
        git = {
            "commit": found.commit or None,
            "branch": scene.redactor.text(found.branch)[0] or None,
            "upstream": scene.redactor.text(found.upstream)[0] or None,
            "folder": found.prefix,
            "busy": found.busy or None,
            "shallow": found.shallow,
            "dirty": bool(listing.states),
            "remotes": _remotes(scene, found.remotes),
        }
    return {
        "how": listing.how,
        "git": git,
        "states": [[dirty.told_as(path), state] for path, state in listing.states],
        "left_out": [{"path": dirty.told_as(one.path), "why": one.why} for one in listing.left_out],
        "repositories": [
            {
                "path": dirty.told_as(one.path),
                "commit": one.commit or None,
                "wanted": one.wanted or None,
                "dirty": one.dirty,
                "remotes": _remotes(scene, one.remotes),
            }
            for one in listing.under
        ],
    }


def _remotes(scene: Scene, remotes: tuple[tuple[str, str], ...]) -> list[Plain]:
    out: list[Plain] = []
    for name, address in remotes:
        clean, found = scene.redactor.url(address)
        scene.redactions.extend((f"remote {name}", one) for one in found)
        out.append({"name": name, "url": clean, "hidden": [one.digest for one in found]})
    return out


def _unread(tree: Tree, aside: list[bytes]) -> list[str]:
    return [f"{spelled(one.path)}: {one.reason}" for one in tree.unread if one.path not in aside]


PART = Part("code", "code", 10, capture, compare)
