"""Any text, any bytes: a tree whose spans are right, never an exception."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tree_invariants import check

from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse

PIECES = st.sampled_from(
    [
        *"abz019:-?,[]{}#&*!|>'\"%@`~. \n\t\r=+",
        *(
            "\n  ",
            "\n    ",
            "- ",
            ": ",
            "key: ",
            "<<: ",
            "&a ",
            "*a",
            "*b",
            "!!str ",
            "!x ",
            "---\n",
            "...\n",
        ),
        *(
            "{{ x }}",
            "{% y %}",
            "|\n  text\n",
            ">-\n  text\n",
            '"quoted"',
            "'single'",
            "# note\n",
            "1.5",
            "null",
        ),
        *(
            "\x85",
            "\u2028",
            "\ufeff",
            "\xa0",
            "\u3000",
            "\0",
            "：",
            "中文",
            "\U0001f600",
            "e\u0301",
            "\ue000",
            "\r\n",
        ),
    ]
)
YAMLISH = st.lists(PIECES, max_size=60).map("".join)


def _check(data: bytes) -> None:
    source = SourceText.from_bytes("any.yaml", data)
    check(source, parse(source))


@pytest.mark.battery
@given(YAMLISH)
@settings(max_examples=400)
@example("? &x\n? !!str\n")
@example("a: {{ x }}\nb: [{% y %}, *a]\n")
def test_any_text(text: str) -> None:
    _check(text.encode("utf-8", "surrogatepass"))


@given(st.binary(max_size=80))
@settings(max_examples=200)
def test_any_bytes(data: bytes) -> None:
    _check(data)


@given(st.text(max_size=80), st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
@settings(max_examples=100)
def test_any_encoding(text: str, encoding: str) -> None:
    # The mark of UTF-16 before a NUL is the mark of UTF-32: YAML takes it for that.
    assume(encoding != "utf-16" or not text.startswith("\0"))
    source = SourceText.from_bytes("any.yaml", text.encode(encoding, "surrogatepass"))
    check(source, parse(source))
    assert source.undecodable is not None or source.text == text.lstrip("\ufeff")


CONTRACT = """\
version: "1.2.0"
defaults: &d {timeout: 30s, retries: 2}   # 默认
steps:
  - id: S1
    <<: *d
    run: |
      echo "a: b"  # not a comment
      exit 0
    resources: {gpu: {count: 1, memory: 8GiB}, cpu: 2}
  - id: S2
    needs: [S1]
    run: 'python -c "print(1)"'
"""


def _mutants(count: int) -> list[str]:
    chance = random.Random(7)
    mutants = []
    for _ in range(count):
        text = CONTRACT
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(text))
            end = min(len(text), start + chance.choice([0, 1, 1, 2, 20]))
            insert = chance.choice(
                ["", "", ":", "'", '"', "[", "{", "\t", "- ", "\n", "#", "*", "}", "\0", "\u2028"]
            )
            text = text[:start] + insert + text[end:]
        mutants.append(text)
    return mutants


def test_mutants_of_a_contract() -> None:
    for text in _mutants(300):
        _check(text.encode())


@pytest.mark.battery
def test_ten_thousand_mutants() -> None:
    for text in _mutants(10_000):
        _check(text.encode())
        _check(text.replace("\n", "\r\n").encode())


def test_every_prefix_of_a_contract() -> None:
    data = CONTRACT.encode()
    for end in range(len(data)):
        _check(data[:end])
