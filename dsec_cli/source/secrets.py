"""What a secret looks like: by the shape of the token, or by the name it is given.

Plain scanning instead of regular expressions: compiling them would cost more than reading the
text. Nothing here returns a secret, only where it is and of which kind.
"""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.source.text import Span
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_DIGITS = frozenset("0123456789")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_ALNUM = _UPPER | frozenset("abcdefghijklmnopqrstuvwxyz")
_TOKEN = _ALNUM | frozenset("_-")
_BASE64 = _TOKEN | frozenset("+/=.")


_HEX = frozenset("0123456789abcdef")
_LONGEST = 2048


ESCAPES = ("\\n", "\\t", "\\r")
"""Of lines and tabulators within a string: the letter is no part of what follows."""


class Shape(Record):
    """A token that its first characters give away."""

    prefix: str
    kind: str
    alphabet: frozenset[str]
    least: int
    """Characters after the prefix that a real one has at least."""
    most: int = _LONGEST
    """And at most."""


def _alike(
    prefixes: str, kind: str, alphabet: frozenset[str], least: int, most: int = _LONGEST
) -> tuple[Shape, ...]:
    """Shapes that differ in their prefix alone."""
    return tuple(Shape(prefix, kind, alphabet, least, most) for prefix in prefixes.split())


SHAPES = (
    *_alike("sk-proj- sk-svcacct- sk-admin- sk-ant- sk-or- sk-lf-", say("an API key"), _TOKEN, 20),
    *_alike("sk- csk- gsk_", say("an API key"), _ALNUM, 20),
    *_alike("xai- pplx- jina_ tgp_v1_ rpa_ pcsk_ tvly- wandb_v1_ api_org_", say("an API key"), _TOKEN, 24),
    *_alike("lsv2_pt_ lsv2_sk_ phx_ figd_ lin_api_ lin_oauth_ ntn_", say("an API key"), _TOKEN, 24),
    *_alike("r8_ secret_ aio_ fw_", say("an API key"), _ALNUM, 22),
    *_alike("bkua_ bkaj_", say("an API key"), _HEX, 40, 40),
    *_alike("e2b_ dtn_ fc-", say("an API key"), _HEX, 32),
    *_alike("sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_ whsec_", say("a payment key"), _ALNUM, 16),
    Shape("EAAAl", say("a payment key"), _TOKEN, 59, 61),
    *_alike("sq0atp- sq0csp- FLWSECK_TEST- duffel_live_ duffel_test_", say("a payment key"), _TOKEN, 20),
    *_alike("shpat_ shpca_ shppa_ shpss_", say("a payment key"), _HEX | _UPPER | frozenset("abcdef"), 32),
    *_alike("shippo_live_ shippo_test_", say("a payment key"), _HEX, 40),
    *_alike("ghp_ gho_ ghu_ ghs_ ghr_", say("a GitHub token"), _ALNUM, 36),
    Shape("github_pat_", say("a GitHub token"), _ALNUM | {"_"}, 36),
    *_alike(
        "glpat- gldt- glrt- glcbt- glptt- gloas- glsoat- glft- glimt- glagent- glffct-",
        say("a GitLab token"),
        _TOKEN,
        20,
    ),
    Shape("GR1348941", say("a GitLab token"), _TOKEN, 20, 24),
    Shape("hf_", say("a Hugging Face token"), _ALNUM, 30),
    Shape("nvapi-", say("an NVIDIA API key"), _TOKEN, 40),
    *_alike("AKIA ASIA ABIA ACCA", say("an AWS access key"), _UPPER, 16),
    Shape("ABSK", say("an AWS access key"), _BASE64, 100),
    *_alike("LTAI AKLT", say("a cloud access key"), _BASE64, 16),
    Shape("AKID", say("a cloud access key"), _ALNUM, 32, 36),
    *_alike("dop_v1_ doo_v1_ dor_v1_", say("a cloud access key"), _HEX, 64, 64),
    *_alike("dapi", say("a cloud access key"), _HEX, 32, 32),
    *_alike(
        "fo1_ fm1r_ fm2_ nfp_ HRKU-AA tskey- CFPAT- pul- tk-us-",
        say("a cloud access key"),
        _TOKEN | {"+", "/"},
        30,
    ),
    *_alike(
        "pnu_ pnb_ sbp_ sb_secret_ pscale_tkn_ pscale_pw_ pscale_oauth_",
        say("a cloud access key"),
        _TOKEN,
        24,
    ),
    Shape("AIza", say("a Google API key"), _TOKEN, 35),
    Shape("GOCSPX-", say("a Google API key"), _TOKEN, 24),
    *_alike("xoxb- xoxp- xoxa- xoxs- xoxo- xoxr- xoxe- xapp-", say("a Slack token"), _TOKEN, 20),
    Shape("npm_", say("an npm token"), _ALNUM, 36),
    *_alike("rubygems_ CLOJARS_ cio", say("a package registry token"), _ALNUM, 32, 60),
    *_alike("AKCp cmVmd", say("a package registry token"), _ALNUM, 59),
    Shape("pypi-AgE", say("a PyPI token"), _TOKEN, 50),
    *_alike("dckr_pat_ dckr_oat_", say("a Docker token"), _TOKEN, 20),
    *_alike("ATATT3 ATCTT3 ATBB", say("an Atlassian token"), _TOKEN | {"="}, 28),
    *_alike(
        "glsa_ glc_ sntrys_ sntryu_ NRAK- NRII- NRJS- xkeysib- PMAK- rdme_ sgp_",
        say("an API key"),
        _BASE64 | {"_"},
        19,
    ),
    *_alike("SK", say("an API key"), _HEX, 32, 32),
    Shape("eyJ", say("a JSON web token"), _TOKEN | {"."}, 40),
)
DOTTED = (
    *_alike("SG.", say("an API key"), _TOKEN | {"."}, 40),
    *_alike(
        "hvs. hvb. hvr. dp.pt. dp.st. dp.ct. dt0c01. ya29.", say("a cloud access key"), _TOKEN | {"."}, 24
    ),
)
"""The same with a dot in the prefix: what stands behind it is as long as a token."""
_SURE = frozenset(
    (
        *("sk-proj-", "sk-svcacct-", "sk-ant-", "sk-or-", "sk_live_", "rk_live_", "github_pat_", "glpat-"),
        *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "nvapi-", "AIza", "xoxb-", "xoxp-", "xoxa-", "xoxs-"),
        *("pypi-AgE", "dckr_pat_", "eyJ"),
    )
)
"""Prefixes that nothing else has; what follows another one must look drawn by lot, too."""
_AWS = frozenset(("AKIA", "ASIA", "ABIA", "ACCA"))
_AWS_KEY = 16
"""Characters of an AWS access key after its prefix, never more."""


