"""Lines in which people leave secrets under their names, or beside them. Pure."""

from __future__ import annotations

import functools
import re

from dsec.record import Record
from dsec_cli.snapshot import declarations
from dsec_cli.snapshot.pattern import regex
from dsec_cli.snapshot.secretphrases import Place, is_written_password
from dsec_cli.snapshot.secretvalues import (
    is_drawn,
    is_meant,
    is_stated,
    is_wordy,
    strength,
)
from dsec_cli.source.secrets import looks_random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_AWS = regex(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_AWS_SECRET = 40
_ASSIGNED = regex(
    r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,79})[\"'`\]]{0,2}[ \t]*(?::=|=>|=|:)[ \t]*"
    r"[rbuf]{0,2}[\"'](?P<value>[^\"'\n]{6,4096})[\"']"
)
"""`name = "value"`, `"name": "value"`, `name: 'value'`, `env["name"] = "value"`."""
_BARE = regex(
    r"^[ \t]*(?:-[ \t]+)?(?:export[ \t]+|ENV[ \t]+)?(?P<name>[A-Za-z_][\w.-]{0,79})[ \t]*[=:][ \t]*"
    r"(?P<value>[^\s\"'#][^\s\"']{5,511})[ \t]*$",
    re.MULTILINE,
)
"""`NAME=value` and `name: value` on a line of its own, in files that hold settings."""
_OPTION = regex(
    r"""--?(?P<name>[A-Za-z][\w-]{1,60})(?:=|[ \t]+(?!-)|["'],[ \t]*["'](?!-))["']?"""
    r"""(?P<value>[^\s"',;|&)]{6,512})"""
)
"""`--api-key value`, `--api-key=value`, `"--api-key", "value"`."""
_GIVEN = regex(
    r"""(?<![\w-])--?[A-Za-z][\w-]{0,60}(?:=|[ \t]+|["'],[ \t]*["'])?["']?"""
    r"""(?:[\w.-]+=[^\s"',;|&]{0,512},){0,8}?(?P<name>[A-Za-z_][\w.-]{1,79})=["']?(?P<value>[^\s"'$,;|&)]{6,512})"""
)
"""`--from-literal=password=value`, `-e API_KEY=value`, `--set auth.password=value`."""
_QUERY = regex(r"[?&](?P<name>[A-Za-z_][\w.-]{1,60})=(?P<value>[^\s&#\"'<>]{6,512})")
_HEADER = regex(r"(?:Bearer|Basic|Token|token)[ \t]+(?P<value>[A-Za-z0-9_~+/=.-]{16,512})")
_LOGIN = regex(
    r"-(?:(?<=\s-)u|-user|-proxy-user)[ =]+[\"']?(?P<user>[\w.@$+-]{1,80}):(?P<value>[^\s\"'`]{3,200})"
)
_ELEMENT = regex(r"(?:<|name=[\"'])(?P<name>[A-Za-z][\w.-]{1,60})[\"']?>(?P<value>[^<>\s]{4,512})</")
"""`<apiKey>value</apiKey>`, `<property name="db.password">value</property>`."""
_ESCAPED = regex(
    r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,79})(?:\\{1,3}[\"'])?[ \t]*[=:][ \t]*\\{1,3}[\"']"
    r"(?P<value>[^\\\"'\n]{6,512})\\"
)
"""An assignment within a string, as in notebooks and JSON within JSON."""
_TYPED = regex(
    r"\b(?P<name>[A-Za-z_]\w{0,79})[ \t]*(?::[ \t]*[\w.\[\] |]{1,40})?[ \t]*=[ \t]*(?P<q>\"{3}|'{3}|[\"'])"
    r"(?P<value>[^\"'\n]{6,512})(?P=q)"
)
_BESIDE = regex(
    r"[\"'](?:--?)?(?P<name>[A-Za-z_][\w.-]{1,79})[\"'][ \t]*,[ \t]*(?:default[ \t]*=[ \t]*)?"
    r"[\"'](?P<value>[^\"'\n]{6,512})[\"']"
)
"""`("API_KEY", "value")`, `("--api-key", default="value")`."""
_SHELL = regex(
    r"(?:^|(?<=[\s;&|\"'`(]))\+{0,2}(?:[\w-]{1,40}\.){0,5}(?P<name>[A-Za-z_]\w{1,79})=[\"']?(?P<value>[^\s\"'$;&|`)<>]{4,512})",
    re.MULTILINE,
)
_CLAUSE = regex(r"(?<=[;\s\"'])(?i:password|passwd|pwd)[ ]?=[ ]?(?P<value>[^;\s\"'`]{6,200})")
_LOGIN_PART = regex(
    r"(?i:\b(?:host|hostname|server|uid|user|user id|dbname|database|data source|driver)[ ]?=)"
)
"""Parts of an address of a database: `Server=h;User Id=u;Password=value;`, `host=h password=value`."""
_SQL = regex(r"\b(?P<name>(?i:password))[ \t]+'(?P<value>[^'\n]{6,200})'")
_SETTER = regex(
    r"(?:\.|\b(?i:set|with)_?)(?P<name>[A-Za-z]\w{2,60})"
    r"\([\"'](?P<value>[^\"'\n]{6,512})[\"'][ \t]*\)"
)
"""`.setPassword("value")`, `.api_key("value")`."""
_HEAD = regex(
    r"(?P<name>[A-Za-z_][\w.-]{0,79})[\"'\]]{0,2}[ \t]*(?::[ \t]*[\w.\[\] |]{1,40}=|:=|=>|=|:)"
    r"[ \t]*(?:[|>][+-]?|[(\[]|\\)?[ \t]*\r?\Z"
)
_ITEM = regex(
    r"\n[ \t]+(?P<dash>-[ \t]+)?[rbuf]{0,2}(?P<q>[\"']?)(?P<value>[^\s\"'#]{1,512})(?P=q)[ \t]*[,)\]};]{0,3}"
    r"[ \t]*(?=\r?(?:\n|\Z))"
)
"""A value that has the next line for itself."""
_OPENERS = frozenset(":=([|>-+\\")
_MOST_ITEMS = 64
_SET = regex(
    r"^[ \t]*(?:ENV|ARG|Environment=|set(?:[ \t]+-\w+)+|setenv)(?:(?<==)|[ \t]+)"
    r"(?P<name>[A-Za-z_]\w{1,79})[ \t=]+[\"']?(?P<value>[^\s\"'$]{4,512})",
    re.MULTILINE,
)
_REGISTRY = regex(r":_(?P<name>authToken|auth|password)[ \t]*=[ \t]*[\"']?(?P<value>[^\s\"'$]{4,512})")
_PROSE = regex(
    r"(?i:\b(?P<name>password|passphrase|passwd|api[ _-]?key|secret[ _-]?key|access[ _-]?token))"
    r"(?:[ \t]+is|[ \t]*[:=])[ \t]+(?P<value>\S{6,200})"
)
_LITERALS = (_ASSIGNED, _TYPED, _BESIDE)
_QUOTED = frozenset((*_LITERALS, _ESCAPED, _ELEMENT, _QUERY, _SQL, _SETTER))
"""Those whose value cannot be code."""
_DASHED = regex(r"-[A-Za-z]")
_BARES = (_BARE, _SHELL, _SET, _REGISTRY)
_NAME = regex(r"(?<![A-Za-z0-9+/=_.-])[A-Za-z_][A-Za-z0-9_.-]{1,60}(?![A-Za-z0-9+/_-])")
_SPLIT = regex(r"([a-z0-9])([A-Z])")
_SURELY = 2
_SURE_WORDS = frozenset(
    (
        *("token", "secret", "secrets", "pass", "passwd", "password", "passphrase", "pwd", "credential"),
        *("credentials", "bearer", "apikey", "accesskey", "privatekey", "authorization", "cookie", "jwt"),
    )
)
_SURE_ENDS = ("password", "passwd", "apikey", "authtoken", "accesstoken", "apitoken", "secretkey")
_COMPOUND = regex(r"(?i:api|access|private|secret|signing|encryption)[_.-]?key")
_CANDIDATE = regex(r"(?<![A-Za-z0-9+/~_-])[A-Za-z0-9+/=~_-]{16,512}(?![A-Za-z0-9+/=~_-])")
_VALUE_BELOW = regex(r"\n[ \t\"']*value")
_DIGIT = regex(r"[0-9]")
_DRAWN = regex(r"(?=[A-Za-z+/=~_-]{0,40}\d)[A-Za-z0-9+/=~_-]{16}")
"""A line without such has none of them."""
_WORD = regex(r"[\w-]+")
_WORD_CHARS = "".join(char for char in map(chr, range(256)) if char.isalnum() or char in "_-")
_BEHIND = frozenset(" \t:=")
_BEFORE_LIST = frozenset(" \t:=\"']")
_STATES = regex(r"(?:[ \t]+is|[ \t]*[:=])[ \t]+\S{6}")
_HEADS = regex(r"[ \t]+[A-Za-z0-9_~+/=.-]{16}")
"""What is behind a name that `_PROSE` or `_HEADER` fits."""
_SUM = regex(
    r"(?i:sha\d|enc\[|md5|blake|hash|digest|checksum|integrity|commit|rev\b|uuid|fingerprint|public|ssh-)"
)
"""What such values are that are none: their line says so."""
_OF_KEY = regex(r"(?i:recv-keys?|\bgpg|\bpgp|key[ _-]?id|signing-?key|keyserver|apt-key)")
_KEY_IDS = frozenset(size + lead for size in (8, 16, 32, 40, 64) for lead in (0, 2))
_DIGITS = regex(r"(?:0x)?[0-9A-Fa-f]+\Z")
"""Of a public key, which its id names."""
_PINNED = regex(r"(?:[@#]|h1:|/|-|;base64,)\Z")
"""A commit of an action, a sum of a module, a part of a path."""
_LONGEST = 256
"""Characters of a value; what is longer is a picture."""
_MOST_BETWEEN = 2
"""Words between a name and a value that may be a hash."""
_LONG_LINE = 1 << 12
_REACH = 160
"""Characters behind a name in which its value stands."""
_HEX = frozenset("0123456789abcdef")


class TextKind(Record):
    """What a text is."""

    settings: bool
    """It holds settings: values need no quotes."""
    guarded: bool
    """It is a test or an example."""
    sums: bool
    """It is full of hashes: what is drawn by lot there is one."""


class Line(Record):
    """A line in which a secret may be named."""

    start: int
    end: int
    names: list[int]
    """Where a part of a name begins, in order of their ends."""
    below: bool
    """Whether the next line is its `value`."""
    opened: bool = False
    """Whether its value may stand in the next lines."""
    slots: tuple[int, ...] | list[int] = ()
    """Where values stand that may be of a name in it."""
    valued: bool = True
    """Whether its value may be elsewhere than in those."""


LOGIN_WORDS = ("-u ", "-u=", "-user")
"""Before a name and password of a command."""


def beside_aws(text: str) -> Iterator[Place]:
    """The secret half of an AWS key, in the line of the other half or the next."""
    for hit in _AWS.finditer(text):
        end = text.find("\n", text.find("\n", hit.end()) + 1)
        for other in _CANDIDATE.finditer(
            text, text.rfind("\n", 0, hit.start()) + 1, end if end > hit.end() else len(text)
        ):
            if len(other[0]) == _AWS_SECRET and is_drawn(other[0]):
                yield Place(*other.span(), "an AWS secret key")


def lines(text: str, names: Iterable[int], slots: list[int]) -> Iterator[Line]:
    """The lines that may hold a secret: what is taken for one has a digit, and most lines have none.

    `slots`: where values stand that may be of a name in a line before, in order.
    """
    line, end = None, -1
    for at in names:
        if at <= end:
            if line is not None:
                line.names.append(at)
            continue
        if line is not None:
            yield line
        start = text.rfind("\n", 0, at) + 1
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        below = _VALUE_BELOW.match(text, end) is not None
        last = text[max(start, end - 2) : end].rstrip("\r")[-1:]
        opened = last in _OPENERS and _ITEM.match(text, end) is not None
        apart = slots if slots and declarations.is_near(slots, start, end) else ()
        worth = below or opened or _DIGIT.search(text, start, end) is not None
        line = Line._make((start, end, [at], below, opened, apart, worth)) if worth or apart else None
    if line is not None:
        yield line


def of_line(text: str, line: Line, kind: TextKind, *, basic: bool = True) -> Iterator[Place]:
    """Secrets of a line that names one; `basic`: the text has `Basic ` somewhere."""
    how = {"bare": kind.settings, "guarded": kind.guarded}
    if line.slots:
        for span in declarations.values(text, line.start, line.end, line.slots, **how):
            yield Place(*span, "a value by its name")
    if line.valued:
        yield from _beside_names(text, line, kind, basic=basic)


def _beside_names(text: str, line: Line, kind: TextKind, *, basic: bool) -> Iterator[Place]:
    """Secrets that stand right behind a name, or beneath."""
    named, valued, heads, lists = _words(text, line)
    for span in declarations.listed(text, lists, bare=kind.settings, guarded=kind.guarded):
        yield Place(*span, "a value by its name")
    if named:
        if any(text[at] in "pP" for at in line.names):
            yield from _clauses(text, line)
        for pattern in _patterns(text, line, settings=kind.settings):
            yield from _named(pattern, text, line, guarded=kind.guarded)
    if valued and kind.settings:
        yield from _named(_PROSE, text, line, guarded=kind.guarded)
    if heads or basic:
        for hit in _HEADER.finditer(text, line.start, line.end):
            value = hit["value"]
            if looks_random(value) and not is_stated(value) and not is_wordy(value):
                yield Place(*hit.span("value"), "a value of a header")
    if line.opened:
        yield from _beneath(text, line, kind)
    yield from _near(text, line)


def _beneath(text: str, line: Line, kind: TextKind) -> Iterator[Place]:
    """Values in the lines after the name: a block or a list of YAML, a literal in parentheses."""
    head = _HEAD.search(text, max(line.start, line.end - _REACH), line.end)
    if head is None:
        return
    name = head["name"].rpartition(".")[2]
    names = (name, name[:-1]) if name[-1:] in ("s", "S") else (name,)
    at = line.end
    for _ in range(_MOST_ITEMS):
        hit = _ITEM.match(text, at)
        if hit is None or not (hit["q"] or kind.settings):
            return
        value, quoted = hit["value"], bool(hit["q"])
        if any(is_meant(one, value, quoted=quoted, guarded=kind.guarded) for one in names):
            yield Place(*hit.span("value"), "a value by its name")
        at = hit.end()


class _Words(Record):
    """What the words of a line are."""

    named: bool
    """Whether one is the name of a secret."""
    valued: bool
    """Whether a value is behind one."""
    heads: bool
    """Whether a value of a header is."""
    lists: list[tuple[str, int]]
    """Names of several values, and where those begin."""


def _words(text: str, line: Line) -> _Words:
    """What is looked for in a line: most words with a part of such a name are none."""
    if line.end - line.start >= _LONG_LINE:  # in a picture every other word has a part of one
        words = [hit.span() for hit in _NAME.finditer(text, line.start, line.end)]
        lists = [found for word in words if (found := _listed(text, *word, line.end)) is not None]
        return _Words(any(strength(text[start:end]) for start, end in words), True, True, lists)
    named = valued = heads = False
    lists = []
    end = line.start
    for at in line.names:
        if at < end:
            continue
        before = text[end:at]
        start = at - len(before) + len(before.rstrip(_WORD_CHARS))
        end = _WORD.match(text, at, line.end).end()  # type: ignore[union-attr]
        named = named or strength(text[start:end]) > 0
        if (several := _listed(text, start, end, line.end)) is not None:
            lists.append(several)
        if text[end : end + 1] in _BEHIND:
            valued = valued or _STATES.match(text, end, line.end) is not None
            heads = heads or _HEADS.match(text, end, line.end) is not None
    return _Words(named, valued, heads, lists)


def _listed(text: str, start: int, end: int, stop: int) -> tuple[str, int] | None:
    """The name of several values, and where they begin; None: the word is none."""
    if text[end : end + 1] not in _BEFORE_LIST or (hit := declarations.LIST.match(text, end, stop)) is None:
        return None
    name = text[start:end]
    return (name, hit.end()) if strength(name) or (name[-1] in "sS" and strength(name[:-1])) else None


def _patterns(text: str, line: Line, *, settings: bool) -> Iterator[re.Pattern[str]]:
    """Those that may fit a line."""
    whole = text[line.names[0] : line.end]
    if '"' in whole or "'" in whole:
        yield from _LITERALS
        if " '" in whole:
            yield _SQL
        if '("' in whole or "('" in whole:
            yield _SETTER
    if "\\" in whole:
        yield _ESCAPED
    if "</" in whole:
        yield _ELEMENT
    if "?" in text[line.start : line.end] or "&" in text[line.start : line.end]:
        yield _QUERY
    if _DASHED.search(text, line.start, line.end) is not None:
        yield _OPTION
        yield _GIVEN
    if settings:
        yield from _BARES


def logins(text: str) -> Iterator[Place]:
    """`-u name:password` of a command."""
    for hit in _LOGIN.finditer(text):
        value = hit["value"]
        if any(ch.isalpha() for ch in value) and value[0] != "%" and not is_stated(value):
            yield Place(*hit.span("value"), "a password of a command")


def _clauses(text: str, line: Line) -> Iterator[Place]:
    """Passwords among the parts of an address of a database, which is a string of its own."""
    for hit in _CLAUSE.finditer(text, line.start, line.end):
        before = text[max(line.start, hit.start() - _REACH) : hit.start()]
        within = before[max(before.rfind('"'), before.rfind("'")) + 1 :]
        if _LOGIN_PART.search(within) is not None and "(" not in within and is_written_password(hit["value"]):
            yield Place(*hit.span("value"), "a password in an address")


def _named(pattern: re.Pattern[str], text: str, line: Line, *, guarded: bool) -> Iterator[Place]:
    quoted = pattern in _QUOTED
    for hit in pattern.finditer(text, line.start, line.end):
        name = hit["name"].rpartition(".")[2].replace(" ", "_")
        value = hit["value"] if quoted else hit["value"].rstrip(".,;:!)`")
        lead = 0 if quoted else len(value) - len(value.lstrip("`"))
        if is_meant(name, value[lead:], quoted=quoted, guarded=guarded):
            at = hit.start("value")
            yield Place(at + lead, at + len(value), "a value by its name")


def _near(text: str, line: Line) -> Iterator[Place]:
    """Values drawn by lot behind the name of a secret, also in the next line if that is its `value`."""
    start, end = line.start, line.end
    if line.below:
        after = text.find("\n", end + 1)
        end = after if after >= 0 else min(len(text), end + 1024)
    if _DRAWN.search(text, start, end) is None:
        return
    checked = start
    for name in _NAME.finditer(text, start, end):
        if name.start() < checked or not (surely := _nearness(name[0])):
            continue
        checked = min(name.end() + _REACH, end)
        for hit in _CANDIDATE.finditer(text, name.end(), end):
            if hit.start() >= checked:
                break
            value = hit[0].strip("=-_")
            if len(value) > _LONGEST or (_HEX.issuperset(value) and not _is_close(text, name, hit, surely)):
                continue  # many things have a key that is a hash
            before = text[max(start, hit.start() - _REACH) : hit.start()]
            if (
                is_drawn(value)
                and not _SUM.search(before)
                and not _PINNED.search(before)
                and not (len(value) in _KEY_IDS and _OF_KEY.search(before) and _DIGITS.match(value))
            ):
                yield Place(*hit.span(), "a value drawn by lot beside a name")


def _is_close(text: str, name: re.Match[str], value: re.Match[str], surely: int) -> bool:
    """Whether a hash may be the value of a name: not where a sentence is between them."""
    return surely >= _SURELY and len(_WORD.findall(text, name.end(), value.start())) <= _MOST_BETWEEN


@functools.lru_cache(maxsize=1 << 14)
def _nearness(name: str) -> int:
    """Whether a word names a secret: 2 surely, 1 perhaps (`key`, `auth`), 0 not."""
    for part in (
        _SPLIT.sub(r"\1 \2", name).replace("_", " ").replace("-", " ").replace(".", " ").lower().split()
    ):
        if part in _SURE_WORDS or part.endswith(_SURE_ENDS):
            return _SURELY
        if part in ("key", "auth"):
            return _SURELY if _COMPOUND.search(name) else 1
        if part == "keys" and _COMPOUND.search(name):
            return _SURELY
    return 0
