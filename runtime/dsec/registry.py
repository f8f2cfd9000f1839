"""Looks at what a plan depends on: installed packages, the registry, files, network stores.

The registry is a folder: `ds://models/reward` in version 1.3.0 is `models/reward/1.3.0` in it, a
file or a folder. Nothing is raised for what is wrong with a dependency; every one gets a verdict.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from dsec.contenthash import content_hash, is_within
from dsec.core.dependencies import (
    FOUND,
    PACKAGE,
    UNKNOWN,
    UNVERIFIED,
    VERIFIED,
    WRONG,
    Bucket,
    Checked,
    Foreign,
    Local,
    Registered,
    Remote,
    Unusable,
    clashes,
    newest_first,
    objection,
    place_of,
    shown,
    stated_hash,
)
from dsec.core.pep440 import satisfies
from dsec.errors import DSecError
from dsec.stores import LIMITS, Limits, fetch, kept_at
from dsec.versions import is_semver
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.plan import Dependency
    from dsec.stores import Store

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where dependencies are looked for."""

    registry: str
    """Absolute."""
    folder: str
    """The contract's; paths are relative to it."""
    cache: str
    """Where fetched content is kept."""
    endpoint: str
    """URL that `s3://` stands for; "": none."""
    store: Store | None
    """What `http(s)` and `s3` sources are fetched from; None: nothing may be fetched."""
    limits: Limits = LIMITS
    packages: tuple[str, ...] | None = None
    """Folders in which packages are looked for; None: where this Python looks."""
    python: str = ""
    """The Python that they are of."""


def check(dependencies: tuple[Dependency, ...], around: Surroundings) -> tuple[Checked, ...]:
    """What became of each, in order."""
    return clashes(tuple(_check(one, around) for one in dependencies))


def _check(one: Dependency, around: Surroundings) -> Checked:
    try:
        if one.kind == PACKAGE:
            return _package(one, around)
        return objection(one) or _thing(one, around)
    except OSError as problem:
        why = system(problem)
        what = say("{path}: {why}", path=problem.filename, why=why) if problem.filename else why
        return Checked(one, UNKNOWN, what, "check its permissions")
    except DSecError as problem:
        return Checked(one, UNKNOWN, problem.what, problem.hint)


def _package(one: Dependency, around: Surroundings) -> Checked:
    from importlib import metadata

    name = one.name.partition("[")[0].strip()
    install = (
        say('pip install "{name}{version}"', name=name, version=one.version)
        if one.version[:1] in set("<>=!~")
        else say("pip install {name}", name=name)
    )
    try:
        if around.packages is None:
            stated = metadata.distribution(name).metadata
        else:
            found = next(iter(metadata.distributions(name=name, path=list(around.packages))), None)
            if found is None:
                raise metadata.PackageNotFoundError(name)
            stated = found.metadata
        # Asking for a version that is missing gives None, a warning or a KeyError, by the Python.
        version = stated["Version"] if "Version" in stated else ""  # noqa: SIM401 - the protocol has no get
    except (metadata.PackageNotFoundError, ValueError):
        return Checked(one, WRONG, "it is not installed", _where(install, around))
    if not version:
        return Checked(
            one,
            UNKNOWN,
            "its installed metadata names no version",
            say("install it anew: {install}", install=install),
        )
    if not satisfies(one.version, version):
        help_ = say("{install}, or state a range that holds {version}", install=install, version=version)
        return Checked(
            one,
            WRONG,
            say("{version} is installed, {wanted} is wanted", version=version, wanted=one.version),
            help_,
            version,
        )
    inside = say(", in {version}", version=one.version) if one.version else ""
    return Checked(
        one, VERIFIED, say("{version} is installed{inside}", version=version, inside=inside), found=version
    )


def _where(install: str, around: Surroundings) -> str:
    if around.python:
        return say("{install}, for {python}", install=install, python=around.python)
    return say("{install} where dsec is installed", install=install)


def _thing(one: Dependency, around: Surroundings) -> Checked:
    match place := place_of(one):
        case Registered():
            return _registered(one, place, around)
        case Local():
            return _local(one, os.path.join(around.folder, place.path))
        case Remote():
            return _remote(one, place.url, around)
        case Bucket():
            if not around.endpoint:
                why = "not verified: no access, as DSEC_S3_ENDPOINT is not set"
                return Checked(one, UNVERIFIED, why, "set it to the URL under which buckets are read")
            return _remote(one, _object_url(around.endpoint, place), around)
        case Foreign():
            help_ = "fetch it yourself, and give its path as the source to have it verified"
            return Checked(one, UNVERIFIED, say("not verified: {what}", what=place.what), help_)
        case Unusable():
            return Checked(one, WRONG, place.why, place.help)


def _object_url(endpoint: str, place: Bucket) -> str:
    from urllib.parse import quote

    return f"{endpoint.rstrip('/')}/{quote(place.bucket)}/{quote(place.key)}"


