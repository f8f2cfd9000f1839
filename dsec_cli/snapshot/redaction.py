"""What must not get into a snapshot, and the keyed digests that stand in its place.

One engine for the environment, command lines, settings, remote addresses, diffs and files. A secret
becomes `<redacted:DIGEST>`: the digest is made with a key of this user that is in no snapshot, so two
states can be told apart or found equal, and nobody else can try values against it.
"""

from __future__ import annotations

import hmac
import re

from dsec.record import Record
from dsec_cli.snapshot import encodedtexts, keywords, literals, secretcolumns, secretphrases, secretplaces
from dsec_cli.snapshot.secretfiles import (
    SNIFFED,
    encoding_of,
    has_settings,
    has_sums,
    is_direnv,
    is_dotenv,
    is_guarded,
)
from dsec_cli.snapshot.secretplaces import TextKind as _Kind
from dsec_cli.snapshot.secrettokens import tokens
from dsec_cli.snapshot.secretvalues import is_drawn, is_meant, is_password, is_stated, is_wordy, strength
from dsec_cli.source.secrets import looks_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.snapshot.keywords import Keywords

MARK = "<redacted:"
_DIGITS = 16
_BEFORE, _WINDOW = 8, 16 << 10
"""Of what is no text: bytes before and after a beginning that are looked at."""
_WORDS = (*secretplaces.LOGIN_WORDS, *secretphrases.WORDS, *secretphrases.BEGINNINGS)
_KEYWORDS = keywords.Search((*_WORDS, *encodedtexts.KIND_WORDS))
_FORMS = keywords.Search(_WORDS, forms=True)
_DEEPEST = 3
"""Texts in base 64 within each other that are looked at."""
_ALWAYS = 2
"""A name whose value is a secret whatever it looks like."""
_DIGEST = re.compile(rb"<redacted:[0-9a-f]{16}>")
_USERINFO = re.compile(r"://(?P<value>[^\s/@\"'<>]{1,512})@")
_DOTENV = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.]{0,127})[ \t]*=[ \t]*(?P<value>.+?)[ \t]*$", re.MULTILINE
)
_PLAIN = re.compile(
    r"[+-]?\d{1,12}(?:\.\d{1,9})?\Z|true\Z|false\Z|yes\Z|no\Z|on\Z|off\Z|none\Z|null\Z", re.IGNORECASE
)
_VERSION = re.compile(r"(?:release-)?v?\d{1,4}(?:\.\d{1,5}){1,3}(?:[-+.][a-z0-9.]{1,12})?\Z")
_EXPANDED = re.compile(r"\$\{?\w+(?::?-[\w./-]{0,60})?\}?\Z")
_HARMLESS = frozenset(
    (
        *(
            "version",
            "namespace",
            "host",
            "hostname",
            "port",
            "mode",
            "region",
            "level",
            "env",
            "environment",
        ),
        *("name", "timezone", "tz", "lang", "backend", "driver", "model", "dir", "path", "image", "tag"),
    )
)
"""Last words of names whose values are no secrets."""


class Found(Record):
    """A secret that was left out."""

    kind: str
    line: int
    """From 1; 0 where there are no lines."""
    digest: str


class _Span(Record):
    start: int
    end: int
    kind: str