class Hit(Record):
    """A range of a text that looks like a secret."""

    span: Span
    kind: str


def tokens(text: str, start: int, end: int) -> Iterator[Hit]:
    """Everything in `text[start:end]` that has the shape of a well-known kind of token."""
    taken: list[Span] = []
    for shape in (*SHAPES, *DOTTED):
        at = text.find(shape.prefix, start, end)
        while at >= 0:
            hit = token(text, at, end, shape)
            if hit is not None and not any(span.start <= at < span.end for span in taken):
                taken.append(hit.span)
                yield hit
            at = text.find(shape.prefix, at + len(shape.prefix), end)
    yield from _private_keys(text, start, end)
    yield from _in_addresses(text, start, end)
    for hit in _passwords_in_urls(text, start, end):
        if not any(span.start <= hit.span.start < span.end for span in taken):
            yield hit


def token(text: str, at: int, end: int, shape: Shape) -> Hit | None:
    """The token of this shape that begins at `at`; None: there is none."""
    if at and text[at - 1] in _TOKEN and text[max(0, at - 2) : at] not in ESCAPES:
        return None
    body = at + len(shape.prefix)
    stop = body
    while stop < end and text[stop] in shape.alphabet:
        stop += 1
    while text[stop - 1] in "=.":
        stop -= 1  # the end of a sentence, or what pads it
    if not shape.least <= stop - body <= shape.most or (stop < end and text[stop] in _TOKEN):
        return None
    secret = text[body:stop]
    if shape.prefix == "eyJ" and secret.count(".") != 2:
        return None
    if is_placeholder(secret) or (shape.prefix not in _SURE and not _drawn(shape.prefix, secret)):
        return None
    return Hit(Span(at, stop), shape.kind)


