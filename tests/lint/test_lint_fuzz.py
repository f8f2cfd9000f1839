"""Any text at all gives findings, never an exception, and the same ones each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsec_cli.lint.linter import lint
from dsec_cli.lint.rule import find_rules
from dsec_cli.source.text import SourceText

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lint"
RULES = find_rules()
SAMPLES = [path.read_bytes() for path in sorted(GOLDEN.glob("*/*.yaml")) if path.stat().st_size < 4000]
NAMES = st.sampled_from(["dsandbox.yaml", "ds_config.yaml", "plugin.yaml", "x.yml", "<stdin>", ""])

SCRAPS = st.sampled_from(
    [
        *(
            b"\n",
            b"  ",
            b"- ",
            b": ",
            b"# ",
            b"'",
            b'"',
            b"[",
            b"]",
            b"{",
            b"}",
            b", ",
            b"| ",
            b"> ",
            b"&a ",
            b"*a ",
        ),
        *(
            b"<<: *a\n",
            b"---\n",
            b"...\n",
            b"!!int ",
            b"!x ",
            b"? ",
            b"\t",
            b"\r\n",
            b"\0",
            b"\xff",
            b"\xe2\x80\xa8",
        ),
        *(
            b"steps:\n",
            b"  - id: a\n",
            b"    run: |\n",
            b"    needs: [a, b]\n",
            b"timeout: 5s\n",
            b"baseline:\n",
        ),
        *(
            b"gpu: {count: 2, memory: 80Gi, type: h100}\n",
            b"elasticity:\n",
            b"max_count: 8\n",
            b"null",
            b"~",
            b"1.10",
        ),
        *(
            b"version: ",
            b"1e999",
            b"-0",
            b"0x",
            b"9" * 40,
            b"24GB-class",
            b"# dsec: ignore[DS203] x\n",
            b"{{ x }}",
        ),
        *(
            b"break_cycle: true\n",
            b"break_point: a\n",
            b"iterations: {count: 2}\n",
            b"env: {API_KEY: a1b2}\n",
        ),
        *(
            "数据：".encode(),
            "😀".encode(),
            "\u0301".encode(),
            b"\xef\xbb\xbf",
            b"inputs: ['{previous}/x']\n",
        ),
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A golden case with some of its bytes cut, repeated, replaced or spliced with another's."""
    data = draw(st.sampled_from(SAMPLES))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        to = draw(st.integers(at, min(len(data), at + 40)))
        match draw(st.integers(0, 4)):
            case 0:
                data = data[:at] + data[to:]
            case 1:
                data = data[:to] + data[at:]
            case 2:
                data = data[:at] + draw(SCRAPS) + data[to:]
            case 3:
                other = draw(st.sampled_from(SAMPLES))
                data = data[:at] + other[draw(st.integers(0, len(other))) :]
            case _:
                data = data[:at] + draw(st.binary(max_size=4)) + data[at:]
    return data[:8000]


ANY = st.one_of(
    st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=200),
    st.lists(SCRAPS, max_size=40).map(b"".join),
    mutated(),
    mutated(),
)


def check(data: bytes, name: str) -> None:
    text = SourceText.from_bytes(name, data)
    found = lint(text)
    assert lint(SourceText.from_bytes(name, data), rules=RULES[::-1]) == found
    assert "DS999" not in {one.code for one in found}, [one.message for one in found if one.code == "DS999"]
    size = len(text.text)
    for one in found:
        span = one.place.span
        assert 0 <= span.start <= span.end <= size, one
        assert one.place.start.line >= 1
        assert one.place.start.column >= 1
        assert one.message
        assert "\n" not in one.message


@given(ANY, NAMES)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_is_linted(data: bytes, name: str) -> None:
    check(data, name)


@pytest.mark.battery
@given(ANY, NAMES)
@settings(max_examples=10_000, suppress_health_check=[HealthCheck.too_slow])
def test_ten_thousand_texts_are_linted(data: bytes, name: str) -> None:
    check(data, name)