class Redactor:
    """Replaces secrets, with one key."""

    def __init__(self, key: bytes, accepted: Iterable[str] = ()) -> None:
        self._key = key
        self._accepted = frozenset(accepted)
        """Digests of values that the user says are no secrets."""
        self.spared = 0
        """How many of them were met."""

    @property
    def key_id(self) -> str:
        """Names the key without giving anything of it away."""
        return hmac.digest(self._key, b"dsec.redaction.key/1", "sha256").hex()[:_DIGITS]

    @property
    def identity(self) -> str:
        """Tells engines apart that find different things in the same file."""
        return self.digest(b"\n".join(one.encode() for one in ("dsec.redactor", *sorted(self._accepted))))

    def digest(self, value: bytes) -> str:
        """The keyed digest of a value."""
        return hmac.digest(self._key, b"dsec.redaction/1\n" + value, "sha256").hex()[:_DIGITS]

    def instead(self, value: bytes) -> str:
        """What stands in a value's place."""
        return f"{MARK}{self.digest(value)}>"

    def file(self, data: bytes, name: str) -> tuple[bytes, tuple[Found, ...]]:
        """The content of the file `name` without its secrets; the same object where it has none."""
        if (encoding := encoding_of(data)) is not None:
            return self._encoded(data, name, encoding)
        if b"\0" in data[:SNIFFED]:
            return self._replaced(data, _spans_of_binary(data))
        found = spans(
            data,
            settings=has_settings(name),
            guarded=is_guarded(name),
            sums=has_sums(name),
            seam=literals.seam_of(name),
        )
        if is_dotenv(name) or is_direnv(name):
            found = _apart([*found, *_variables(data.decode("latin-1"), every=is_dotenv(name))])
        if name.endswith(secretcolumns.ENDS):
            columns = secretcolumns.values(data.decode("latin-1"))
            found = _apart([*found, *(_Span(*one, "a value of a column") for one in columns)])
        return self._replaced(data, found)

    def _encoded(self, data: bytes, name: str, encoding: str) -> tuple[bytes, tuple[Found, ...]]:
        """The same for a text in UTF-16: read as one, and written as one."""
        text = data.decode(encoding, "surrogatepass").encode("utf-8", "surrogatepass")
        clean, found = self.file(text, name) if b"\0" not in text[:SNIFFED] else (text, ())
        return (
            (clean.decode("utf-8", "surrogatepass").encode(encoding, "surrogatepass"), found)
            if found
            else (data, ())
        )

    def diff(self, data: bytes) -> tuple[bytes, tuple[Found, ...]]:
        """A difference without its secrets: what stands behind the signs is looked at, line by line."""
        plain = b"\n".join(
            b" " + line[1:] if line[:1] in (b"+", b"-") else line for line in data.split(b"\n")
        )
        return self._replaced(data, spans(plain, settings=True))

    def text(self, text: str) -> tuple[str, tuple[Found, ...]]:
        """A text of any kind without its secrets."""
        data = text.encode("utf-8", "surrogateescape")
        clean, found = self._replaced(data, spans(data, settings=True))
        return clean.decode("utf-8", "backslashreplace"), found

    def tokens(self, text: str) -> tuple[str, tuple[Found, ...]]:
        """A text without what its own form gives away, and nothing else: for names and hashes."""
        data = text.encode("utf-8", "surrogatepass")
        clean, found = self._replaced(data, _tokens(data, data.decode("latin-1")))
        return (clean.decode("utf-8", "surrogatepass"), found) if found else (text, ())

    def holds_token(self, document: bytes) -> bool:
        """Whether `tokens` would find anything in one of the texts of a document."""
        return bool(_tokens(document, document.decode("latin-1")))

    def argv(self, words: Iterable[str]) -> tuple[list[str], tuple[Found, ...]]:
        """A command line without its secrets."""
        out: list[str] = []
        told: list[Found] = []
        name = ""
        for word in words:
            clean, found = self._word(name, word)
            out.append(clean)
            told += found
            name = word if word.startswith("-") and "=" not in word else ""
        return out, tuple(told)

    def _word(self, name: str, word: str) -> tuple[str, tuple[Found, ...]]:
        """One word of a command line; `name` is the option before it."""
        before, equals, value = word.partition("=")
        if name and not word.startswith("-") and _is_argument_of(name, word):
            return self._whole(word)
        if name in ("-u", "--user") and ":" in word and not word.replace(":", "").isdecimal():
            user, _, password = word.partition(":")
            clean, found = self._whole(password)
            return f"{user}:{clean}", found
        if equals and MARK not in value and is_meant(before.lstrip("-"), value):
            clean, found = self._whole(value)
            return f"{before}={clean}", found
        return self.text(word)

    def _whole(self, value: str) -> tuple[str, tuple[Found, ...]]:
        raw = value.encode("utf-8", "surrogateescape")
        if self.digest(raw) in self._accepted:
            return value, ()
        return self.instead(raw), (Found("a value by its name", 0, self.digest(raw)),)

    def url(self, text: str) -> tuple[str, tuple[Found, ...]]:
        """An address without credentials, query and fragment."""
        bare = text.partition("#")[0].partition("?")[0] if "://" in text else text
        scheme, mark, rest = bare.partition("://")
        if not mark:
            return self.text(bare)
        host, slash, path = rest.partition("/")
        user, at, host_only = host.rpartition("@")
        clean, found = self.text(f"{scheme}://{host_only}{slash}{path}")
        if not at or (scheme == "ssh" and ":" not in user):  # ssh://git@host names an account, no secret
            return (bare if not found else clean), found
        return clean, (
            *found,
            Found("credentials in an address", 0, self.digest(user.encode("utf-8", "surrogateescape"))),
        )

    def _replaced(self, data: bytes, found: list[_Span]) -> tuple[bytes, tuple[Found, ...]]:
        out: list[bytes] = []
        told: list[Found] = []
        at = 0
        for span in found:
            value = data[span.start : span.end]
            digest = self.digest(value)
            if digest in self._accepted:
                self.spared += 1
                continue
            out += [data[at : span.start], f"{MARK}{digest}>".encode()]
            told.append(Found(span.kind, data.count(b"\n", 0, span.start) + 1, digest))
            at = span.end
        return (b"".join([*out, data[at:]]), tuple(told)) if told else (data, ())