def _drawn(prefix: str, secret: str) -> bool:
    """Whether what follows an ambiguous prefix is the body of a key."""
    if prefix in _AWS:
        return len(secret) == _AWS_KEY and not _DIGITS.isdisjoint(secret) and entropy(secret) >= 3.0
    return looks_random(secret) or (prefix == "hf_" and _mixed_case(secret))


def _mixed_case(secret: str) -> bool:
    """Letters alone, as Hugging Face draws them; a name in camel case has fewer capitals."""
    capitals = sum(char.isupper() for char in secret)
    return len(secret) // 3 <= capitals < len(secret) and entropy(secret) > 3.5


_ADDRESSES = (
    Shape("hooks.slack.com/services/", say("a webhook of Slack"), _TOKEN | {"/"}, 24),
    Shape("hooks.slack.com/workflows/", say("a webhook of Slack"), _TOKEN | {"/"}, 24),
    Shape("hooks.slack.com/triggers/", say("a webhook of Slack"), _TOKEN | {"/"}, 24),
    Shape("discord.com/api/webhooks/", say("a webhook of Discord"), _TOKEN | {"/"}, 40),
    Shape("discordapp.com/api/webhooks/", say("a webhook of Discord"), _TOKEN | {"/"}, 40),
    Shape("webhook.office.com/webhookb2/", say("a webhook of Teams"), _TOKEN | {"/", "@"}, 40),
    Shape("api.telegram.org/bot", say("a Telegram token"), _TOKEN | {":"}, 35),
    Shape("AccountKey=", say("a key of Azure"), _BASE64, 40),
    Shape("SharedAccessKey=", say("a key of Azure"), _BASE64, 30),
)
"""Addresses and connection strings that are secrets from here on: whoever has one can use it."""
_TELEGRAM = ":AA"


def _in_addresses(text: str, start: int, end: int) -> Iterator[Hit]:
    for shape in _ADDRESSES:
        at = text.find(shape.prefix, start, end)
        while at >= 0:
            first = stop = at + len(shape.prefix)
            while stop < end and text[stop] in shape.alphabet:
                stop += 1
            if stop - first >= shape.least and not is_placeholder(text[first:stop]):
                yield Hit(Span(first, stop), shape.kind)
            at = text.find(shape.prefix, max(stop, at + 1), end)
    at = text.find(_TELEGRAM, start, end)
    while at >= 0:
        first, stop = at, at + 1
        while first > start and text[first - 1] in _DIGITS:
            first -= 1
        while stop < end and text[stop] in _TOKEN:
            stop += 1
        alone = first == start or text[first - 1] not in _TOKEN
        if 8 <= at - first <= 10 and 33 <= stop - at - 1 <= 60 and alone:
            yield Hit(Span(first, stop), say("a Telegram token"))
        at = text.find(_TELEGRAM, stop, end)


_PEM = "-----BEGIN "


def _private_keys(text: str, start: int, end: int) -> Iterator[Hit]:
    at = text.find(_PEM, start, end)
    while at >= 0:
        stop = text.find("-----", at + len(_PEM), min(end, at + 64))
        if stop >= 0 and text[at:stop].endswith("PRIVATE KEY"):
            yield Hit(Span(at, stop + 5), say("a private key"))
        at = text.find(_PEM, at + len(_PEM), end)


_URL_ENDS = frozenset(" \t\r\n\"'<>[]{},")


def _passwords_in_urls(text: str, start: int, end: int) -> Iterator[Hit]:
    """`scheme://user:password@host`: the password."""
    at = text.find("://", start, end)
    while at >= 0:
        stop = at + 3
        while stop < end and text[stop] not in _URL_ENDS and text[stop] not in "/?#":
            stop += 1
        user, _, _ = text[at + 3 : stop].rpartition("@")
        _, colon, password = user.partition(":")
        if colon and password and not is_reference(password) and not is_placeholder(password):
            first = at + 3 + len(user) - len(password)
            yield Hit(Span(first, first + len(password)), say("a password in a URL"))
        at = text.find("://", at + 3, end)


