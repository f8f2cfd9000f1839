"""Secrets behind fixed words: blocks of keys, addresses of webhooks, passwords of commands. Pure.

Each is looked for only where a word of it stands in the text: most files have none, and cost next to nothing.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error

from dsec.record import Record
from dsec_cli.snapshot.pattern import regex
from dsec_cli.snapshot.secretvalues import is_password, is_stated, is_trivial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_BLOCK = regex(
    r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:\s|\\n|[\"'+,\\n\s]{1,40}(?=[A-Za-z0-9+/=]{16}))"
    r"[\s\S]*?(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----|\Z)"
)
"""A key, also as the strings of a program or a notebook; code that only names the first line is none."""
_PUTTY = regex(r"Private-Lines: \d+\s[\s\S]*?(?:Private-MAC: \S+|\Z)")
_ENCODED_KEY = regex(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{40,}")
"""`-----BEGIN ` in base 64, as Kubernetes keeps keys."""
_AGE = regex(r"AGE-SECRET-KEY-1[A-Z0-9]{50,64}")
_SIGNED = regex(
    r"[?&](?:sig|signature|X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature)=(?P<value>[\w%+/=-]{16,})"
)
"""Of an address that gives access to whoever has it."""
_SIGNED_WORDS = (
    *("?sig=", "&sig=", "?signature=", "&signature=", "X-Amz-Signature=", "X-Amz-Security-Token="),
    "X-Goog-Signature=",
)
_WEBHOOK = regex(
    r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/"
    r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/|maker\.ifttt\.com/trigger/\w+/with/key/"
    r"|/open-apis/bot/v2/hook/|/robot/send\?access_token=|/cgi-bin/webhook/send\?key=)"
    r"(?P<value>[\w@/+-]{16,400})"
)
"""Who has such an address may write into the channel."""
_WEBHOOK_WORDS = (
    *("hooks.slack.com/", "discord.com/api/", "discordapp.com/api/", "webhook.office.com/webhookb2/"),
    *("hooks.zapier.com/hooks/catch/", "maker.ifttt.com/trigger/", "/open-apis/bot/v2/hook/"),
    *("/robot/send?access_token=", "/cgi-bin/webhook/send?key="),
)
_MAILGUN = regex(r"\b(?P<value>key-[0-9a-f]{32})\b")
_CONNECTION = regex(r"(?:AccountKey|SharedAccessKey|SharedSecretValue)=(?P<value>[A-Za-z0-9+/=]{16,})")
_BASIC = regex(r"Basic[ \t]+(?P<value>[A-Za-z0-9+/]{6,}={0,2})")
_DOCKER = regex(r"[\"']?auth[\"']?[ \t]*:[ \t]*[\"']?(?P<value>[A-Za-z0-9+/]{6,}={0,2})(?![\w+/-])")
_WANDB = regex(r"wandb\.login\([^)\n]{0,200}?key[ \t]*=[ \t]*[\"'](?P<value>[^\"'\n]{6,200})")
_GRANTS = ("IDENTIFIED", "identified", "SecureString")
_COMMAND = regex(
    r"\b(?:sshpass[ \t]+-p[ \t]*|docker[ \t]+login\b[^\n|;&]{0,160}?[ \t]-p[ \t=]+"
    r"|(?:mysql|mysqldump|mysqladmin)[ \t][^\n|;&]{0,160}?(?<=[ \t])-p(?=\S)"
    r"|(?:mongo|mongosh|mongodump|mongorestore)[ \t][^\n|;&]{0,160}?[ \t]-p[ \t=]*"
    r"|(?:ldapsearch|ldapadd|ldapmodify|ldapwhoami)[ \t][^\n|;&]{0,160}?[ \t]-w[ \t]*"
    r"|sqlcmd[ \t][^\n|;&]{0,160}?[ \t]-P[ \t]*|htpasswd[ \t]+-\w*b\w*[ \t]+\S+[ \t]+\S+[ \t]+"
    r"|vault[ \t]+login[ \t]+|rabbitmqctl[ \t]+(?:add_user|change_password)[ \t]+\S+[ \t]+"
    r"|plink\b[^\n|;&]{0,160}?[ \t]-pw[ \t]+|openssl\b[^\n|;&]{0,160}?[ \t]-pass(?:in|out)?[ \t]+[\"']?pass:"
    r"|redis-cli\b[^\n|;&]{0,160}?[ \t]-a[ \t]+|wandb[ \t]+login[ \t]+(?:--?[\w-]+(?:=\S+)?[ \t]+){0,4})"
    r"[\"']?(?P<value>[^\s\"'`|;&)<>\\]{6,200})"
)
"""A command whose password has an option of one letter, or none."""
_PIPED = regex(
    r"\becho[ \t]+(?:-n[ \t]+)?[\"']?(?P<value>[^\s\"'`|;&)<>$]{6,200})[\"']?[ \t]*"
    r"\|[^\n|]{0,160}--password-stdin"
)
_COMMANDS = frozenset(
    (
        *("sshpass", "docker login", "mysql", "redis-cli", "wandb login", "mongo ", "mongosh ", "mongodump "),
        *("mongorestore ", "ldapsearch", "ldapadd", "ldapmodify", "ldapwhoami", "sqlcmd", "htpasswd "),
        *("vault login", "rabbitmqctl", "plink ", "openssl "),
    )
)
_NETRC = regex(
    r"machine\s+\S{1,200}(?:\s|\\n)+login\s+\S{1,100}?(?:\s|\\n)+password\s+(?P<value>[^\s\"'`|;&)<>\\]{6,200})"
)
_LINED = regex(r"[\w.*-]{1,253}:(?:\d{1,5}|\*):[\w*-]{1,63}:[\w*-]{1,63}:(?P<value>[^\s\"'\\:]{6,200})")
"""A line of a .pgpass file."""
_CHANGED = regex(
    r"\becho[ \t]+[\"']?[\w-]{1,64}:(?P<value>[^\s\"'`|:]{6,200})[\"']?[ \t]*\|[^\n|]{0,80}chpasswd"
)
_GRANTED = regex(
    r"(?i:identified[ \t]+(?:with[ \t]+\w+[ \t]+)?by|SecureString(?:[ \t]+-String)?)[ \t]+"
    r"[\"'](?P<value>[^\"'\n]{6,200})[\"']"
)
_FERNET = regex(r"Fernet\([ \t]*b?[\"'](?P<value>[\w-]{43}=)[\"']")
_JWK = regex(r"[\"'](?:d|p|q|dp|dq|qi|k)[\"'][ \t]*:[ \t]*[\"'](?P<value>[\w-]{20,2048})[\"']")
"""The private parts of a key of RFC 7517."""
_SSH2 = regex(
    r"---- BEGIN SSH2[A-Z ]{0,16} PRIVATE KEY ----[\s\S]*?(?:---- END SSH2[A-Z ]{0,16} PRIVATE KEY ----|\Z)"
)
_CHANNEL = regex(r"/t/(?P<value>[a-z]{2}-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/")
_NPM = regex(r":_auth[ \t]*=[ \t]*[\"']?(?P<value>[A-Za-z0-9+/]{6,}={0,2})")


class Place(Record):
    """A range that is a secret."""

    start: int
    end: int
    kind: str


def anywhere(text: str, found: Mapping[str, list[int]]) -> Iterator[Place]:
    """Secrets that may stand in a file of any kind, also one that is no text.

    `found`: where which of `WORDS` begin.
    """
    if _FIRST.isdisjoint(found):
        return
    for gate, rows in _ANYWHERE:
        if gate not in found:
            continue
        for words, pattern, kind, counts in rows:
            if not any(word in found for word in words):
                continue
            name = "value" if "value" in pattern.groupindex else 0
            for hit in pattern.finditer(text):
                if counts is None or counts(hit[name]):
                    yield Place(*hit.span(name), kind)
    for word in _COMMANDS.intersection(found):
        yield from _of_commands(text, found[word])


def _of_commands(text: str, places: Iterable[int]) -> Iterator[Place]:
    for at in places:
        hit = _COMMAND.match(text, at)
        if hit is not None and is_written_password(hit["value"]):
            yield Place(*hit.span("value"), "a password of a command")


def _is_login(value: str) -> bool:
    plain = _plain(value)
    return ":" in plain[1:] and not is_trivial(plain)


def _holds_key(value: str) -> bool:
    return "PRIVATE KEY" in _plain(value)


def _is_meant(value: str) -> bool:
    return not is_stated(value)


def is_written_password(value: str) -> bool:
    """Whether a word of a command is a password, and says not where one is."""
    return is_password(value) and not is_stated(value, quoted=False)


def _plain(text: str) -> str:
    """What is written in base 64; "": nothing."""
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True).decode("latin-1")
    except (Error, ValueError):
        return ""


_Row = tuple[tuple[str, ...], re.Pattern[str], str, "Callable[[str], bool] | None"]
_ANYWHERE: tuple[tuple[str, tuple[_Row, ...]], ...] = (
    ("-----BEGIN ", ((("PRIVATE KEY",), _BLOCK, "a private key", None),)),
    ("Private-Lines:", ((("Private-Lines:",), _PUTTY, "a private key", None),)),
    ("LS0tLS1CRUdJTi", ((("LS0tLS1CRUdJTi",), _ENCODED_KEY, "a private key", _holds_key),)),
    ("AGE-SECRET-KEY-1", ((("AGE-SECRET-KEY-1",), _AGE, "a private key", None),)),
    (
        "://",
        (
            (_SIGNED_WORDS, _SIGNED, "a signed address", None),
            (("/t/",), _CHANNEL, "a token in an address", None),
            (_WEBHOOK_WORDS, _WEBHOOK, "an address of a webhook", _is_meant),
        ),
    ),
    ("Key=", ((("AccountKey=", "SharedAccessKey="), _CONNECTION, "a key in an address", None),)),
    ("SharedSecretValue=", ((("SharedSecretValue=",), _CONNECTION, "a key in an address", None),)),
    ("ailgun", ((("key-",), _MAILGUN, "an API key", None),)),
    ("wandb.login(", ((("wandb.login(",), _WANDB, "a value by its name", _is_meant),)),
    ("--password-stdin", ((("--password-stdin",), _PIPED, "a password of a command", is_written_password),)),
    ("Basic ", ((("Basic ",), _BASIC, "a value of a header", _is_login),)),
    (":_auth", (((":_auth",), _NPM, "a value of a header", _is_login),)),
    (" login ", (((" login ",), _NETRC, "a password of a command", is_written_password),)),
    (".pgpass", (((".pgpass",), _LINED, "a password of a command", is_written_password),)),
    ("chpasswd", ((("chpasswd",), _CHANGED, "a password of a command", is_written_password),)),
    *((one, (((one,), _GRANTED, "a password of a command", is_written_password),)) for one in _GRANTS),
    ("Fernet(", ((("Fernet(",), _FERNET, "a private key", None),)),
    ('"kty"', ((('"kty"',), _JWK, "a private key", None),)),
    ("---- BEGIN SSH2", ((("---- BEGIN SSH2",), _SSH2, "a private key", None),)),
    ("auths", ((("auths",), _DOCKER, "a value of a header", _is_login),)),
)
"""What must be there for the rows to be looked at; of each: words of which one must be there, what to look
for then, what it is, and whether it counts."""
_FIRST = frozenset((*_COMMANDS, *(word for _, rows in _ANYWHERE for words, *_ in rows for word in words)))
WORDS = frozenset(
    (*_COMMANDS, *(one for gate, rows in _ANYWHERE for words, *_ in rows for one in (gate, *words)))
)
BEGINNINGS = (
    "AGE-SECRET-KEY-1",
    "LS0tLS1CRUdJTi",
    "Private-Lines:",
    "-----BEGIN ",
    "Basic ",
    "SharedAccessKey=",
)
"""What secrets begin with that are found in any file, beside tokens."""
