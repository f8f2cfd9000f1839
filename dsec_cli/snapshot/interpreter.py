"""The Python that the Steps get: asked once, in a process of its own, what it is and where it looks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.snapshot.manifest import Plain
    from dsec_cli.snapshot.section import Scene

TIMEOUT_S = 20.0
_ASK = """
import os, sys
from importlib.machinery import EXTENSION_SUFFIXES
try:
    from _json import encode_basestring_ascii as quoted
except ImportError:
    from json import dumps as quoted
libraries = []
try:
    with open("/proc/self/maps", "rb") as file:
        libraries = sorted({line.split(None, 5)[5].rstrip().decode("utf-8", "replace")
                            for line in file if b"r-x" in line and b"/" in line})
except OSError:
    pass
try:
    libc = os.confstr("CS_GNU_LIBC_VERSION") or ""
except (AttributeError, ValueError, OSError):
    libc = ""
if not libc:
    import platform
    libc = " ".join(platform.libc_ver())
if sys.platform == "linux":
    system = "linux-" + os.uname().machine
else:
    import sysconfig
    system = sysconfig.get_platform()
name = sys.implementation.name
suffix = EXTENSION_SUFFIXES[0].split(".") if EXTENSION_SUFFIXES else []
words = {
    "version": sys.version.split()[0],
    "implementation": {"cpython": "CPython", "pypy": "PyPy"}.get(name, name),
    "abi": suffix[1] if len(suffix) == 3 and "abi" not in suffix[1] else "", "platform": system,
    "executable": sys.executable, "prefix": sys.prefix, "base": sys.base_prefix, "libc": libc}
lists = {"path": [one for one in sys.path if one], "libraries": libraries}
texts = [quoted(key) + ": " + quoted(value) for key, value in words.items()]
texts += [quoted(key) + ": [" + ", ".join(map(quoted, value)) + "]" for key, value in lists.items()]
sys.stdout.write("{" + ", ".join(texts) + ", \\"optimize\\": " + str(sys.flags.optimize) + "}")
"""
"""Without json, platform and sysconfig, which take three times as long to import as all else here takes."""


def python_of(scene: Scene) -> Plain | str:
    """What the Python of the Steps says of itself, or why it says nothing; asked once per scene."""
    if "python" not in scene.memory:
        scene.memory["python"] = _ask(scene.environ)
    return scene.memory["python"]


def program(environ: Mapping[str, str]) -> str:
    """The Python that a Step's `python` is."""
    path = environ.get("PATH", os.defpath)
    return _on(path, "python") or _on(path, "python3") or sys.executable


def _on(path: str, name: str) -> str | None:
    """The first program of that name, as `shutil.which` finds it, whose module takes longer to import."""
    for folder in path.split(os.pathsep):
        full = os.path.join(folder, name)
        if os.access(full, os.F_OK | os.X_OK) and not os.path.isdir(full):
            return full
    return None


def _ask(environ: Mapping[str, str]) -> Plain | str:
    python = program(environ)
    try:
        done = subprocess.run(
            [python, "-c", _ASK],
            cwd="/",
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{python} did not answer within {TIMEOUT_S:g} s"
    except OSError as problem:
        return f"{python} could not be started ({problem.strerror})"
    try:
        found = json.loads(done.stdout)
    except ValueError:
        found = None
    if done.returncode or not isinstance(found, dict):
        return f"{python} could not be asked (exit status {done.returncode})"
    return found
