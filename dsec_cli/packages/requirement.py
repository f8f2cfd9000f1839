"""One requirement of a package, as its metadata write it: `name[extra] >=1,<2; marker`."""

from __future__ import annotations

import re

from dsec.record import Record
from dsec.versions import range_problem

_SHAPE = (
    r"\s*(?P<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?)\s*"
    r"(?:\[(?P<extras>[^\]]{0,500})\])?\s*(?P<rest>[^;]{0,2000})(?:;(?P<marker>.{0,4000}))?"
)
"""Compiled when the first requirement is read: a lint only compares names."""


class Requirement(Record):
    """What one package wants of another."""

    name: str
    """Normalised."""
    extras: frozenset[str]
    wanted: str
    """A range; "": any version."""
    marker: str
    """Under which conditions; "": always."""
    url: str = ""
    """Where exactly it has to come from."""


def normalised(name: str) -> str:
    """`Flash_Attn` and `flash-attn` are one package."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def split_extras(name: str) -> tuple[str, frozenset[str]]:
    """`vllm[ray]` as a normalised name and its extras."""
    bare, _, extras = name.partition("[")
    words = (normalised(word) for word in extras.partition("]")[0].split(","))
    return normalised(bare), frozenset(word for word in words if word)


def read(text: str) -> Requirement | None:
    """The requirement that `text` is; None: it is none."""
    found = re.fullmatch(_SHAPE, text.strip(), re.DOTALL)
    if found is None:
        return None
    rest, marker = found["rest"].strip(), (found["marker"] or "").strip()
    name, extras = split_extras(f"{found['name']}[{found['extras'] or ''}]")
    if rest.startswith("@"):
        return Requirement(name, extras, "", marker, rest[1:].strip())
    if rest.startswith("(") and rest.endswith(")"):
        rest = rest[1:-1]
    wanted = ",".join(part.strip().replace(" ", "") for part in rest.split(",") if part.strip())
    if wanted and (range_problem(wanted) or wanted[0] not in "<>=!~"):
        return None
    return Requirement(name, extras, wanted, marker)
