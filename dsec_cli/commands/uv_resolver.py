"""Asks `uv pip compile` for a set of versions; no code of a package runs, and no project's settings count."""

from __future__ import annotations

import os
import re
import sys
import time
from urllib.parse import unquote, urlsplit

from dsec.core.pep440 import satisfies
from dsec.errors import DSecError, RunProblem
from dsec.record import Record
from dsec_cli.commands import child
from dsec_cli.commands.indexing import shown, without_keys
from dsec_cli.packages.derivation import MOST_READ, is_unsolvable, read
from dsec_cli.packages.requirement import normalised
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dsec_cli.commands.indexing import PipSettings
    from dsec_cli.packages.conflicts import Entry
    from dsec_cli.packages.derivation import Derivation

OLDEST = (0, 4, 23)
"""The first uv that knows UV_DEFAULT_INDEX: an older one would ask another index than is named."""
MOST_BYTES = 1 << 20
"""Of each output of uv."""
_ASKS_S = 10.0
_MOST_WORDS = 300
_NEVER = "sys_platform == 'none'"
_OWN_WAYS = (
    *("RUST_LOG", "UV_PYTHON", "UV_SYSTEM_PYTHON", "UV_PROJECT", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY"),
    *("UV_ENV_FILE", "UV_GENERATE_HASHES", "UV_NO_INDEX", "VIRTUAL_ENV"),
)
"""Variables that would make uv answer something else than it is asked."""
_FILES = (
    "UV_CONSTRAINT",
    "UV_OVERRIDE",
    "UV_EXCLUDE",
    "UV_BUILD_CONSTRAINT",
    "UV_CONFIG_FILE",
    "UV_CACHE_DIR",
)
"""Variables with paths, that are meant from the user's folder."""
_LINE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,200})(?:\[[^\]]{0,500}\])?={2,3}([A-Za-z0-9.!+_-]{1,200})")
_YANKED = re.compile(r"`([A-Za-z0-9._-]{1,200})==([A-Za-z0-9.!+_-]{1,200})` is yanked")
_PLATFORM = re.compile(r"\b(\w{3,20}-manylinux_2_(\d{1,3}))\b")


class UvProblem(DSecError):
    """uv could not find out."""


class OutOfTimeError(UvProblem):
    """The time of the whole answer is over."""


class Uv(Record):
    """An installed uv."""

    path: str
    version: str

    @property
    def name(self) -> str:
        """As the answer names it."""
        return f"uv {self.version}"


class Asked(Record):
    """What uv is asked, and how."""

    uv: Uv
    env: Mapping[str, str]
    options: tuple[str, ...]
    secrets: tuple[str, ...]
    until: float
    """A reading of the monotonic clock."""
    limit_s: float


class Said(Record):
    """An answer: versions, or why there are none."""

    versions: Mapping[str, str]
    """By package; empty: there is no set."""
    places: tuple[str, ...]
    """Indexes that were asked, as uv names them."""
    yanked: frozenset[str]
    """Packages of which a version was chosen that its publisher has taken back."""
    derivation: Derivation | None = None
    """Why there is no set."""


def found(environ: Mapping[str, str]) -> str:
    """The path of uv: on PATH, else in the active environment; "": there is none.

    Folders of PATH that are not absolute do not count: a clone may hold a `uv`.
    """
    from shutil import which

    folders = [one for one in environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(one)]
    return which("uv", path=os.pathsep.join([*folders, *_active()])) or ""


def _active() -> list[str]:
    from dsec.interpreter import default

    try:
        return [os.path.dirname(default(os.environb).path)]
    except RunProblem:
        return []


def known(path: str, environ: Mapping[str, str], folder: str, until: float) -> Uv | None:
    """The uv at `path`; None: it does not say a version that we know how to ask."""
    until = min(until, time.monotonic() + _ASKS_S)
    try:
        ended = child.run(
            [path, "--version"], given="", env=environ, folder=folder, until=until, most=1 << 12
        )
    except OSError:
        return None
    said = re.match(r"uv (\d{1,9}(?:\.\d{1,9}){1,3})\b", ended.output)
    if ended.code != 0 or said is None or tuple(map(int, said[1].split("."))) < OLDEST:
        return None
    return Uv(path, said[1])


