"""What was installed in a job's plugins folder, also after it was removed: `.history.json` beside them.

Without it whoever has a plugin removed and installed again could give an older version, other files under
the same version, or another signer, and nobody would hear of it.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from dsec.errors import FileProblem
from dsec.wholefile import write_whole
from dsec_cli.words import say, system

FILE = ".history.json"
_MOST = 4 << 20
_MOST_VERSIONS = 64


class Before(NamedTuple):
    """What was installed last under a plugin's name."""

    version: str
    signer: str
    """The trusted key's name, the number of an unknown key, "" without a signature."""
    key: str
    """The trusted key itself, or the number of an unknown one."""
    files: tuple[tuple[str, str], ...]
    """(version, digest of its files), the latest last."""


def before(root: str, name: str) -> Before | None:
    """What was installed last under that name; None: nothing that is known. Raises FileProblem."""
    row = _read(root).get(name)
    if row is None:
        return None
    files = row.get("files")
    texts = [row.get(key) for key in ("version", "signer", "key")]
    if not isinstance(files, list) or not all(isinstance(one, str) for one in texts):
        raise _damaged(root)
    pairs = tuple((str(one[0]), str(one[1])) for one in files if isinstance(one, list) and len(one) == 2)
    return Before(str(texts[0]), str(texts[1]), str(texts[2]), pairs)


def keep(root: str, name: str, version: str, *, signer: str, key: str, digest: str) -> None:
    """Note what was just installed; the caller holds the lock on the folder. Raises FileProblem."""
    rows = _read(root)
    last = before(root, name)
    files = [pair for pair in (last.files if last else ()) if pair[0] != version]
    pairs = [list(pair) for pair in (*files[-_MOST_VERSIONS:], (version, digest))]
    rows[name] = {"version": version, "signer": signer, "key": key, "files": pairs}
    text = json.dumps({"version": 1, "plugins": rows}, indent=1, sort_keys=True) + "\n"
    path = os.path.join(root, FILE)
    try:
        write_whole(path, [text.encode()])
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None


def _read(root: str) -> dict[str, dict[str, object]]:
    path = os.path.join(root, FILE)
    try:
        with open(path, "rb") as file:
            held = json.loads(file.read(_MOST))
    except FileNotFoundError:
        return {}
    except OSError as problem:
        raise FileProblem(say("{path}: {why}", path=path, why=system(problem))) from None
    except (ValueError, RecursionError):
        raise _damaged(root) from None
    rows = held.get("plugins") if isinstance(held, dict) and held.get("version") == 1 else None
    if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
        raise _damaged(root)
    return rows


def _damaged(root: str) -> FileProblem:
    return FileProblem(
        say("{path} does not say what was installed before", path=os.path.join(root, FILE)),
        hint=say("move it away; rollbacks and changes of the signer before that are then unknown"),
    )
