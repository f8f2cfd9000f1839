"""What is installed in folders of packages: read from RECORD, direct_url.json and conda-meta, nothing run."""

from __future__ import annotations

import json
import os
import re

from dsec.hashing import hasher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.snapshot.manifest import Plain

MOST_RECORD = 64 << 20
MOST_HEAD = 1 << 20
_OWN = (b"RECORD", b"INSTALLER", b"REQUESTED", b"direct_url.json", b"RECORD.jws", b"RECORD.p7s")
_OF_CONDA = (re.compile(r"[0-9a-f]{64}"), re.compile(r"[0-9a-f]{32}"), re.compile(r"[!-~]{1,2000}"))
"""What sha256, md5 and url of an archive look like."""
_INDENT = re.compile(rb'\s*\{\s*\n([ \t]+)"')
_CHANNEL_TOKEN = re.compile(r"/t/[^/]+/")
"""How channels of conda carry the token of who may read them."""


def packages(folders: list[str]) -> tuple[list[Plain], list[str]]:
    """Every package in these folders in the order of the path, and what could not be read."""
    found: dict[str, Plain] = {}
    reasons: list[str] = []
    for folder in dict.fromkeys(folders):
        try:
            names = sorted(os.listdir(folder))
        except OSError as problem:
            reasons.append(f"{folder} could not be read ({problem.strerror})")
            continue
        for name in names:
            one = _one(folder, name)
            if one is None:
                continue
            known = found.get(one["name"])
            if known is None:
                found[one["name"]] = one
            elif known["folder"] == folder:
                known.setdefault("doubled", []).append(one["version"])
            # One further down the path is hidden by the first.
    for one in found.values():
        del one["folder"]
    return [found[name] for name in sorted(found)], reasons


def _one(folder: str, name: str) -> Plain | None:
    if name.endswith(".dist-info"):
        return _wheel(folder, name)
    if name.endswith((".egg-info", ".egg-link")):
        return _egg(folder, name)
    return None


def _wheel(folder: str, name: str) -> Plain:
    stem, _, version = name.removesuffix(".dist-info").rpartition("-")
    path = os.path.join(folder, name)
    record = _read(os.path.join(path, "RECORD"), MOST_RECORD)
    one: Plain = {
        "name": normalised(stem or version),
        "version": version if stem else "",
        "folder": folder,
        "record": None if record is None else record_digest(record),
        "installer": _text(os.path.join(path, "INSTALLER")) or None,
        "artifact": None,
        "origin": "index",
        "source": None,
    }
    direct = _read(os.path.join(path, "direct_url.json"), MOST_HEAD)
    return one if direct is None else {**one, **_direct(direct)}


def record_digest(record: bytes) -> str:
    """Hash of what RECORD says of the package's files, as it would be in any environment.

    Compiled files, scripts outside the folder (they name the environment) and notes of the installer
    do not count, nor does the order of the lines.
    """
    lines = []
    for line in record.splitlines():
        path, _, rest = line.partition(b",") if line[:1] != b'"' else line[1:].partition(b'",')
        if not rest.strip(b",") or path.startswith((b"../", b"/")) or path.endswith((b".pyc", b".pyo")):
            continue
        if path.rpartition(b"/")[2] in _OWN and b".dist-info/" in path:
            continue
        lines.append(line.strip())
    state = hasher("blake3")
    state.update(b"dsec.record/1\n" + b"\n".join(sorted(lines)))
    return state.hexdigest()[:32]


def _direct(data: bytes) -> dict[str, Plain]:
    """Where a package came from when not from an index; addresses lose their credentials."""
    try:
        document = json.loads(data)
        url = str(document.get("url", ""))
    except (ValueError, AttributeError, RecursionError):
        return {"origin": "unknown"}
    clean = _cleaned(url)
    vcs, folder, archive = (document.get(key) for key in ("vcs_info", "dir_info", "archive_info"))
    if isinstance(vcs, dict):
        more = {"vcs": str(vcs.get("vcs", "")) or None, "subdirectory": document.get("subdirectory") or None}
        return {"origin": "vcs", "source": clean, "commit": str(vcs.get("commit_id", "")) or None, **more}
    if isinstance(folder, dict):
        return {"origin": "editable" if folder.get("editable") else "folder", "source": clean}
    hashes = archive.get("hashes") if isinstance(archive, dict) else None
    known = hashes.get("sha256") if isinstance(hashes, dict) else None
    return {"origin": "archive", "source": clean, "artifact": f"sha256:{known}" if known else None}


