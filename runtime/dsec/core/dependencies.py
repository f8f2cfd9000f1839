"""What a dependency's source, version and hash say, before anybody looks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dsec.hashing import ALGORITHMS
from dsec.versions import is_semver
from dsec.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.plan import Dependency

FORMAT = "dsec.dependencies/1"
PACKAGE = "package"
DATA_SOURCE = "data_source"
"""The name under which the job's data set is checked, and found by Steps; its path alone says which it is."""

VERIFIED, FOUND, UNVERIFIED, WRONG, UNKNOWN = "verified", "found", "unverified", "wrong", "unknown"
"""As stated; there, but nothing proves its content; not looked at; not as stated; not to be found out."""


@dataclass(frozen=True, slots=True)
class Registered:
    """`ds://PATH`: in the registry, under `PATH/VERSION`."""

    path: str


@dataclass(frozen=True, slots=True)
class Local:
    """`file:PATH` or a path: the content itself; relative to the contract's folder."""

    path: str


@dataclass(frozen=True, slots=True)
class Remote:
    """`http(s)://`: one file."""

    url: str


@dataclass(frozen=True, slots=True)
class Bucket:
    """`s3://BUCKET/KEY`: one object."""

    bucket: str
    key: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """Kept where DSec does not look: git, other schemes."""

    what: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """Nothing that could be looked for."""

    why: str
    help: str


Place = Registered | Local | Remote | Bucket | Foreign | Unusable


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one dependency."""

    dependency: Dependency
    verdict: str
    text: str
    """What was found, in words."""
    help: str = ""
    """What to do about it."""
    found: str = ""
    """The version that is there; "": not known."""
    content_hash: str = ""
    """The content's; "": not computed."""
    path: str = ""
    """Where it is, absolute; "": nowhere that a Step could open."""


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_GIT = re.compile(r"git(?:\+?[a-z]+)?(?:://|@)|ssh://|[A-Za-z0-9_.-]+@[^/]+:|https?://[^?#]*\.git(?:[@#?]|$)")


def place_of(dependency: Dependency) -> Place:
    """Where a dependency that is no package is kept, as its source says."""
    source = dependency.source or f"ds://{dependency.name}"
    if not source.isprintable():
        return Unusable("its source holds characters that cannot be printed", "write it without them")
    if _GIT.match(source):
        return Foreign("git sources are not fetched")
    scheme = _SCHEME.match(source)
    if source.startswith("file:"):
        rest = source.removeprefix("file:")
        return _local(rest.removeprefix("//") if rest.startswith("///") else rest)
    if scheme is None:
        return _local(source)
    return _by_scheme(scheme[1].lower(), source[scheme.end() :], source)


def _by_scheme(scheme: str, rest: str, source: str) -> Place:
    match scheme:
        case "ds":
            return _registered(rest)
        case "http" | "https":
            return Remote(source)
        case "s3":
            bucket, _, key = rest.partition("/")
            if not bucket or not key or key.endswith("/"):
                return Foreign("only single objects can be fetched from s3, s3://BUCKET/KEY")
            return Bucket(bucket, key)
        case _:
            return Foreign(say("{scheme}:// sources are not fetched", scheme=scheme))


def _local(path: str) -> Place:
    if not path or path.startswith("//"):
        return Unusable("its source names no path", "write file:PATH, relative to the contract's folder")
    return Local(path)


def _registered(path: str) -> Place:
    parts = path.rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        return Unusable(
            say("ds://{path} is no path in a registry", path=path),
            "write ds://NAME/NAME, without empty, . and .. parts",
        )
    return Registered("/".join(parts))


def stated_hash(text: str) -> tuple[str, str] | None:
    """Algorithm and hex digits of `blake3:HEX` or `sha256:HEX`; None: it is neither."""
    algorithm, _, digits = text.strip().partition(":")
    algorithm, digits = algorithm.lower(), digits.lower()
    good = algorithm in ALGORITHMS and re.fullmatch("[0-9a-f]{64}", digits)
    return (algorithm, digits) if good else None


def objection(dependency: Dependency) -> Checked | None:
    """What is wrong with the statement itself; None: it can be looked for."""
    named_by_path = dependency.name == DATA_SOURCE and not dependency.version
    if not named_by_path and not is_semver(dependency.version):
        why = (
            say("{version!r} is no semantic version", version=dependency.version)
            if dependency.version
            else say("no version is stated")
        )
        return Checked(dependency, WRONG, why, "state one version in full, such as 1.3.0")
    if dependency.content_hash and stated_hash(dependency.content_hash) is None:
        return Checked(
            dependency,
            WRONG,
            say(
                "the hash {content_hash!r} is neither blake3: nor sha256: and 64 hex digits",
                content_hash=dependency.content_hash,
            ),
            "dsec hash PATH prints it",
        )
    return None


def variable(name: str) -> str:
    """The variable that tells Steps where the dependency is."""
    return "DSEC_DEP_" + "".join(char if char.isalnum() else "_" for char in name.upper())


def clashes(checked: tuple[Checked, ...]) -> tuple[Checked, ...]:
    """The same, with those wrong that would take the variable of another one."""
    owners: dict[str, Checked] = {}
    kept: list[Checked] = []
    for one in checked:
        owner = owners.setdefault(variable(one.dependency.name), one) if one.path else one
        if owner.path != one.path:
            one = Checked(
                one.dependency,
                WRONG,
                say(
                    "{variable} is the variable of {name!r} already (line {line})",
                    variable=variable(one.dependency.name),
                    name=owner.dependency.name,
                    line=owner.dependency.src.line,
                ),
                "give one of them another name",
            )
        kept.append(one)
    return tuple(kept)


def newest_first(versions: list[str]) -> list[str]:
    """Semantic versions by precedence; what is none comes last, by name."""
    return sorted((one for one in versions if is_semver(one)), key=_precedence, reverse=True) + sorted(
        one for one in versions if not is_semver(one)
    )


def _precedence(version: str) -> tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...], str]:
    core, _, build = version.partition("+")
    numbers, _, pre = core.partition("-")
    parts = tuple(
        (False, int(part), "") if part.isdigit() else (True, 0, part) for part in pre.split(".") if part
    )
    return tuple(int(part) for part in numbers.split(".")), not pre, parts, build


def shown(source: str) -> str:
    """A source without what may be secret in it: user information and query."""
    scheme, slashes, rest = source.partition("://")
    if not slashes or scheme.lower() not in ("http", "https", "s3"):
        return source
    host, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
