"""Schemas of hostile plugins: each becomes one sentence, none reaches the network or keeps us waiting."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from dsec_cli.plugins import binding


def told(schema: Any, data: bytes) -> str:
    with pytest.raises(binding.NotBound) as problem:
        binding.bound(schema, data, "input")
    return str(problem.value)


def test_nothing_is_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        place = f"http://127.0.0.1:{server.getsockname()[1]}/schema"
        assert "Unresolvable" in told({"$ref": place}, b"1")
        with pytest.raises(BlockingIOError):
            server.accept()
    assert "Unresolvable" in told({"$ref": "file:///etc/hostname"}, b"1")


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ({"$ref": "#/nowhere"}, b"1"),
        ({"allOf": [{"$ref": "#"}]}, b"1"),
        ({"items": {"$ref": "#"}}, b"[" * 900 + b"]" * 900),
        ({"multipleOf": 0.1}, b"1" + b"0" * 400),
    ],
)
def test_what_breaks_the_validator_is_told(schema: Any, data: bytes) -> None:
    assert "its schema cannot be applied" in told(schema, data)


def test_processor_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "LONGEST_S", 0.2)
    assert "takes longer than 0.2 s" in told({"pattern": "^(a+)+$"}, b'"' + b"a" * 60 + b'!"')
    binding.bound({"pattern": "^a+$"}, b'"aaa"', "input")


def test_a_deep_schema_is_refused() -> None:
    deep = b'{"input":' + b'{"not":' * 400 + b"{}" + b"}" * 400 + b"}"
    with pytest.raises(binding.NotBound, match="nested too deeply"):
        binding.read_schema(deep)


def test_large_data_is_not_repeated_whole() -> None:
    assert len(told({"type": "string"}, json.dumps(["a"] * 100_000).encode())) < 1000