def environment(environ: Mapping[str, str], pip: PipSettings, index: str) -> dict[str, str]:
    """The environment that uv runs in: URLs with passwords stand here, not in its command line."""
    found = {name: value for name, value in environ.items() if name not in _OWN_WAYS}
    for name in _FILES:
        if found.get(name):
            found[name] = " ".join(os.path.abspath(one) for one in found[name].split())
    if index:
        found["UV_DEFAULT_INDEX"] = index
        found.pop("UV_INDEX_URL", None)
    if pip.more:
        found["UV_INDEX"] = " ".join((*found.get("UV_INDEX", "").split(), *pip.more))
        # pip takes the best version of all indexes, uv by itself that of the first which has the package.
        found.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
    links = [one for one in found.get("UV_FIND_LINKS", "").split(",") if one]
    if links or pip.links:
        local = (one if "://" in one else os.path.abspath(one) for one in (*links, *pip.links))
        found["UV_FIND_LINKS"] = ",".join(local)
    if pip.certificates:
        found.setdefault("SSL_CERT_FILE", os.path.abspath(pip.certificates))
    return found | {"UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}


def options(pip: PipSettings, *, wanted: str, machine: str) -> tuple[str, ...]:
    """How uv is asked: for which Python and system, without building, within pip's constraints."""
    return (
        *("--no-build", "--no-header", "--no-annotate", "--no-progress", "--color", "never"),
        *("--emit-index-url", "--emit-find-links", "--python-version", wanted, f"--python={sys.executable}"),
        *(("--python-platform", f"{machine}-manylinux_2_40") if machine in ("x86_64", "aarch64") else ()),
        *(word for one in pip.constraints for word in ("-c", one if "://" in one else os.path.abspath(one))),
        *(("--no-index",) if pip.no_index else ()),
    )


def secrets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """What no message may repeat: passwords for indexes and whatever stands in their URLs as one."""
    said: set[str] = set()
    for name, value in environ.items():
        if name.startswith("UV_") and name.endswith(("_PASSWORD", "_TOKEN")):
            said.add(value)
        for word in re.split(r"[\s,]+", value) if name.startswith(("UV_", "PIP_")) else ():
            said |= _in_url(word)
    return tuple(sorted((one for one in said if len(one) > 3), key=len, reverse=True))


def _in_url(word: str) -> set[str]:
    try:
        parts = urlsplit(word)
        words = {parts.password or "", "" if parts.password else parts.username or "", parts.query}
    except ValueError:
        return set()
    return (words | {unquote(one) for one in words}) if parts.scheme and parts.netloc else set()


def cleaned(text: str, hidden: tuple[str, ...]) -> str:
    """A text of uv's without passwords, and without what a terminal would obey."""
    for one in hidden:
        text = text.replace(one, "***")
    text = re.sub(r"(\w{1,20}://)[^/\s@]{1,2000}@", r"\1", text)
    text = re.sub(r"(\w{1,20}://[^\s?#`'\")]{1,2000})\?[^\s`'\")]{1,2000}", r"\1", text)
    text = re.sub(r"\w{1,20}://[^\s?#`'\")]{1,2000}", lambda found: without_keys(found[0]), text)
    return "".join(ch if ch.isprintable() or ch.isspace() else "?" for ch in text)


def compile_set(asked: Asked, entries: tuple[Entry, ...], left_out: Collection[str], folder: str) -> Said:
    """Ask for a version of every package that the entries need, but for those left out; raises UvProblem."""
    lines = [line_of(entry) for entry in entries if entry.name not in left_out]
    options = asked.options
    if left_out:
        path = os.path.join(folder, "left-out.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{name} ; {_NEVER}\n" for name in sorted(left_out))
        options += ("--override", path)
    ended = _run(asked, options, lines, folder)
    platform = _platform(options, ended)
    if platform:
        at = options.index("--python-platform") + 1
        ended = _run(asked, (*options[:at], platform, *options[at + 1 :]), lines, folder)
    return _said(asked, ended, tuple(entry for entry in entries if entry.name not in left_out))


def line_of(entry: Entry) -> str:
    """The requirement, as a line of a requirements file."""
    extras = f"[{','.join(sorted(entry.extras))}]" if entry.extras else ""
    return f"{entry.name}{extras}{entry.wanted}"


def _run(asked: Asked, options: tuple[str, ...], lines: list[str], folder: str) -> child.Ended:
    argv = [asked.uv.path, "pip", "compile", "-", *options]
    given = "".join(f"{line}\n" for line in lines)
    try:
        ended = child.run(argv, given=given, env=asked.env, folder=folder, until=asked.until, most=MOST_BYTES)
    except OSError as problem:
        raise UvProblem(
            say("{path} could not be started: {why}", path=asked.uv.path, why=system(problem)),
            hint=say("install uv anew, or take it from the PATH"),
        ) from None
    if ended.too_much:
        raise UvProblem(
            say("{resolver} wrote more than {most} MiB", resolver=asked.uv.name, most=MOST_BYTES >> 20),
            hint=say("install uv anew, or take it from the PATH"),
        )
    if ended.code is None:
        raise out_of_time(asked.limit_s)
    return ended


def out_of_time(limit_s: float) -> OutOfTimeError:
    """The error of who has not found out in time."""
    return OutOfTimeError(
        say("could not find out in {limit:g} s", limit=limit_s),
        hint=say("--timeout SECONDS allows more; narrower ranges need less"),
    )


def _platform(options: tuple[str, ...], ended: child.Ended) -> str:
    """The newest platform of this machine that an older uv lists; "": it was no matter of that."""
    if ended.code != 2 or "--python-platform" not in ended.errors or "--python-platform" not in options:
        return ""
    machine = options[options.index("--python-platform") + 1].partition("-")[0]
    known = _PLATFORM.findall(ended.errors.partition("possible values")[2][:MOST_READ])
    mine = [(int(number), name) for name, number in known if name.startswith(f"{machine}-")]
    return max(mine)[1] if mine else f"{machine}-unknown-linux-gnu"


def _said(asked: Asked, ended: child.Ended, entries: tuple[Entry, ...]) -> Said:
    words = cleaned(ended.errors[: 2 * MOST_READ], asked.secrets)
    if ended.code != 0:
        if is_unsolvable(words):
            return Said({}, (), frozenset(), read(words))
        raise UvProblem(
            say(
                "{resolver} could not find out: {why}", resolver=asked.uv.name, why=_short(words, ended.code)
            ),
            hint=say("check the network and --index; without --resolve no index is asked"),
        )
    versions, places = _lines(ended.output)
    for entry in entries:
        _expect(asked, entry, versions.get(entry.name, ""))
    yanked = frozenset(normalised(name) for name, _ in _YANKED.findall(words))
    return Said(versions, places, yanked)


def _expect(asked: Asked, entry: Entry, version: str) -> None:
    """Refuse a version that the entry's range does not allow, be it by another program or by an override."""
    if not version:
        raise UvProblem(
            say("{resolver} names no version of {package}", resolver=asked.uv.name, package=entry.name),
            hint=say("install uv anew, or take it from the PATH"),
        )
    if not satisfies(entry.wanted, version):
        raise UvProblem(
            say(
                "{resolver} names {package} {version}, which is not in {wanted}",
                resolver=asked.uv.name,
                package=entry.name,
                version=version,
                wanted=entry.wanted or say("any range"),
            ),
            hint=say("look for an override in the settings of uv, such as UV_OVERRIDE"),
        )


def _short(words: str, code: int | None) -> str:
    lines = (
        re.sub(r"^(?:error|cause|Caused by):\s*", "", line.strip(" ×╰─▶│\t")) for line in words.splitlines()
    )
    said = ": ".join(
        line for line in lines if line and not line.startswith(("warning:", "For more information"))
    )
    return (said[:_MOST_WORDS] + "..." if len(said) > _MOST_WORDS else said) or say(
        "exit code {code}", code=code
    )


def _lines(output: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Versions by package, and the places that uv has asked."""
    versions: dict[str, str] = {}
    places: list[str] = []
    for line in output.splitlines():
        option, _, value = line.strip().partition(" ")
        if option in ("--index-url", "--extra-index-url", "--find-links"):
            places += [shown(value)] if "://" in value else [value]
            continue
        found = _LINE.match(line.strip())
        if found is not None:
            versions[normalised(found[1])] = found[2]
    return versions, tuple(places)
