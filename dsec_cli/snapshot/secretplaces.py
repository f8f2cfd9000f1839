"""Places where people leave secrets that neither a token's shape nor a plain assignment tells. Pure.

Each is looked for only where a word of it stands in the text: most files have none, and cost next to nothing.
"""

from __future__ import annotations

import functools
import itertools
import re
from base64 import b64decode
from binascii import Error

from dsec.record import Record
from dsec_cli.source.secrets import is_placeholder, is_reference, name_strength

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\s|\\n|[\"'+,\\n\s]{1,40}(?=[A-Za-z0-9+/=]{16}))"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
"""A key, also as the strings of a program or a notebook; code that only names the first line is none."""
BEGINNINGS = re.compile(
    rb"[sghrnxpdeALPBS](?:k-|k_live|hp_|ho_|hu_|hs_|hr_|ithub_pat_|lpat-|f_|vapi-|KIA|SIA|Iza|ox[abps]-"
    rb"|pm_|ypi-AgE|ckr_pat_|yJ|GE-SECRET-KEY|S0tLS1CRUdJTi|rivate-Lines"
    rb"|EGIN [A-Z ]{0,32}PRIVATE KEY|asic |haredAccessKey)"
)
"""What secrets begin with that are found in any file."""
_PUTTY = re.compile(r"Private-Lines: \d+\s[\s\S]*?(?:Private-MAC: \S+|\Z)")
_ENCODED_KEY = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{40,}")
"""`-----BEGIN ` in base 64, as Kubernetes keeps keys."""
_AGE = re.compile(r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}")
_PREFIXES = ("gh", "glpat-", "sk-", "npm_", "xox", "nvapi-", "dckr_pat_", "pypi-AgE", "hf_")
_PREFIXED = re.compile(
    r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{40,255}|glpat-[\w-]{20,64}|npm_[A-Za-z0-9]{36}"
    r"|sk-(?:proj|ant|svcacct|or)-[\w-]{20,255}|xox[abps]-[\w-]{20,255}|nvapi-[\w-]{40,255}"
    r"|dckr_pat_[\w-]{20,64}|pypi-AgE[\w-]{50,255}|hf_[A-Za-z]{34}(?![A-Za-z0-9])"
)
"""Tokens that nothing else looks like, also right behind a letter or a dash: `notes-ghp_...`."""
_AWS = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")
_AWS_SECRET = 40
_SIGNED = re.compile(
    r"[?&](?:sig|signature|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)=(?P<value>[\w%+/=-]{16,})"
)
"""Of an address that gives access to whoever has it."""
_CONNECTION = re.compile(r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=(?P<value>[A-Za-z0-9+/=]{16,})")
_BASIC = re.compile(r"Basic[ \t]+(?P<value>[A-Za-z0-9+/]{6,}={0,2})")
_LOGIN = re.compile(r"(?:\s-u|--user)[ =]+[\"']?(?P<user>[^\s:\"']{1,80}):(?P<value>[^\s\"'`]{3,200})")
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z][\w.-]{1,60})>(?P<value>[^<>\s]{4,512})</")
_ESCAPED = re.compile(
    r"(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{0,79})(?:\\{1,3}[\"'])?[ \t]*[=:][ \t]*\\{1,3}[\"']"
    r"(?P<value>[^\\\"'\n]{6,512})\\"
)
"""An assignment within a string, as in notebooks and JSON within JSON."""
_TYPED = re.compile(
    r"\b(?P<name>[A-Za-z_]\w{0,79})[ \t]*(?::[ \t]*[\w.\[\] |]{1,40})?[ \t]*=[ \t]*(?P<q>\"{3}|'{3}|[\"'])"
    r"(?P<value>[^\"'\n]{6,512})(?P=q)"
)
_BESIDE = re.compile(
    r"[\"'](?:--?)?(?P<name>[A-Za-z_][\w.-]{1,79})[\"'][ \t]*,[ \t]*(?:default[ \t]*=[ \t]*)?"
    r"[\"'](?P<value>[^\"'\n]{6,512})[\"']"
)
"""`("API_KEY", "value")`, `("--api-key", default="value")`."""
_SHELL = re.compile(
    r"(?:^|(?<=[\s;&|\"'`(]))(?P<name>[A-Za-z_]\w{1,79})=[\"']?(?P<value>[^\s\"'$;&|`)<>]{4,512})",
    re.MULTILINE,
)
_WANDB = re.compile(r"wandb\.login\([^)\n]{0,200}?key[ \t]*=[ \t]*[\"'](?P<value>[^\"'\n]{6,200})")
_SET = re.compile(
    r"^[ \t]*(?:ENV|ARG|set(?:[ \t]+-\w+)+|setenv)[ \t]+(?P<name>[A-Za-z_]\w{1,79})[ \t=]+[\"']?"
    r"(?P<value>[^\s\"'$]{4,512})",
    re.MULTILINE,
)
_REGISTRY = re.compile(r":_(?P<name>authToken|auth|password)[ \t]*=[ \t]*[\"']?(?P<value>[^\s\"'$]{4,512})")
_PROSE = re.compile(
    r"(?i:\b(?P<name>password|passphrase|passwd|api[ _-]?key|secret[ _-]?key|access[ _-]?token))"
    r"(?:[ \t]+is|[ \t]*[:=])[ \t]+(?P<value>\S{6,200})"
)
_NEAR = re.compile(
    r"(?i:api.?key|access.?key|private.?key|key|token|secret|passw|passphrase|pwd|credential|auth|bearer)"
)
_SURE = re.compile(r"(?i:token|secret|pass|pwd|credential|bearer|api.?key|access.?key|private.?key)")
_CANDIDATE = re.compile(r"[A-Za-z0-9+/=~_-]{16,512}")
_DRAWN = re.compile(r"(?=[A-Za-z+/=~_-]{0,40}\d)[A-Za-z0-9+/=~_-]{16}")
"""A line without such has none of them."""
_WORD = re.compile(r"[\w-]+")
_SUM = re.compile(
    r"(?i:sha\d|md5|blake|hash|digest|checksum|integrity|commit|rev\b|uuid|fingerprint|public|ssh-)"
)
"""What such values are that are none: their line says so."""
_REACH = 160
"""Characters behind a name in which its value stands."""
_KINDS, _GROUPS, _LONG = 3, 2, 24
"""Kinds of characters, groups of digits (a name may end in a number), and what is long without them."""
_HEX = frozenset("0123456789abcdef")


