"""The C compiler of this machine, for the libraries that are built when they are first wanted."""

from __future__ import annotations

import os
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_USUAL = ("cc", "gcc", "clang")


def wanted(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Names that are tried: what CC says, else the usual ones."""
    return (environ["CC"],) if environ.get("CC") else _USUAL


def find(environ: Mapping[str, str]) -> str:
    """The first of them that is on PATH; "": none is."""
    path = environ.get("PATH")
    return next((found for name in wanted(environ) if (found := shutil.which(name, path=path))), "")


def mark(sources: Sequence[str], flags: Sequence[str]) -> str:
    """Tells apart what is built from other sources, with other flags or for other processors."""
    from hashlib import blake2b

    state = blake2b(" ".join((*flags, os.uname().machine)).encode(), digest_size=8)
    for name in sources:
        with open(name, "rb") as file:
            state.update(file.read())
    return state.hexdigest()


def complaint(said: str) -> str:
    """The line of what a compiler wrote that says most."""
    lines = said.strip().splitlines()
    return next((line for line in lines if "error" in line), lines[-1] if lines else "")
