"""What the document of each section is made of: one of somebody else's is compared with it before it is used.

A shape is `str`, `int`, `bool` or `None` for such a value; `[shape]` for a list of them; `{str: shape}` for
an object with any names; `{"name": shape}` for one that has these (`"name?"`: may have), and any others;
a tuple for one of several; a function for what is more than that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.snapshot.manifest import Plain

_TEXT = (str, None)
_NUMBER = (int, None)


def _anything(_: Plain) -> bool:
    return True


def _path(value: Plain) -> bool:
    """A path: no system has one with a NUL."""
    return isinstance(value, str) and "\0" not in value


def _version(value: Plain) -> bool:
    """`9.0`, as GPUs tell what they can."""
    return value is None or (isinstance(value, str) and value.replace(".", "", 1).isdecimal())


def _pair(value: Plain) -> bool:
    """A limit: what counts now, and what it may be raised to."""
    return isinstance(value, list) and all(one is None or _is(int, one) for one in value)


def _link(value: Plain) -> bool:
    """(number of a GPU, kind of link)."""
    return isinstance(value, list) and len(value) == 2 and _is(int, value[0])


def _state(value: Plain) -> bool:
    """(path, state) of what is not as committed."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], str)
    )


_REMOTES = [{"name": str, "url": str, "hidden": [str]}]
_PACKAGE = {
    "name": str,
    "version": str,
    "origin?": str,
    "record?": _TEXT,
    "artifact?": _TEXT,
    "source?": _TEXT,
    "commit?": _TEXT,
    "build?": str,
    **dict.fromkeys(("installer?", "md5?", "vcs?", "subdirectory?"), _TEXT),
    "editable?": ({"commit": _TEXT, "tree?": str, "own?": bool}, None),
}
_CARD = ("ecc", "mig", "persistence", "power_limit_mw", "sm_mhz", "memory_mhz", "application_mhz")
"""Settings of a GPU, shown as they are."""
_FILES = {"links?": [[str]], "attributes?": {str: {str: str}}}
_SHAPES: dict[str, Plain] = {
    "code": {
        "files": int,
        "bytes": int,
        "how": str,
        "git": (
            {
                **dict.fromkeys(("commit", "branch", "upstream", "busy"), _TEXT),
                "folder": str,
                "shallow": bool,
                "dirty": bool,
                "remotes": _REMOTES,
            },
            None,
        ),
        "states": [_state],
        "left_out": [{"path": _path, "why": str}],
        "repositories": [
            {"path": _path, "commit": _TEXT, "wanted": _TEXT, "dirty": bool, "remotes": _REMOTES}
        ],
        "redacted": [{"path": str, "line": int, "kind": str, "digest": str}],
        "withheld": [{"path": _path, "digest": str}],
    },
    "dependencies": {
        "python": {"version": str, "implementation": str, "abi": str, "platform": str, "optimize": int},
        "packages": [_PACKAGE],
        "conda": [_PACKAGE],
        "path": [_path],
    },
    "environment": {"values": {str: str}, "hidden": {str: str}},
    "command": {"argv": [str]},
    "hardware": {
        "driver": _TEXT,
        "cuda": _TEXT,
        "cpu_m": int,
        "memory_bytes": int,
        "numa_nodes": _NUMBER,
        "libc": _TEXT,
        "processor": ({"model": str, "isa": [str]}, None),
        "gpus": [
            {
                "index": int,
                "model": str,
                "type": str,
                "uuid": str,
                "memory_bytes": _NUMBER,
                "numa": _NUMBER,
                "pci": _TEXT,
                "health": _anything,
                "links": [_link],
                "capability": _version,
                **dict.fromkeys(_CARD, _anything),
            }
        ],
    },
    "kernel": {
        "release": str,
        "machine": str,
        "distribution": str,
        "sysctls": {str: str},
        "system": {str: str},
        "limits": {str: _pair},
        "cgroup": {str: str},
    },
    "mounts": {"mounts": [{"at": _path, "kind": str, "source": str, "options": str}]},
    "libraries": {"objects": {str: _TEXT}},
    "data": {
        "dependencies": [{"name": str, "version": _TEXT, "hash": _TEXT}],
        "named": [
            {"path": _path, "hash": _TEXT, "there?": bool, "file?": bool, "files?": {str: str}, **_FILES}
        ],
    },
    "checks": {"doctor": ({}, None), "netcheck": ({}, None)},
    "seeds": {"stated": {str: str}, "told": {str: {str: str}}},
    "run": {
        "job": str,
        "plan": str,
        "outcome": str,
        "contract": {"file": _path, "hash": str, "name": str},
        "steps": [{"id": str, "key": str, "attempts": int, "failures": int}],
        "results": [{"path": _path, "in_run": bool, "hash": str}],
    },
    "settings": {"dsec": str, "settings": str},
    "state": {"files": int, "bytes": int, **_FILES},
}


_TREES = {"code": "code", "state": "work"}
"""The tree that a section has wherever it is there."""


def lacks_tree(section: str, trees: Iterable[str]) -> bool:
    """Whether a section that is there lacks the tree that it is about."""
    needed = _TREES.get(section)
    return needed is not None and needed not in trees


def wrong(section: str, value: Plain) -> str:
    """Where in the document of a section something is not what it must be; "": nowhere, or none knows it."""
    shape = _SHAPES.get(section)
    return "" if shape is None else _wrong(shape, value, section)


def _wrong(shape: Plain, value: Plain, at: str) -> str:
    if isinstance(shape, list):
        if not isinstance(value, list):
            return at
        inner = shape[0]
        if not isinstance(inner, list | dict | tuple) and all(_is(inner, one) for one in value):
            return ""  # most lists, some of them long: no place in them has to be named
        return _first((inner, one, f"{at}[{number}]") for number, one in enumerate(value))
    if isinstance(shape, dict):
        return _first(_members(shape, value, at)) if isinstance(value, dict) else at
    if isinstance(shape, tuple):
        found = [_wrong(one, value, at) for one in shape]
        return "" if "" in found else max(found, key=len)
    return "" if _is(shape, value) else at


def _first(rows: Iterable[tuple[Plain, Plain, str]]) -> str:
    return next((found for shape, value, at in rows if (found := _wrong(shape, value, at))), "")


def _members(shape: Plain, value: Plain, at: str) -> Iterator[tuple[Plain, Plain, str]]:
    if str in shape:
        yield from ((shape[str], one, f"{at}.{name}") for name, one in value.items())
        return
    for key, inner in shape.items():
        name = key.removesuffix("?")
        if name in value:
            yield inner, value[name], f"{at}.{name}"
        elif name == key:
            yield _never, None, f"{at}.{name}"


def _is(shape: Plain, value: Plain) -> bool:
    if shape is None:
        return value is None
    if shape is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, shape) if isinstance(shape, type) else bool(shape(value))


def _never(_: Plain) -> bool:
    return False
