"""Stores on the network: one file over HTTP, kept under its hash."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from typing import Protocol

from dsec.errors import DSecError
from dsec.hashing import hasher
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 1 << 20


class StoreError(DSecError):
    """A store did not give the content."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one fetch may cost."""

    size_bytes: int = 64 << 30
    whole_s: float = 3600.0
    silence_s: float = 30.0
    """How long the store may send nothing."""


LIMITS = Limits()


class Store(Protocol):
    """Somewhere that content is fetched from."""

    def pieces(self, url: str) -> Iterator[bytes]:
        """The content, in order; raises StoreError."""


@dataclass(frozen=True, slots=True)
class HttpStore:
    """Plain GET, without credentials; redirects are followed, proxies taken from the environment."""

    limits: Limits = LIMITS

    def pieces(self, url: str) -> Iterator[bytes]:
        """The body of the answer."""
        # Half of a run's other imports; only contracts with network sources pay for it.
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        if not url.lower().startswith(("http://", "https://")):
            raise StoreError(say("{url} is no http(s) URL", url=url))
        try:
            request = Request(url, headers={"User-Agent": "dsec"})  # noqa: S310  # http(s), says `place_of`
            with urlopen(request, timeout=self.limits.silence_s) as answer:  # noqa: S310
                promised, got = answer.headers.get("Content-Length"), 0
                while piece := answer.read1(_PIECE):
                    got += len(piece)
                    yield piece
        except HTTPError as problem:
            problem.close()
            raise StoreError(
                say("the store answered {code} {reason}", code=problem.code, reason=problem.reason)
            ) from None
        except (OSError, HTTPException, ValueError) as problem:
            raise StoreError(say("it could not be fetched: {words}", words=_words(problem))) from None
        if promised is not None and promised.isdigit() and got != int(promised):
            raise StoreError(say("the store sent {got} of {promised} bytes", got=got, promised=promised))


def _words(problem: Exception) -> str:
    reason = getattr(problem, "reason", problem)
    return system(reason) if isinstance(reason, OSError) else str(reason) or type(problem).__name__


def kept_at(cache: str, algorithm: str, digits: str) -> str:
    """Where fetched content with this hash is kept."""
    return os.path.join(cache, f"{algorithm}-{digits}")


def fetch(url: str, store: Store, *, cache: str, wanted: tuple[str, str], limits: Limits) -> str:
    """Bring the content into the cache if it has the wanted hash; give the hash that it has.

    It is hashed while it is written and gets its name only when that is right.
    """
    algorithm, digits = wanted
    os.makedirs(cache, exist_ok=True)
    aside = os.path.join(cache, f".{algorithm}-{digits}.{os.getpid()}")
    try:
        found = _receive(store.pieces(url), aside, algorithm, limits)
        if found == digits:
            os.replace(aside, kept_at(cache, algorithm, digits))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
    return found


def _receive(pieces: Iterator[bytes], path: str, algorithm: str, limits: Limits) -> str:
    state = hasher(algorithm)
    until = time.monotonic() + limits.whole_s
    size = 0
    with open(path, "wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > limits.size_bytes:
                raise StoreError(
                    say("it is larger than {most:,} bytes, the most that is fetched", most=limits.size_bytes)
                )
            if time.monotonic() > until:
                raise StoreError(say("it was not there after {whole_s:g} s", whole_s=limits.whole_s))
            file.write(piece)
            state.update(piece)
    return state.hexdigest()