_STRONG = frozenset(
    (
        "password",
        "passwd",
        "passphrase",
        "apikey",
        "api_key",
        "secret_key",
        "secret_access_key",
        "access_key",
        "private_key",
        "client_secret",
        "auth_key",
        "encryption_key",
        "signing_key",
        "secret",
        "credential",
        "credentials",
    )
)
"""Names whose value is a secret whatever it looks like."""
_STRONG_ENDS = ("password", "passwd", "passphrase", "apikey", "storepass", "keypass")
"""Of a last word without separators: `PGPASSWORD`."""
_WEAK = frozenset(("token", "pwd", "pass", "auth", "authorization", "bearer", "cookie", "jwt"))
"""Names that mean a secret only when the value looks like one: a tokenizer has tokens too."""
_WEAK_ENDS = ("authtoken", "accesstoken", "apitoken")
_KEYS = frozenset(
    (
        *("master", "storage", "account", "shared", "subscription", "license", "deploy", "ssh", "service"),
        *("webhook", "hmac", "jwt", "rsa", "session", "app", "application", "admin", "root", "server"),
    )
)
"""Before `key`: what such a key opens."""
_LOGINS = frozenset(
    (
        *("db", "database", "mysql", "mariadb", "pg", "postgres", "postgresql", "mongo", "redis", "rabbitmq"),
        *("kafka", "ldap", "smtp", "imap", "mail", "email", "ftp", "sftp", "ssh", "sudo", "become", "user"),
        *("admin", "root", "login", "account", "proxy", "http", "https", "basic", "keystore", "truststore"),
        *("vnc", "wifi", "vault", "registry", "service"),
    )
)
"""Before `pass` and `pwd`: who or what is let in."""
_QUALIFIERS = frozenset(
    (
        *("prod", "production", "dev", "development", "staging", "live", "base", "value", "raw", "primary"),
        *("secondary", "backup", "b64", "base64", "plain", "plaintext", "default"),
    )
)
"""Words behind the name of a secret that say which one it is: `API_KEY_PROD`, `password_2`."""
_PARTS = ("key", "token", "secret", "pass", "pwd", "cred", "auth", "bearer", "cookie", "jwt")
"""Every name of a secret holds one of these; most names are told by them alone."""
_NO_SECRET_BEFORE = frozenset(
    (
        *("pad", "eos", "bos", "unk", "sep", "cls", "mask", "sos", "eot", "bot", "oov"),
        *("stop", "special", "image", "start", "end", "begin", "first", "last", "next", "new", "think"),
        *("max", "min", "per", "num", "count", "mode", "type", "public", "csrf"),
        *("user", "assistant", "system"),
    )
)
"""Words that make a weak name behind them harmless: `PAD_TOKEN`."""


def name_strength(name: str) -> int:
    """2 when `name` always names a secret, 1 when it may, 0 when it does not."""
    low = name.lower()
    for part in _PARTS:
        if part in low:
            break
    else:
        return 0
    words = _words(name)
    while len(words) > 1 and (words[-1] in _QUALIFIERS or words[-1].isdecimal()):
        words.pop()
    for size in (3, 2, 1):
        tail = "_".join(words[-size:])
        if len(words) >= size and tail in _STRONG:
            return 0 if words[:-size][-1:] == ["public"] else 2
    if words and words[-1].endswith(_STRONG_ENDS):
        return 2
    if words[-1:] in (["pass"], ["pwd"]) and words[-2:-1] and words[-2] in _LOGINS:
        return 2
    if words and (words[-1] in _WEAK or words[-1].endswith(_WEAK_ENDS)):
        return 0 if words[-2:-1] and words[-2] in _NO_SECRET_BEFORE else 1
    return int(words[-1:] == ["key"] and words[-2:-1] != [] and words[-2] in _KEYS)


