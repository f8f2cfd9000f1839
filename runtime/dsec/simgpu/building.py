"""Builds the simulated NVML library with the C compiler that is there, once per source and driver age."""

from __future__ import annotations

import os
import subprocess

from dsec import compilers
from dsec.errors import DSecError, FileProblem
from dsec.ownership import foreign_file
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

NAME = "libnvidia-ml.so.1"
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "library")
_FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-O1", "-pthread")
_TIMEOUT_S = 120
_NEW, _OLD, _OLDER = 0, 1, 2
"""Ages of drivers: what those before R535 lack, and what those before R450 lack."""


class NoCompilerError(DSecError):
    """The library has to be built, and nothing here can build it."""


def age(driver: str) -> int:
    """How old a driver of this version (`550.54.14`) is, as the library is built for it."""
    major = driver.partition(".")[0]
    if not major.isdecimal():
        return _NEW
    return _OLDER if int(major) < 450 else _OLD if int(major) < 535 else _NEW


def library(cache: str, environ: Mapping[str, str], *, old: int = 0) -> str:
    """The folder under `cache` that holds the library; raises NoCompilerError or FileProblem."""
    flags = [*_FLAGS, *([f"-DOLD_DRIVER={old}"] if old else [])]
    sources = sorted(
        os.path.join(SOURCES, name) for name in os.listdir(SOURCES) if name.endswith((".c", ".h"))
    )
    folder = os.path.join(cache, compilers.mark(sources, flags))
    path = os.path.join(folder, NAME)
    # Programs load it, so whoever could have put it there would run in them.
    why = foreign_file(path, environ)
    if why:
        raise FileProblem(
            say("{path} is not taken: {why}", path=folder, why=why),
            hint=say("remove it, or name another folder in {name}", name="DSEC_CACHE_DIR"),
        )
    if os.path.exists(path):
        return folder
    compiler = _compiler(environ)
    aside = f"{path}.{os.getpid()}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _compile([compiler, *flags, "-o", aside, *(name for name in sources if name.endswith(".c"))], environ)
        os.chmod(aside, 0o700)  # whatever the umask leaves to a group
        os.replace(aside, path)
    except OSError as problem:
        raise FileProblem(
            say("{path} could not be written: {why}", path=folder, why=system(problem)),
            hint=say("free some space, or name another folder in {name}", name="DSEC_CACHE_DIR"),
        ) from problem
    finally:
        if os.path.exists(aside):
            os.unlink(aside)
    return folder


def _compiler(environ: Mapping[str, str]) -> str:
    found = compilers.find(environ)
    if found:
        return found
    names = ", ".join(compilers.wanted(environ))
    raise NoCompilerError(
        say("simulated GPUs need a C compiler, and there is no {names}", names=names),
        hint=say("install one (Debian: apt install gcc libc6-dev), or name it in CC"),
    )


def _compile(command: list[str], environ: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NoCompilerError(
            say("{compiler} did not end within {limit} s", compiler=command[0], limit=_TIMEOUT_S),
            hint=say("name another compiler in CC"),
        ) from None
    if done.returncode:
        said = compilers.complaint(done.stderr)
        raise NoCompilerError(
            say("{compiler} could not build the library: {said}", compiler=command[0], said=said),
            hint=say("install the C library's headers (Debian: libc6-dev), or name another compiler in CC"),
        )