def _registered(one: Dependency, place: Registered, around: Surroundings) -> Checked:
    """The stated version exactly; another one that is there is named."""
    registry = around.registry
    if not os.path.isdir(registry):
        missing = say("is no folder") if os.path.lexists(registry) else say("does not exist")
        help_ = "DSEC_REGISTRY, or dsctl config set registry, names the folder"
        return Checked(
            one, UNKNOWN, say("the registry {registry} {missing}", registry=registry, missing=missing), help_
        )
    real = os.path.realpath(registry)
    versions = os.path.join(real, place.path)
    path = os.path.realpath(os.path.join(versions, one.version))
    if not is_within(path, real) or not is_within(os.path.realpath(versions), real):
        return Checked(
            one,
            WRONG,
            say("a link leads out of the registry, to {path}", path=path),
            "put the content into it",
        )
    if not os.path.lexists(path):
        return _absent(one, place, versions, registry)
    return _content(one, path)


def _place(where: str, one: Dependency) -> str:
    """Where its content belongs; a data set without a version is its path."""
    return os.path.join(where, one.version) if one.version else where


def _absent(one: Dependency, place: Registered, versions: str, registry: str) -> Checked:
    where = os.path.join(registry, place.path)
    if not os.path.isdir(versions):
        what = say("there is no {path} in the registry {registry}", path=place.path, registry=registry)
        return Checked(one, WRONG, what, say("put it at {where}", where=_place(where, one)))
    names = [name for name in os.listdir(versions) if not name.startswith(".")]
    there = newest_first(names)
    told: str = ", ".join(there[:_SHOWN])
    if len(there) > _SHOWN:
        told = say("{names} and {count} more", names=told, count=len(there) - _SHOWN)
    return Checked(
        one,
        WRONG,
        say(
            "version {version} is not in {where}; there is {told}",
            version=one.version,
            where=where,
            told=told or say("none"),
        ),
        say(
            "put it at {where}, or state a version that is there",
            where=_place(where, one),
        )
        if there
        else say("put it at {where}", where=_place(where, one)),
        there[0] if len(there) == 1 else "",
    )


def _local(one: Dependency, path: str) -> Checked:
    """The content at a path; a path that ends in a version must end in the stated one."""
    last = os.path.basename(path.rstrip("/"))
    if one.version and is_semver(last) and last != one.version:
        help_ = say("state {last}, or the path of {version}", last=last, version=one.version)
        return Checked(
            one,
            WRONG,
            say("its path is that of version {last}, {version} is wanted", last=last, version=one.version),
            help_,
            last,
        )
    if not os.path.exists(path):
        broken = say("is a link that leads nowhere") if os.path.lexists(path) else say("does not exist")
        return Checked(
            one,
            WRONG,
            say("{path} {broken}", path=path, broken=broken),
            "paths are relative to the contract's folder; put it there",
        )
    return _content(one, os.path.realpath(path))


def _content(one: Dependency, path: str) -> Checked:
    """What is at `path` against the stated hash."""
    wanted = stated_hash(one.content_hash)
    if wanted is None:
        if not os.access(path, os.R_OK):
            return Checked(one, UNKNOWN, say("{path} cannot be read", path=path), "check its permissions")
        return Checked(one, FOUND, "found, content not verified: no hash stated", path=path)
    has = content_hash(path, wanted[0])
    if has != ":".join(wanted):
        return _other_content(one, path, has)
    return Checked(one, VERIFIED, say("verified, {short}", short=_short(has)), content_hash=has, path=path)


def _other_content(one: Dependency, where: str, has: str) -> Checked:
    return Checked(
        one,
        WRONG,
        say("its content has the hash {has}, stated is {stated}", has=has, stated=one.content_hash.strip()),
        say("look at who changed {where}; state the hash it has only if that content is meant", where=where),
        content_hash=has,
    )


def _remote(one: Dependency, url: str, around: Surroundings) -> Checked:
    """Fetched content is known by its hash alone, so without one nothing is fetched."""
    wanted = stated_hash(one.content_hash)
    if wanted is None:
        return Checked(
            one, UNVERIFIED, "not verified: no hash stated, so it is not fetched", "state its hash"
        )
    kept = kept_at(around.cache, *wanted)
    if os.path.exists(kept):
        return _content(one, kept)
    if around.store is None:
        return Checked(one, UNVERIFIED, "not verified: no access was asked for", "--fetch fetches it")
    found = fetch(url, around.store, cache=around.cache, wanted=wanted, limits=around.limits)
    if found != wanted[1]:
        return _other_content(one, shown(url), f"{wanted[0]}:{found}")
    has = ":".join(wanted)
    return Checked(
        one, VERIFIED, say("fetched and verified, {short}", short=_short(has)), content_hash=has, path=kept
    )


def _short(content_hash: str) -> str:
    algorithm, _, digits = content_hash.partition(":")
    return f"{algorithm}:{digits[:16]}..."
