"""Secrets: what must be found, what must stay quiet, and that none is ever printed.

Token shapes are put together from parts, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.lint.linter import lint
from dsec_cli.source.secrets import entropy, is_reference, is_secret, looks_random, name_strength, tokens
from dsec_cli.source.text import SourceText

HEX = "9f8b2c4d7e6a1f0b3c5d8e7f6a5b4c3d"
MIXED = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
SHAPED = [
    "s" + "k-" + MIXED,
    "s" + "k-" + HEX,
    "s" + "k-proj-" + MIXED + "-" + MIXED,
    "s" + "k-ant-api03-" + MIXED,
    "g" + "hp_" + MIXED,
    "g" + "ho_" + MIXED,
    "g" + "ithub_pat_" + "11ABCDEFG0" + MIXED + "_" + MIXED,
    "gl" + "pat-" + MIXED[:20],
    "h" + "f_" + MIXED[:34],
    "h" + "f_" + "QmZkLpTrWxYvNcBhJdGfSaEuIoPlKjHgFd",
    "AK" + "IA" + "IOSFODNN7QRSTUVW",
    "nv" + "api-" + MIXED + MIXED,
    "AK" + "IA" + "QY7LVJ2K3M9XW8TB",
    "AI" + "za" + MIXED[:35],
    "xo" + "xb-" + "123456789012-123456789012-" + MIXED[:24],
    "np" + "m_" + MIXED,
    "ey" + "JhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0." + MIXED,
    "-----BEGIN " + "PRIVATE KEY-----",
    "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
    "postgres://trainer:" + "w0rd5@db.internal:5432/runs",
    "redis://:" + "h0rse@cache:6379",
]
NAMED = [
    ("API_KEY", HEX),
    ("TOOL_API_KEY", "abc123"),
    ("apiKey", "abc123"),
    ("api-key", "abc123"),
    ("openai_api_key", "abc"),
    ("password", "hunter2"),
    ("DB_PASSWORD", "correct horse battery staple"),
    ("PGPASSWORD", "hunter2"),
    ("dbPassword", "123456"),
    ("passwd", "x9"),
    ("SECRET", "s3cret"),
    ("client_secret", "9x8y7z"),
    ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCY"),
    ("PRIVATE_KEY", "MIIEow"),
    ("credentials", "user:pw"),
    ("HF_TOKEN", HEX),
    ("auth_token", MIXED),
]
QUIET_NAMED = [
    ("API_KEY", ""),
    ("API_KEY", "$API_KEY"),
    ("API_KEY", "${API_KEY}"),
    ("API_KEY", "vault://prod/key"),
    ("API_KEY", "env://API_KEY"),
    ("API_KEY", "file:///run/secrets/key"),
    ("API_KEY", "aws-sm://prod/key"),
    ("API_KEY", "/run/secrets/key"),
    ("API_KEY", "./key.txt"),
    ("API_KEY", "~/.key"),
    ("API_KEY", "{run}/key"),
    ("API_KEY", "<your-key>"),
    ("API_KEY", "your-api-key-here"),
    ("API_KEY", "xxxxxxxx"),
    ("API_KEY", "REDACTED"),
    ("API_KEY", "none"),
    ("password", "null"),
    ("password", "********"),
    ("password", "changeme"),
    ("PAD_TOKEN", "<pad>"),
    ("EOS_TOKEN", "</s>"),
    ("eos_token", "<|endoftext|>"),
    ("TOKEN", "eos"),
    ("bos_token", "begin_of_sequence_00001"),
    ("MAX_TOKENS", "4096"),
    ("max_new_tokens", "512"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("TOKENIZER", "hf-internal-testing/llama-tokenizer"),
    ("TOKEN_BUDGET", "100000"),
    ("token_file", "/run/token"),
    ("PASSWORD_FILE", "/run/password"),
    ("SECRET_NAME", "trainer-redis"),
    ("secret_ref", "trainer"),
    ("API_KEY_ENV", "OPENAI_API_KEY"),
    ("public_key", "ssh-ed25519 AAAAC3Nza"),
    ("PUBLIC_ACCESS_KEY", "abc"),
    ("key", "value"),
    ("sort_key", "reward"),
    ("partition_key", "episode_id"),
    ("keyword", "training"),
    ("tokens_per_second", "1200"),
    ("secretary", "someone"),
    ("passthrough", "true"),
    ("bypass", "true"),
    ("author", "someone"),
    ("compass", "north"),
    ("dns_passthrough", "true"),
    ("passes", "3"),
]
QUIET_TEXT = [
    "sk-learn-pipeline-experiments-run-42-final",
    "scikit-learn",
    "task-aB3dE5fG7hJ9kL1mN3pQ5rS7tU9v",
    "risk-management-2024-quarterly-report",
    "hf_transfer",
    "hf_DownloadModelFromTheHubAndCacheIt",
    "ASIAPACIFICREGIONALSET",
    "AKIABCDEFGHIJKLMNOPQ",
    "hf_hub_download_with_progress_bars_enabled",
    "AKIAEXAMPLEEXAMPLEXX",
    "ASIA",
    "ghp_short",
    "xoxb-",
    "https://example.com/a@b",
    "https://user@example.com/path",
    "postgres://trainer:$PASSWORD@db/runs",
    "postgres://trainer:${PASSWORD}@db/runs",
    "postgres://trainer:<password>@db/runs",
    "git+ssh://git@internal.git/sim-env@main#subdirectory=core",
    "http://host:8080/path",
    "ds://models/reward/2024q3",
    "s3://bucket/key:with:colons@at",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "eyJ",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "GPU-8f6d3c2a-1b2c-3d4e-5f60-718293a4b5c6",
    "deepseek/dsec-python311-cu121:latest",
    "lerobot/aloha_sim_transfer_cube_human",
    "checkpoint-000123-reward-0.95.safetensors",
    "2024-05-01T12:30:45.123456Z",
    "npm_config_registry_mirror_settings_for_everyone",
]


def found(text: str, name: str = "ds_config.yaml"):
    every = lint(SourceText.from_bytes(name, text.encode()))
    return [one for one in every if one.code == "DS601"]


@pytest.mark.parametrize("secret", SHAPED, ids=range(len(SHAPED)))
@pytest.mark.parametrize("frame", ["# {}\n", "a: {}\n", 'a: "x {} y"\n', "a:\n  - |\n    x {}\n"])
def test_well_known_shapes_are_found_anywhere(secret: str, frame: str) -> None:
    text = frame.format(secret)
    hits = found(text)
    assert len(hits) == 1, hits
    span = hits[0].place.span
    marked = text[span.start : span.end]
    assert marked in secret
    said = " ".join((hits[0].message, hits[0].help, hits[0].reason, hits[0].path))
    assert marked not in said or "BEGIN" in marked


@pytest.mark.parametrize(("name", "value"), NAMED)
def test_names_give_secrets_away(name: str, value: str) -> None:
    assert is_secret(name, value)
    hits = found(f'steps:\n  - id: a\n    env:\n      {name}: "{value}"\n')
    assert len(hits) == 1
    assert name in hits[0].message
    assert value not in hits[0].message + hits[0].help + hits[0].reason + hits[0].path


@pytest.mark.parametrize(("name", "value"), QUIET_NAMED)
def test_names_and_values_that_are_no_secret(name: str, value: str) -> None:
    assert not is_secret(name, value)
    assert found(f'steps:\n  - id: a\n    env:\n      {name}: "{value}"\n') == []


@pytest.mark.parametrize("text", QUIET_TEXT)
def test_texts_that_are_no_secret(text: str) -> None:
    assert list(tokens(text, 0, len(text))) == []
    assert found(f"steps:\n  - id: a\n    run: [python, '{text}']\n") == []


@pytest.mark.parametrize(
    ("command", "marked"),
    [
        ("python a.py --api-key abc123def", ["abc123def"]),
        ("python a.py --api-key=abc123def --password hunter2", ["abc123def", "hunter2"]),
        (f"WANDB_API_KEY={HEX} python a.py", [HEX]),
        ("curl -H 'X: y' --token 'a1b2c3d4e5f6a7b8'", ["a1b2c3d4e5f6a7b8"]),
        ("python a.py --api-key $KEY --max-tokens 4096 --token-file /run/token", []),
        ("curl -u admin:hunter22 https://h/x", ["hunter22"]),
        ("curl --user 'admin:hunter22' https://h/x", ["hunter22"]),
        ("curl -u admin:$PASSWORD https://h/x", []),
        ("docker run -u 1000:1000 image", []),
        ("python a.py --password --verbose", []),
        ("python a.py --api-key", []),
        ("python train.py trainer.token=eos data.key=prompt", []),
    ],
)
def test_commands(command: str, marked: list[str]) -> None:
    for text in (
        f'steps:\n  - id: a\n    run: "{command}"\n',
        f"steps:\n  - id: a\n    run: |\n      {command}\n",
    ):
        spans = [one.place.span for one in found(text)]
        assert [text[span.start : span.end] for span in spans] == marked


def test_a_secret_is_told_once_per_place() -> None:
    text = f"runtime_context:\n  env_vars:\n    - {{name: API_KEY, value: {SHAPED[0]}}}\n"
    hits = found(text)
    assert len(hits) == 1
    assert "looks like an API key" in hits[0].message


def test_a_token_in_a_url_is_told_once() -> None:
    token = "g" + "hs_" + MIXED
    assert len(found(f"a: https://x-access-token:{token}@github.com/a/b\n")) == 1


def test_each_document_answers_for_its_own_text() -> None:
    text = f"# {SHAPED[0]}\na: 1\n---\nb: {SHAPED[1]}\n"
    assert [one.place.start.line for one in found(text)] == [1, 4]


@pytest.mark.parametrize(
    ("name", "strength"),
    [("API_KEY", 2), ("x-api-key", 2), ("token", 1), ("PAD_TOKEN", 0), ("tokenizer", 0), ("", 0), ("_", 0)],
)
def test_how_much_a_name_says(name: str, strength: int) -> None:
    assert name_strength(name) == strength


def test_entropy_and_randomness() -> None:
    assert entropy("aaaa") == 0
    assert entropy("ab") == 1
    assert looks_random(HEX)
    assert not looks_random("reward-model-version-two")
    assert not looks_random("4096")
    assert is_reference("vault://a")
    assert not is_reference("vault://")


@pytest.mark.battery
@given(st.text(max_size=200))
def test_any_text_is_scanned(text: str) -> None:
    for hit in tokens(text, 0, len(text)):
        assert 0 <= hit.span.start < hit.span.end <= len(text)


@given(st.text(max_size=20), st.text(max_size=40))
def test_any_name_and_value_is_judged(name: str, value: str) -> None:
    assert is_secret(name, value) in (True, False)