class Place(Record):
    """A range that is a secret."""

    start: int
    end: int
    kind: str


def anywhere(text: str) -> Iterator[Place]:
    """Secrets that may stand in a file of any kind, also one that is no text."""
    for words, pattern, kind, counts in _ANYWHERE:
        if not any(word in text for word in words):
            continue
        name = "value" if "value" in pattern.groupindex else 0
        for hit in pattern.finditer(text):
            if counts is None or counts(hit[name]):
                yield Place(*hit.span(name), kind)
    if "AKIA" in text or "ASIA" in text:
        yield from _beside_aws(text)


def _is_login(value: str) -> bool:
    return ":" in _plain(value)[1:]


def _holds_key(value: str) -> bool:
    return "PRIVATE KEY" in _plain(value)


def _is_meant(value: str) -> bool:
    return not is_placeholder(value) and "<" not in value


def _plain(text: str) -> str:
    """What is written in base 64; "": nothing."""
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True).decode("latin-1")
    except (Error, ValueError):
        return ""


_ANYWHERE: tuple[tuple[tuple[str, ...], re.Pattern[str], str, Callable[[str], bool] | None], ...] = (
    (("PRIVATE KEY",), _BLOCK, "a private key", None),
    (("Private-Lines:",), _PUTTY, "a private key", None),
    (("LS0tLS1CRUdJTi",), _ENCODED_KEY, "a private key", _holds_key),
    (("AGE-SECRET-KEY-1",), _AGE, "a private key", None),
    (("ignature=", "sig=", "X-Amz-Security-Token="), _SIGNED, "a signed address", None),
    (("AccountKey=", "Shared"), _CONNECTION, "a key in an address", None),
    (_PREFIXES, _PREFIXED, "a token", _is_meant),
    (("wandb.login(",), _WANDB, "a value by its name", _is_meant),
    (("Basic",), _BASIC, "a value of a header", _is_login),
)
"""Words of which one must be there, what to look for then, what it is, and whether it counts."""