def masked(data: bytes) -> bytes:
    """The text with every digest alike: those of different keys say nothing about each other."""
    return _DIGEST.sub(b"<redacted:?>", data)


def spans(
    data: bytes,
    *,
    settings: bool,
    guarded: bool = False,
    sums: bool = False,
    seam: re.Pattern[str] | None = literals.SEAM,
    depth: int = 0,
) -> list[_Span]:
    """Where secrets stand in `data`, in order and without overlap.

    `settings`: it is a file of settings, where values need no quotes; `guarded`: a test or an example;
    `sums`: one that is full of hashes; `seam`: what joins its literals; `depth`: in how many texts of
    base 64 it is.
    """
    text = data.decode("latin-1")  # a character for each byte, so places in one are places in the other
    known = _KEYWORDS(data)
    kind = _Kind(settings, guarded, sums)
    found = _spans(data, text, known, kind)
    if depth < _DEEPEST and not kind.sums:
        found += _encoded(text, known, depth)
    if seam is not None and (joined := literals.joined(text, seam, known.seams)) is not None:
        whole = joined.text.encode("latin-1")
        for span in _spans(whole, joined.text, _KEYWORDS(whole), kind):
            found += [_Span(start, end, span.kind) for start, end in joined.places(span.start, span.end)]
    return _apart(found)


def _spans(data: bytes, text: str, known: Keywords, kind: _Kind) -> list[_Span]:
    found = _by_form(data, text, known)
    if any(span.kind == "an AWS access key" for span in found):
        found += [_Span(*place) for place in secretplaces.beside_aws(text)]
    if kind.settings and not known.others.keys().isdisjoint(secretplaces.LOGIN_WORDS):
        found += [_Span(*place) for place in secretplaces.logins(text)]
    basic = "Basic " in known.others
    for line in () if kind.sums else secretplaces.lines(text, known.names, known.slots):
        found += [_Span(*place) for place in secretplaces.of_line(text, line, kind, basic=basic)]
    return [span for span in found if MARK not in text[span.start : span.end]]