def _cleaned(url: str) -> str:
    """An address without credentials, query and fragment."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path.partition('?')[0].partition('#')[0]}"


def _egg(folder: str, name: str) -> Plain | None:
    path = os.path.join(folder, name)
    if name.endswith(".egg-link"):
        lines = _text(path).splitlines()
        where = f"file://{lines[0].strip()}" if lines else None
        return _plain_egg(name.removesuffix(".egg-link"), "", folder, origin="editable", source=where)
    head = _text(os.path.join(path, "PKG-INFO") if os.path.isdir(path) else path)
    fields = dict(line.partition(": ")[::2] for line in reversed(head.partition("\n\n")[0].splitlines()))
    if not fields.get("Name"):
        return None
    return _plain_egg(fields["Name"], fields.get("Version", ""), folder, origin="unknown", source=None)


def _plain_egg(name: str, version: str, folder: str, *, origin: str, source: str | None) -> Plain:
    return {
        "name": normalised(name),
        "version": version,
        "folder": folder,
        "record": None,
        "installer": None,
        "artifact": None,
        "origin": origin,
        "source": source,
    }


def conda(prefix: str) -> list[Plain]:
    """Packages that conda put into an environment, with the hash of their archive where it is known."""
    folder = os.path.join(prefix, "conda-meta")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []
    found = []
    for name in names:
        stem, _, build = name.removesuffix(".json").rpartition("-")
        package, _, version = stem.rpartition("-")
        sha256, md5, url = _archive(_read(os.path.join(folder, name), MOST_RECORD) or b"")
        found.append({
            "name": package,
            "version": version,
            "build": build,
            "artifact": f"sha256:{sha256}" if sha256 else None,
            "md5": md5,
            "source": _CHANNEL_TOKEN.sub("/t/<redacted>/", _cleaned(url)) if url else None,
        })  # fmt: skip
    return found


def _archive(record: bytes) -> list[str | None]:
    """What conda wrote of a package's archive: sha256, md5, url.

    Each of its files has a sha256 too, further in. A record may have megabytes of those, so that it is not
    parsed when it is written as conda does, a key to a line.
    """
    indent = _INDENT.match(record)
    if indent is None:
        return _parsed(record)
    found: list[str | None] = []
    for key, form in zip((b"sha256", b"md5", b"url"), _OF_CONDA, strict=True):
        line = re.search(rb'^%b"%b": ?"(.*?)",?\s*$' % (indent[1], key), record, re.MULTILINE)
        text = line[1].decode("ascii", "replace") if line else ""
        found.append(text if form.fullmatch(text) else None)
    return found


def _parsed(record: bytes) -> list[str | None]:
    """The same of a record that is written in some other way."""
    try:
        document = json.loads(record)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        return [None, None, None]
    texts = [str(document.get(key) or "") for key in ("sha256", "md5", "url")]
    return [text if form.fullmatch(text) else None for text, form in zip(texts, _OF_CONDA, strict=True)]


def normalised(name: str) -> str:
    """The name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def sites(path: list[str], prefix: str) -> list[str]:
    """Folders of packages among those that a Python looks into."""
    return list(_sites(path, prefix))


def _sites(path: list[str], prefix: str) -> Iterator[str]:
    seen = set()
    for one in path:
        real = os.path.realpath(one)
        if real in seen or not os.path.isdir(real):
            continue
        seen.add(real)
        if os.path.basename(one) in ("site-packages", "dist-packages") or not one.startswith(prefix):
            yield one


def _text(path: str) -> str:
    return (_read(path, MOST_HEAD) or b"").decode("utf-8", "replace").strip()


def _read(path: str, most: int) -> bytes | None:
    """The first bytes of a file; None: there is none that can be read."""
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError:
        return None
