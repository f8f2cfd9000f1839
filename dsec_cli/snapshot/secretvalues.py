"""Whether a value behind the name of a secret is one, or a word, a reference, a placeholder. Pure.

What tells them apart is how a value is made: people and programs name things in words, with few digits at
the end of them; passwords mix them; keys are drawn by lot. Each judgement is about the value alone.
"""

from __future__ import annotations

import functools
import itertools
from base64 import b64decode
from binascii import Error

from dsec_cli.snapshot.pattern import regex
from dsec_cli.source.secrets import is_placeholder, is_reference, looks_random, name_strength

_ALWAYS = 2
"""Strength of a name whose value is a secret whatever it looks like."""
_KINDS, _GROUPS, _LONG = 3, 2, 24
"""Kinds of characters, groups of digits (a name may end in a number), and what is long without them."""
_HEX = frozenset("0123456789abcdef")
_LEAST_PASSWORD, _LEFT = 6, 3
"""Characters of a password; characters that must be left of one without the words that are no secret."""
_TRIVIAL = regex(
    "|".join(
        sorted(
            (
                *(
                    "password",
                    "passwort",
                    "passwd",
                    "pass",
                    "pwd",
                    "secret",
                ),
                *("token", "tok", "apikey", "api", "key", "credential", "creds", "auth", "bearer"),
                *("admin", "root", "user", "username", "guest", "demo", "test", "testing", "tester", "dummy"),
                *(
                    "fake",
                    "mock",
                    "sample",
                    "foo",
                    "bar",
                    "baz",
                    "foobar",
                    "hello",
                    "world",
                    "welcome",
                    "default",
                ),
                *(
                    "postgres",
                    "mysql",
                    "minio",
                    "redis",
                    "rabbitmq",
                    "mongo",
                    "elastic",
                    "changeme",
                    "change",
                ),
                *(
                    "letmein",
                    "qwerty",
                    "asdf",
                    "abc",
                    "abcd",
                    "abcde",
                    "abcdef",
                    "abcdefg",
                    "abcdefgh",
                    "def",
                    "ghi",
                    "xyz",
                ),
                *(
                    "deadbeef",
                    "cafebabe",
                    "none",
                    "null",
                    "empty",
                    "invalid",
                    "valid",
                    "wrong",
                    "correct",
                    "old",
                ),
                *(
                    "new",
                    "my",
                    "the",
                    "some",
                    "any",
                    "your",
                    "our",
                    "not",
                    "no",
                    "real",
                    "value",
                    "string",
                    "id",
                ),
                *(
                    "local",
                    "localhost",
                    "dev",
                    "prod",
                    "staging",
                    "sk",
                    "pk",
                    "hf",
                    "ghp",
                    "xxx",
                    "is",
                    "here",
                    "a",
                ),
                *(
                    "openai",
                    "gemini",
                    "azure",
                    "aws",
                    "google",
                    "github",
                    "ollama",
                    "vllm",
                    "litellm",
                ),
                *(
                    "llama",
                    "gpt",
                    "model",
                    "server",
                    "client",
                    "access",
                    "private",
                    "public",
                    "one",
                    "two",
                    "three",
                ),
                *(
                    "0123456789",
                    "1234567890",
                    "123456789",
                    "12345678",
                    "1234567",
                    "123456",
                    "12345",
                    "1234",
                    "123",
                ),
                *(
                    "4567",
                    "456",
                    "789",
                    "7890",
                    "012345",
                    "01234",
                    "0123",
                    "321",
                    "4321",
                    "54321",
                    "987654321",
                ),
                *(
                    "0000",
                    "1111",
                    "000",
                    "111",
                    "00",
                    "11",
                    "12",
                    "42",
                    "2020",
                    "2021",
                    "2022",
                    "2023",
                    "2024",
                ),
                *("2025", "2026"),
            ),
            key=lambda word: (-len(word), word),
        )
    )
)
"""What tests and examples make their values of."""
_PART = regex(
    r"[A-Z]?[a-z]+(?:[A-Z][a-z]+)*|[A-Z]+|[A-Z]+(?:[A-Z][a-z]+)+"
    r"|\d{1,8}|[A-Za-z]{1,24}\d{1,3}|\d{1,3}[A-Za-z]{1,3}|[a-z]{1,3}\d{1,3}[a-z]{1,3}"
)
"""A part of a name as people make them."""
_SEPARATORS = regex(r"[-_./:+ @=,]+")
_CALL = regex(r"[A-Za-z_][\w.]*[(\[]")
_CONSTANT = regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")
_LOCKED = ("ENC[", "ENC(", "{cipher}", "$ANSIBLE_VAULT;")
"""What a value that is encrypted begins with."""
_ENCODED = regex(r"(?:[A-Za-z0-9+/]{4}){1,16}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\Z")
_PLACE = regex(r"\$\{|\{\{|\$\(|<%|#\{|%\(|\{[\w.!:]*\}|<[A-Za-z][\w -]*>|\A%[sdr]\Z|\A%\w+%\Z")
"""Where something is put in later."""


