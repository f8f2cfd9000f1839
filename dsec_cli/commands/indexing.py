"""A package index over HTTP: which one pip asks, and its pages and metadata within limits."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from urllib.parse import urljoin, urlsplit, urlunsplit

from dsec.record import Record
from dsec_cli.packages.index import MEDIA_TYPE, IndexProblem, Release, files_of, releases_of
from dsec_cli.packages.installed import facts_of
from dsec_cli.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dsec_cli.packages.known import Facts

_PIECE = 1 << 16
_KEY_LENGTH = 16
_REDIRECTS = 5


class Limits(Record):
    """What asking an index may cost."""

    page_bytes: int = 32 << 20
    """Of a project's page."""
    metadata_bytes: int = 4 << 20
    silence_s: float = 15.0
    whole_s: float = 180.0
    """All requests together."""
    requests: int = 600


LIMITS = Limits()
VARIABLES = ("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")
"""Where an index is named; pip's goes first."""


def index_url(environ: Mapping[str, str]) -> str:
    """The index that pip or uv asks: environment variables, pip's configuration files, pip's own default.

    Raises IndexProblem where there is none.
    """
    pip = pip_settings(environ)
    if pip.no_index:
        raise IndexProblem("pip is configured to ask no index", hint="name one with --index URL")
    url = pip.url or _default()
    if not url:
        raise IndexProblem(
            "no package index is configured", hint="name one with --index URL, or PIP_INDEX_URL"
        )
    return url.strip()


class PipSettings(Record):
    """Where packages come from, as pip is told by its variables and configuration files."""

    url: str
    """Of the index; "": none is named, by uv's variables neither."""
    more: tuple[str, ...]
    """Extra indexes."""
    links: tuple[str, ...]
    """Folders and pages with packages; folders that are not there are left out, as pip does."""
    constraints: tuple[str, ...]
    """Files."""
    no_index: bool
    certificates: str


def pip_settings(environ: Mapping[str, str]) -> PipSettings:
    """What pip is told; raises IndexProblem where a file of it cannot be read."""
    configured = _configured(environ)

    def value(name: str) -> str:
        return environ.get(f"PIP_{name.upper().replace('-', '_')}") or configured.get(name) or ""

    named = next((environ[name] for name in VARIABLES if environ.get(name)), "")
    return PipSettings(
        url=(named or configured.get("index-url") or "").strip(),
        more=tuple(one for one in value("extra-index-url").split() if _is_there(one)),
        links=tuple(one for one in value("find-links").split() if _is_there(one)),
        constraints=tuple(value("constraint").split()),
        no_index=value("no-index").lower() in ("1", "true", "yes", "on"),
        certificates=environ.get("PIP_CERT")
        or environ.get("REQUESTS_CA_BUNDLE")
        or configured.get("cert")
        or "",
    )


def _is_there(place: str) -> bool:
    local = place.removeprefix("file://")
    return ("://" in place and local == place) or os.path.exists(local)


def _configured(environ: Mapping[str, str]) -> dict[str, str]:
    """`[global]` and `[install]` of pip's files; later files win, as with pip."""
    import configparser

    home = os.path.expanduser("~")
    user = os.path.join(environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "pip", "pip.conf")
    paths = [
        "/etc/xdg/pip/pip.conf",
        "/etc/pip.conf",
        os.path.join(home, ".pip", "pip.conf"),
        user,
        os.path.join(sys.prefix, "pip.conf"),
    ]
    named = environ.get("PIP_CONFIG_FILE")
    found: dict[str, str] = {}
    for path in [] if named == os.devnull else [*paths, named] if named else paths:
        parser = configparser.RawConfigParser()
        try:
            parser.read(path, "utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            raise IndexProblem(
                say("{path} could not be read as pip's configuration", path=path), hint="fix it"
            ) from None
        for section in ("global", "install"):
            found |= dict(parser.items(section)) if parser.has_section(section) else {}
    return found


def _default() -> str:
    """The index that the installed pip asks when nobody names one, read from its source; "": no pip."""
    import re
    from importlib.util import find_spec

    spec = find_spec("pip")
    if spec is None or not spec.origin:
        return ""
    path = os.path.join(os.path.dirname(spec.origin), "_internal", "models", "index.py")
    try:
        with open(path, encoding="utf-8") as file:
            found = re.search(r'^PyPI = PackageIndex\(\s*"(https://[^"]+)"', file.read(), re.MULTILINE)
    except OSError:
        return ""
    return urljoin(found[1], "simple") if found else ""