def _encoded(text: str, known: Keywords, depth: int) -> Iterator[_Span]:
    """Texts in base 64 that hold a secret, and the values of manifests of Kubernetes."""
    if not known.others.keys().isdisjoint(encodedtexts.KIND_WORDS):
        for start, end in encodedtexts.manifest_values(text):
            yield _Span(start, end, "a value of a Secret of Kubernetes")
    for one in encodedtexts.texts(text, known.codes) if known.codes else ():
        settings = not one.plain.lstrip().startswith((b"{", b"<"))
        if spans(one.plain, settings=settings, depth=depth + 1):
            yield _Span(one.start, one.end, "a text in base 64 with a secret")


def _tokens(data: bytes, text: str) -> list[_Span]:
    """What its own form gives away, passwords in addresses among it."""
    found = _by_form(data, text, _FORMS(data))
    return _apart([span for span in found if MARK not in text[span.start : span.end]])


def _by_form(data: bytes, text: str, known: Keywords) -> list[_Span]:
    found = [_Span(*hit) for hit in tokens(data, text, known)]
    found += [_Span(*place) for place in secretphrases.anywhere(text, known.others)]
    found += _userinfo(text, known.addresses)
    return found


def _spans_of_binary(data: bytes) -> list[_Span]:
    """Secrets of what is no text: only what cannot well be anything else, where one begins."""
    known = _FORMS(data)
    found = [_Span(*hit) for hit in tokens(data, data.decode("latin-1"), known)]
    end = 0
    for at in sorted(at for word in secretphrases.BEGINNINGS for at in known.others.get(word, ())):
        if at >= end:
            start, end = max(end, at - _BEFORE), at + _WINDOW
            part = data[start:end]
            places = secretphrases.anywhere(part.decode("latin-1"), _FORMS(part).others)
            found += [_Span(start + one.start, start + one.end, one.kind) for one in places]
    return _apart(found)


def _userinfo(text: str, addresses: Iterable[int]) -> Iterator[_Span]:
    for at in addresses:
        hit = _USERINFO.match(text, at)
        if hit is not None:
            user, _, password = hit["value"].partition(":")
            start = hit.start("value")
            if password and not is_stated(password) and password != user:
                yield _Span(start + len(user) + 1, hit.end("value"), "a password in an address")
            elif not password and looks_random(user) and not is_wordy(user) and not is_stated(user):
                yield _Span(start, hit.end("value"), "a token in an address")


def _is_argument_of(option: str, word: str) -> bool:
    """Whether a word is a secret for the option before it: a command line has values, not code."""
    name = option.lstrip("-")
    if len(name) == 1:
        return is_drawn(word)
    if strength(name) == _ALWAYS:
        return MARK not in word and not is_stated(word)
    return is_meant(name, word)


def _is_plain(name: str, value: str) -> bool:
    """Whether a value of a .env file is none whatever it is for: a switch, a version, another variable."""
    if _PLAIN.match(value) or _VERSION.match(value):
        return True
    if _EXPANDED.match(value) and (not strength(name) or is_stated(value)):
        return True
    last = name.lower().rpartition("_")[2]
    return last in _HARMLESS and not strength(name) and is_wordy(value)


def _variables(text: str, *, every: bool) -> Iterator[_Span]:
    """Values of a file of variables; `every`: all that are no plain ones, else secrets and passwords."""
    for hit in _DOTENV.finditer(text):
        name, value = hit["name"], hit["value"].strip("'\"")
        if not value or MARK in value or _is_plain(name, value):
            continue
        if every:
            yield _Span(*hit.span("value"), "a value of a .env file")
        elif "$" not in value and "`" not in value and _is_personal(name, value):
            start = hit.start("value") + hit["value"].index(value)
            yield _Span(start, start + len(value), "a value of a .env file")


def _is_personal(name: str, value: str) -> bool:
    if is_stated(value):
        return False
    return bool(strength(name)) or (is_password(value) and not is_wordy(value))


def _apart(found: list[_Span]) -> list[_Span]:
    """In order; of spans that overlap, their union."""
    merged: list[_Span] = []
    for span in sorted(found):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = last._replace(end=max(last.end, span.end))
        else:
            merged.append(span)
    return merged
