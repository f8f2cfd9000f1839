"""A journal that holds what this dsec does not know is refused in words, whatever the command."""

from __future__ import annotations

import contextlib
import json
from binascii import b2a_base64
from zlib import compress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.errors import StoredFormError
from dsec.events import _CLOSED, _KINDS, decode, encode
from dsec.journal import FORMAT, PACKED, read_header, record
from dsec.packing import unpacked

SAMPLES = {"int": 1, "str": "word", "bool": True}


def made(name):
    """A record of that kind with a value for every field."""
    kind = _KINDS[name]
    values = {}
    for field, of in kind.__annotations__.items():
        closed = _CLOSED.get((kind, field))
        plain = SAMPLES.get(of.removesuffix(" | None"), ["GPU-1"])
        values[field] = sorted(closed)[0] if closed else plain
    return {"event": name, **values}


@pytest.mark.parametrize("name", _KINDS)
def test_every_kind_is_read_as_it_is_written(name):
    data = made(name) | ({"result": {"a": 1}} if name == "exit" else {})
    event = decode(json.dumps(data))
    assert decode(encode(event)) == event


@pytest.mark.parametrize("name", _KINDS)
def test_a_wrong_value_of_any_field_is_refused(name):
    kind, data = _KINDS[name], made(name)
    for field, of in kind.__annotations__.items():
        wrong = (
            [{}, [1], 1.5, 2**70] + [None] * (not of.endswith("None")) + ["x"] * (not of.startswith("str"))
        )
        wrong += ["new-word"] * ((kind, field) in _CLOSED) + [True] * of.startswith("int")
        for value in wrong if (name, field) != ("exit", "result") else ():
            with pytest.raises(StoredFormError, match=f"has an unknown {field}"):
                decode(json.dumps(data | {field: value}))


def test_the_common_form_is_looked_at_as_closely():
    plain = (
        '{"event":"exit","step":"A","iteration":0,"attempt":1,"cause":"%s","at_us":1,"wall_us":1,"detail":""}'
    )
    assert decode(plain % "ok").cause == "ok"
    with pytest.raises(StoredFormError, match="exit record of the journal has an unknown cause: 'melted'"):
        decode(plain % "melted")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["event", "step", "at_us", "cause"]), inner)
    ),
)


@pytest.mark.battery
@given(JSON)
def test_any_json_gives_an_event_or_words(value):
    with contextlib.suppress(StoredFormError):
        decode(json.dumps(value))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "nul", '{"event":["exit"]}', '"x"', "\ud800"])
def test_what_is_no_record_is_refused(text):
    with pytest.raises(StoredFormError):
        decode(text)
    with pytest.raises(StoredFormError):
        read_header([text], name="journal")


@pytest.mark.parametrize("field", ["job", "plan", "folder", "wall_ms", "boot"])
def test_a_header_with_a_wrong_value_is_refused(field):
    good = {"format": FORMAT, "job": "j", "plan": "", "folder": "/", "wall_ms": 1, "boot": ""}
    assert read_header([json.dumps(good)], name="journal").job == "j"
    with pytest.raises(StoredFormError, match=f"no valid {field}"):
        read_header([json.dumps(good | {field: []})], name="journal")


@pytest.mark.battery
@pytest.mark.parametrize("inside", [b"\xff\xfe", b"\0" * (65 << 20)])
def test_a_packed_record_is_bounded_and_is_text(inside):
    packed = PACKED + b'"' + b2a_base64(compress(inside), newline=False) + b'","records":1}'
    with pytest.raises(StoredFormError, match="packed records cannot be read"):
        list(unpacked(packed))


@pytest.fixture(scope="module")
def ended(kit, tmp_path_factory):
    job = kit.job(tmp_path_factory.mktemp("ended"))
    job.run(kit.plan(kit.step("A", argv=["false"]), kit.step("B")), expect=1)
    return job


@pytest.mark.parametrize(
    "command", [("status", "j"), ("report", "j"), ("logs", "j"), ("top", "j", "--json"), ("resume", "j")]
)
def test_commands_end_with_3(ended, command):
    path = ended.run_dir / "journal"
    whole = path.read_bytes()
    try:
        path.write_bytes(whole + record(json.dumps(made("exit") | {"cause": "melted", "step": "A"})))
        out = ended.dsec(*command, expect=3)
        assert "has an unknown cause: 'melted'" in out
        assert "written by a newer dsec" in out
    finally:
        path.write_bytes(whole)
