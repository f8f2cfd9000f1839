"""Packages that a golden case is held against, from its first comment lines.

# installed: torch 2.1.0 (numpy <2), numpy 2.0.0     what an environment holds, and wants
# published: trl 0.9.6, 0.9.7 yanked; nothing-there  what an index offers
# python: 3.9.7                                      the Python that packages are for
"""

from __future__ import annotations

from dsec_cli.packages.held import Held, Published
from dsec_cli.packages.installed import facts_of
from dsec_cli.packages.markers import LINUX, environment


def held(text: str) -> Held | None:
    """What the comments say; None: they say nothing of packages."""
    said = dict(
        line.removeprefix("#").strip().split(": ", 1)
        for line in text.splitlines()[:5]
        if line.startswith("#") and ": " in line
    )
    if not said.keys() & {"installed", "published", "python"}:
        return None
    return Held(
        known=environment(said["python"]) if "python" in said else LINUX,
        installed={one.name: one for one in map(_installed, _parts(said.get("installed", ""), ","))},
        where="/srv/venv",
        published={one.name: one for one in map(_published, _parts(said.get("published", ""), ";"))},
    )


def _parts(text: str, mark: str) -> list[str]:
    return [part.strip() for part in text.split(mark) if part.strip()]


def _installed(text: str):
    package, _, wants = text.partition("(")
    name, version = package.split()
    needs = "".join(f"Requires-Dist: {one}\n" for one in _parts(wants.rstrip(")"), "&"))
    facts = facts_of(f"Name: {name}\nVersion: {version}\n{needs}")
    assert facts is not None
    return facts


def _published(text: str) -> Published:
    name, _, rest = text.partition(" ")
    versions = [part.split() for part in _parts(rest, ",")]
    yanked = {one[0]: " ".join(one[2:]) for one in versions if one[1:2] == ["yanked"]}
    return Published(name, tuple(one[0] for one in versions), yanked)