def _beside_aws(text: str) -> Iterator[Place]:
    """The secret half of an AWS key, in the line of the other half or the next."""
    for hit in _AWS.finditer(text):
        end = text.find("\n", text.find("\n", hit.end()) + 1)
        for other in _CANDIDATE.finditer(
            text, text.rfind("\n", 0, hit.start()) + 1, end if end > hit.end() else len(text)
        ):
            if len(other[0]) == _AWS_SECRET and is_drawn(other[0]):
                yield Place(*other.span(), "an AWS secret key")


def of_line(text: str, start: int, end: int, *, settings: bool) -> Iterator[Place]:
    """Secrets of a line that names one; `settings`: in such a file values need no quotes."""
    if names_one(text, start, end):
        for pattern in (_ESCAPED, _TYPED, _BESIDE, _ELEMENT):
            yield from _named(pattern, text, start, end, strong=pattern is not _ESCAPED)
        for pattern in (_SHELL, _SET, _REGISTRY) if settings else ():
            yield from _named(pattern, text, start, end, strong=pattern is _SHELL)
    if settings:
        yield from _named(_PROSE, text, start, end, strong=True)
    yield from _near(text, start, end)


def names_one(text: str, start: int, end: int) -> bool:
    """Whether a word in a line is the name of a secret; most with a part of one have none."""
    return any(map(strength, _WORD.findall(text, start, end)))


@functools.lru_cache(maxsize=1 << 15)
def strength(name: str) -> int:
    """As `name_strength`: the same words come again and again."""
    return name_strength(name)


def logins(text: str) -> Iterator[Place]:
    """`-u name:password` of a command."""
    for hit in _LOGIN.finditer(text):
        value = hit["value"]
        if any(ch.isalpha() for ch in value) and not is_reference(value) and not is_placeholder(value):
            yield Place(*hit.span("value"), "a password of a command")


def _named(pattern: re.Pattern[str], text: str, start: int, end: int, *, strong: bool) -> Iterator[Place]:
    for hit in pattern.finditer(text, start, end):
        named = strength(hit["name"].rpartition(".")[2].replace(" ", "_"))
        value = hit["value"].rstrip(".,;:!)")
        if not named or not value.isascii() or is_reference(value) or is_placeholder(value):
            continue
        drawn = is_drawn(value)
        if drawn or (strong and named == 2 and _is_password(value)):
            at = hit.start("value")
            yield Place(at, at + len(value), "a value by its name")


def _is_password(value: str) -> bool:
    """Whether it is no word of a language, and no expression."""
    if any(ch in value for ch in "(){}[]$<>") or " " in value:
        return False
    return any(ch.isdigit() for ch in value) and any(ch.isalpha() for ch in value)


def _near(text: str, start: int, end: int) -> Iterator[Place]:
    """Values drawn by lot behind the name of a secret, also in the next line if that is its `value`."""
    after = text.find("\n", end + 1)
    following = text[end + 1 : after if after >= 0 else min(len(text), end + 1024)]
    if following.lstrip(" \t\"'").startswith("value"):
        end += 1 + len(following)
    if _DRAWN.search(text, start, end) is None:
        return
    checked = start
    for name in _NEAR.finditer(text, start, end):
        if name.start() < checked:
            continue
        checked = min(name.end() + _REACH, end)
        for hit in _CANDIDATE.finditer(text, name.end(), checked):
            value = hit[0].strip("=-_")
            if _HEX.issuperset(value) and not _SURE.match(name[0]):
                continue  # many things have a key that is a hash
            if is_drawn(value) and not _SUM.search(text, max(start, hit.start() - _REACH), hit.start()):
                yield Place(*hit.span(), "a value drawn by lot beside a name")


def is_drawn(value: str) -> bool:
    """Whether nobody thought of a value: its kinds of characters alternate as no name's do."""
    if len(value) < 16:
        return False
    if _HEX.issuperset(value):
        return len(value) >= 32 and not value.isdecimal() and any(ch.isdigit() for ch in value)
    kinds = [_kind(ch) for ch in value if ch.isalnum()]
    if len(set(kinds)) < _KINDS:
        return False
    groups = sum(one != 0 for one, other in itertools.pairwise([1, *kinds]) if other == 0)
    if groups < _GROUPS and len(kinds) < _LONG:
        return False
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    return changes * 20 >= 9 * len(kinds)


def _kind(char: str) -> int:
    return 0 if char.isdigit() else 1 if char.islower() else 2