def shown(url: str) -> str:
    """The URL without what may be secret in it: user, password, query, and folders that look like a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], without_keys(parts.path), "", ""))


def without_keys(path: str) -> str:
    """A path whose folders of many letters and digits are hidden: some indexes take a key there."""
    return "/".join("***" if _looks_like_a_key(one) else one for one in path.split("/"))


def _looks_like_a_key(folder: str) -> bool:
    """One word of at least 16 letters and digits, or a UUID; names of packages have short words."""
    words = folder.replace("_", "-").split("-")
    if [len(word) for word in words] == [8, 4, 4, 4, 12]:
        return True
    return any(len(word) >= _KEY_LENGTH and word.isalnum() and _is_mixed(word) for word in words)


def _is_mixed(word: str) -> bool:
    return any(map(str.isdigit, word)) and any(map(str.isalpha, word))


class RefusedError(IndexProblem):
    """The index answered, and did not give what was asked for."""


class HttpIndex:
    """An index that is asked over HTTP, each page once; implements `packages.index.Index`."""

    def __init__(self, url: str, *, python: str, machine: str, limits: Limits = LIMITS) -> None:
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("http", "https") and bool(parts.hostname)
        except ValueError:
            good = False
        if not good:
            raise IndexProblem("the index is no http(s) URL", hint="--index https://HOST/simple")
        self._base = url.rstrip("/") + "/"
        self._python, self._machine, self._limits = python, machine, limits
        self._until = time.monotonic() + limits.whole_s
        self._requests = 0
        self._opener: Any = None  # reading the trusted certificates takes longer than most requests
        self._size = 0
        self._releases: dict[str, tuple[Release, ...]] = {}
        self._facts: dict[str, Facts | None] = {}

    def releases(self, name: str) -> tuple[Release, ...]:
        """All releases that can be installed, in ascending order."""
        if name not in self._releases:
            url = urljoin(self._base, f"{name}/")
            answer = self._get(url, MEDIA_TYPE, self._limits.page_bytes)
            files = () if answer is None else files_of(_json(answer[0], url), name)
            if answer is not None:
                files = tuple(one._replace(url=urljoin(answer[1], one.url)) for one in files)
            self._releases[name] = releases_of(files, python=self._python, machine=self._machine)
        return self._releases[name]

    def facts(self, name: str, release: Release) -> Facts | None:
        """What the release requires, by its separate metadata or those in its wheel; None: not told."""
        url = release.metadata_url
        if not url:
            return None
        if url not in self._facts:
            data = self._metadata(release)
            source = f"metadata of {name} {release.version} in the index"
            self._facts[url] = facts_of(data.decode("utf-8", "replace"), source) if data else None
        return self._facts[url]

    def _metadata(self, release: Release) -> bytes:
        """METADATA; many a mirror has them beside the wheel without saying so, or in the wheel only."""
        url, stated = release.metadata_url, release.metadata_hash
        try:
            answer = self._get(url, "*/*", self._limits.metadata_bytes)
        except RefusedError:
            if stated:
                raise
            answer = None
        if answer is not None:
            _verify(answer[0], stated, url)
            return answer[0] if stated or answer[0].startswith(b"Metadata-Version") else b""
        return b"" if stated else self._in_wheel(release.wheel_url)

    def _in_wheel(self, url: str) -> bytes:
        """METADATA out of the wheel; b"": the index gives no part of a file, or not such a wheel."""
        from dsec_cli.packages.wheel import metadata_of

        most = self._limits.metadata_bytes
        got = 0

        def piece(start: int, end: int) -> bytes:
            nonlocal got
            got += end - start
            if got > most:
                raise RefusedError(say("{url} is larger than {most} MiB", url=shown(url), most=most >> 20))
            answer = self._get(url, "*/*", most, part=f"{start}-{end - 1}")
            return b"" if answer is None else answer[0]

        try:
            tail = self._get(url, "*/*", most, part=f"-{_PIECE}")
            if tail is None or not self._size:
                return b""
            return metadata_of(self._size, tail[0], piece, most=most)
        except RefusedError:
            return b""

    def _get(self, url: str, accept: str, most: int, *, part: str = "") -> tuple[bytes, str] | None:
        """Body and final URL; None: there is nothing (404). Raises IndexProblem.

        `part` is a range of bytes; how large the whole is stands in `_size`, 0 where it is not told.
        """
        from http.client import HTTPException
        from urllib.error import HTTPError

        self._requests += 1
        if self._requests > self._limits.requests:
            raise IndexProblem(
                say("gave up after {requests} requests to the index", requests=self._limits.requests),
                hint=_NARROW,
            )
        if self._opener is None:
            self._opener = _opener()
        request = _request(url, accept, self._base)
        if part:
            request.add_header("Range", f"bytes={part}")
        try:
            with self._opener.open(request, timeout=self._limits.silence_s) as answer:
                _expect(answer, accept, url)
                self._size = _whole_size(answer)
                if part and not self._size:
                    raise RefusedError(say("{url} is not given in parts", url=shown(url)))
                return self._body(answer, url, most), answer.geturl()
        except HTTPError as problem:
            problem.close()
            if problem.code == 404:
                return None
            raise RefusedError(
                say("{url} answered {code}", url=shown(url), code=problem.code), hint=_CHECK
            ) from None
        except (OSError, HTTPException, ValueError) as problem:
            raise IndexProblem(
                say("{url} could not be fetched: {words}", url=shown(url), words=_words(problem)), hint=_CHECK
            ) from None

    def _body(self, answer: Any, url: str, most: int) -> bytes:
        pieces, size = [], 0
        while piece := answer.read1(_PIECE):
            size += len(piece)
            if size > most:
                raise IndexProblem(
                    say("{url} is larger than {most} MiB", url=shown(url), most=most >> 20), hint=_CHECK
                )
            if time.monotonic() > self._until:
                raise IndexProblem(
                    say("the index took longer than {whole_s:g} s", whole_s=self._limits.whole_s),
                    hint=_NARROW,
                )
            pieces.append(piece)
        return b"".join(pieces)


_CHECK = "check the network and --index; without --resolve no index is asked"
_NARROW = "state narrower ranges, or try again without --resolve"


def _json(data: bytes, url: str) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise IndexProblem(say("{url} is no JSON", url=shown(url)), hint=_CHECK) from None


def _verify(data: bytes, stated: str, url: str) -> None:
    digest = stated.removeprefix("sha256=")
    if data and stated.startswith("sha256=") and hashlib.sha256(data).hexdigest() != digest:
        raise IndexProblem(say("{url} has not the hash that the index states", url=shown(url)), hint=_CHECK)


def _expect(answer: Any, accept: str, url: str) -> None:
    kind = answer.headers.get_content_type()
    if accept == MEDIA_TYPE and kind not in (MEDIA_TYPE, "application/json"):
        raise IndexProblem(
            say("{url} is {kind}, not the JSON of the simple repository API", url=shown(url), kind=kind),
            hint="name an index that offers it (PEP 691) with --index",
        )


def _whole_size(answer: Any) -> int:
    """The size of the file that a part was given of; 0: no part was given."""
    _, _, whole = (answer.headers.get("Content-Range") or "").partition("/")
    return int(whole) if answer.status == 206 and whole.isdecimal() and len(whole) < 16 else 0


def _words(problem: Exception) -> str:
    reason = getattr(problem, "reason", problem)
    return system(reason) if isinstance(reason, OSError) else str(reason) or type(problem).__name__


def _request(url: str, accept: str, base: str) -> Any:
    """A GET; user and password of the index go to its own host only."""
    import base64
    from urllib.parse import unquote
    from urllib.request import Request

    home, parts = urlsplit(base), urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise IndexProblem(
            say("the index names {scheme} URL, not http(s)", scheme=parts.scheme or "no"), hint=_CHECK
        )
    headers = {"Accept": accept, "User-Agent": "dsec", "Accept-Encoding": "identity"}
    same = (home.scheme, home.hostname, home.port) == (parts.scheme, parts.hostname, parts.port)
    if same and home.username is not None:
        pair = f"{unquote(home.username)}:{unquote(home.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
    return Request(bare, headers=headers)  # noqa: S310 - http(s), as looked at above


def _opener() -> Any:
    """Follows redirects to http(s) only, and takes the password to no other host."""
    import ssl
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, build_opener

    class Redirects(HTTPRedirectHandler):
        max_redirections = _REDIRECTS

        def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> Any:
            old, new = urlsplit(req.full_url), urlsplit(newurl)
            if new.scheme not in ("http", "https") or (old.scheme == "https" and new.scheme == "http"):
                raise IndexProblem(say("the index leads to a {scheme} URL", scheme=new.scheme), hint=_CHECK)
            found = super().redirect_request(req, fp, code, msg, headers, newurl)
            if found is not None and (old.hostname, old.port) != (new.hostname, new.port):
                found.headers.pop("Authorization", None)
            return found

    trusted = os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE") or None
    try:
        context = ssl.create_default_context(cafile=trusted)
    except OSError as problem:
        raise IndexProblem(
            say("{trusted} could not be read: {why}", trusted=trusted, why=system(problem)),
            hint="check PIP_CERT",
        ) from None
    return build_opener(Redirects(), HTTPSHandler(context=context))