def _words(name: str) -> list[str]:
    """`toolApiKey`, `tool-api-key` and `TOOL_API_KEY` -> [tool, api, key]."""
    words: list[str] = []
    word = ""
    before = ""
    for char in name[:128]:
        if not char.isalnum():
            words, word = ([*words, word] if word else words), ""
        elif char.isupper() and before.islower():
            words, word = [*words, word], char
        else:
            word += char
        before = char
    return [part.lower() for part in ([*words, word] if word else words)]


def is_secret(name: str, value: str) -> bool:
    """Whether a `value` under this `name` is a secret written out."""
    strength = name_strength(name)
    bare = value.strip()
    if not strength or is_reference(bare) or is_placeholder(bare):
        return False
    if is_filler(bare) and not any(part in name.lower() for part in _PASSWORDS):
        return False
    return strength == 2 or looks_random(bare)


_PASSWORDS = ("pass", "pwd")
_FILLERS = frozenset(
    (
        *("", "empty", "x", "xx", "dummy", "fake", "test", "testing", "mock", "sample", "demo", "foo", "bar"),
        *(
            "no",
            "not",
            "none",
            "null",
            "na",
            "n/a",
            "any",
            "anything",
            "whatever",
            "ignored",
            "unused",
            "void",
        ),
        *("key", "keys", "api", "apikey", "token", "secret", "needed", "required", "used", "needs", "for"),
        *("local", "localhost", "ollama", "vllm", "sglang", "lm", "studio", "lmstudio", "llama", "litellm"),
        *(
            "sk",
            "0",
            "1",
            "123",
            "1234",
            "12345",
            "*",
            "a",
            "b",
            "c",
            "openai",
            "some",
        ),
    )
)
"""Words that stand for a key where a server on one's own machine asks for none."""

_OF_VLLM = "token-abc123"
"""The key that vLLM's pages write for a server on one's own machine."""


def is_filler(value: str) -> bool:
    """Whether a value is written only because a client insists on one: `EMPTY`, `x`, `sk-no-key-required`."""
    if value == _OF_VLLM:
        return True
    words = value.lower().replace("_", "-").replace(".", "-").replace(" ", "-").split("-")
    return len(words) < 8 and all(word in _FILLERS for word in words)


def is_reference(value: str) -> bool:
    """Whether a value says where a secret is (`vault://...`, `$NAME`, a path) instead of being one."""
    if value[:1] in ("$", "/", "~", "{", "@", "%") or value.startswith(("./", "../", "!")):
        return True
    scheme, mark, rest = value.partition("://")
    return bool(mark) and scheme.replace("-", "").replace("+", "").isalnum() and bool(rest)


_EMPTY = frozenset(
    ("", "none", "null", "nil", "true", "false", "yes", "no", "unset", "default", "dummy", "fake", "test")
)
_HINTS = (
    *("your", "example", "placeholder", "redacted", "changeme", "replace", "todo", "insert"),
    *("xxxx", "****", "...."),
)
"""Parts of a value that say it is to be filled in."""


def is_placeholder(value: str) -> bool:
    """Whether a value only holds the place of a secret: `<your-key>`, `xxxx`, `none`."""
    low = value.lower()
    if low in _EMPTY or (low[:1] == "<" and low[-1:] == ">"):
        return True
    if len(set(low)) <= 2 and len(low) > 2:
        return True
    return any(hint in low and _is_written(hint, value) for hint in _HINTS)


def _is_written(hint: str, value: str) -> bool:
    """Whether people wrote it: by chance it is in a value in any mixture of small and capital letters."""
    return hint in value or hint.upper() in value or hint.title() in value


def looks_random(value: str) -> bool:
    """Whether a value looks drawn by lot: long, no words, letters and digits mixed."""
    if len(value) < 12 or not _BASE64.issuperset(value):
        return False
    digits = sum(char in _DIGITS for char in value)
    letters = sum(char.isalpha() for char in value)
    return digits >= 2 and letters >= 2 and entropy(value) >= 3.0


def entropy(value: str) -> float:
    """Bits per character, from how often each one occurs."""
    from math import log2

    counts: dict[str, int] = {}
    for char in value:
        counts[char] = counts.get(char, 0) + 1
    size = len(value)
    return -sum(count / size * log2(count / size) for count in counts.values())