@functools.lru_cache(maxsize=1 << 15)
def strength(name: str) -> int:
    """As `name_strength`: the same words come again and again."""
    return name_strength(name)


def is_meant(name: str, value: str, *, quoted: bool = True, guarded: bool = False) -> bool:
    """Whether a value is a secret for being called so.

    `quoted`: it stands in quotes, else it may be code. `guarded`: it stands in a test or an example, where
    people write passwords that are none; only what is drawn by lot counts there.
    """
    named = strength(name)
    if not named or not value.isascii() or " " in value or is_stated(value, quoted=quoted):
        return False
    if is_drawn(value) or (looks_random(value) and not is_wordy(value)):
        return True
    return named == _ALWAYS and not guarded and (is_password(value) or is_password(_encoded(value)))


def is_stated(value: str, *, quoted: bool = True) -> bool:
    """Whether a value says where a secret is, or only holds its place."""
    if is_placeholder(value) or is_trivial(value) or _PLACE.search(value) or _CALL.match(value):
        return True
    if value.startswith(_LOCKED) or (_CONSTANT.match(value) and is_wordy(value)):
        return True
    if (plain := _encoded(value)) and (is_placeholder(plain) or is_trivial(plain)):
        return True
    if is_reference(value):
        odd = value[:1] in "/@%!" and not value.startswith(("//", "./", "../"))
        return not odd or is_wordy(value[1:]) or not (value[:1] != "/" or is_drawn(value))
    return not quoted and is_wordy(value) and (value[:1].isalpha() or value[:1] == "_")


def _encoded(value: str) -> str:
    """What is written in base 64, as manifests of Kubernetes have it; "": nothing that people write."""
    if _ENCODED.match(value) is None:
        return ""
    try:
        text = b64decode(value, validate=True).decode("ascii").strip()
    except (Error, ValueError):
        return ""
    return text if text.isprintable() else ""


@functools.lru_cache(maxsize=1 << 12)
def is_trivial(value: str) -> bool:
    """Whether a value is made of words and sequences that tests and examples are made of."""
    low = "".join(char for char in value.lower() if char.isalnum())
    return len(value) <= _SHOWN and len(_TRIVIAL.sub("", low)) < _LEFT


_SHOWN = 64


def is_wordy(value: str) -> bool:
    """Whether a value is made of words, versions and counts: `meta-llama/Llama-3-8B`, `attn_key_proj_2`."""
    parts = [part for part in _SEPARATORS.split(value) if part]
    return all(_PART.fullmatch(part) for part in parts)


def is_password(value: str) -> bool:
    """Whether it is no word of a language, and no name of several words."""
    if len(value) < _LEAST_PASSWORD or (_SEPARATORS.search(value.strip("-_.")) and is_wordy(value)):
        return False
    return any(ch.isdigit() for ch in value) and any(ch.isalpha() for ch in value)


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
