"""Values that clients insist on and that are no secrets, and addresses that are."""

from __future__ import annotations

import pytest

from dsec_cli.lint.linter import lint
from dsec_cli.source.secrets import is_secret, tokens
from dsec_cli.source.text import SourceText

FILLERS = (
    "EMPTY",
    "x",
    "dummy",
    "not-needed",
    "sk-no-key-required",
    "token-abc123",
    "ollama",
    "lm-studio",
    "none",
    "N/A",
    "sk-1234",
)
DRAWN = "aB3dE5gH7jK9mN1pQ3sT5vX7"


@pytest.mark.parametrize("value", FILLERS)
def test_a_filler_is_no_secret(value: str) -> None:
    assert not is_secret("OPENAI_API_KEY", value)
    text = f"base: ./env\nruntime_context:\n  env_vars: [{{name: OPENAI_API_KEY, value: {value}}}]\n"
    assert "DS601" not in {one.code for one in lint(SourceText("a.yaml", text.encode()))}


@pytest.mark.parametrize("value", ["9f8b2c4d7e6a1f0b", "sk-live-4711", "correct-horse", "xKey99"])
def test_other_values_are(value: str) -> None:
    assert is_secret("OPENAI_API_KEY", value)


def test_a_short_password_is_still_one() -> None:
    assert is_secret("DB_PASSWORD", "1234")
    assert is_secret("DB_PASSWORD", "local")


ADDRESSES = {
    f"https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/{DRAWN}": "a webhook of Slack",
    f"https://discord.com/api/webhooks/123456789012345678/{DRAWN}{DRAWN}": "a webhook of Discord",
    f"https://discordapp.com/api/webhooks/123456789012345678/{DRAWN}{DRAWN}": "a webhook of Discord",
    f"https://api.telegram.org/bot123456789:AA{DRAWN}{DRAWN[:10]}/send": "a Telegram token",
    f"TG=123456789:AA{DRAWN}{DRAWN[:10]}": "a Telegram token",
    f"Endpoint=x;AccountKey={DRAWN}{DRAWN}==;a=b": "a key of Azure",
    f"SharedAccessKeyName=k;SharedAccessKey={DRAWN}{DRAWN}=": "a key of Azure",
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_that_is_a_secret(text: str) -> None:
    assert ADDRESSES[text] in [one.kind for one in tokens(text, 0, len(text))]
    document = f"steps:\n  - {{id: a, timeout: 1m, run: ['x', '{text}']}}\n"
    assert "DS601" in {one.code for one in lint(SourceText("a.yaml", document.encode()))}


@pytest.mark.parametrize(
    "text",
    [
        "https://hooks.slack.com/services/YOUR/WEBHOOK/your-token-goes-here",
        "12:34:AA",
        "x:AAAA",
        "AccountKey=x",
    ],
)
def test_an_address_that_is_none(text: str) -> None:
    assert not list(tokens(text, 0, len(text)))
