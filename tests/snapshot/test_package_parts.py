"""The parts of a package: fingerprints, graphs, logs, sealed bytes and keys."""

from __future__ import annotations

import json
import mmap
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.errors import DSecError, FileProblem
from dsec_cli.snapshot.manifest import Manifest
from dsec_cli.snapshot.package import age, auditlog, bech32, crypto, fingerprint, gpulayout, keys
from dsec_cli.snapshot.package.fingerprint import Fingerprint, FingerprintError, differences, encoded

TEXT = st.text(max_size=12)
FACTS = st.dictionaries(TEXT, TEXT | st.integers(0, 9) | st.none(), max_size=3)
ITEMS = st.dictionaries(st.tuples(st.sampled_from(["package", "conda", "library"]), TEXT), FACTS, max_size=30)


def rows(found: dict[tuple[str, str], Any]) -> list[tuple[str, str, Any]]:
    return [(kind, name, facts) for (kind, name), facts in found.items()]


@pytest.mark.battery
@given(ITEMS, ITEMS)
def test_a_fingerprint_knows_what_differs(one: Any, two: Any) -> None:
    before, after = Fingerprint(encoded(rows(one))), Fingerprint(encoded(rows(two)))
    assert {(kind, name): facts for kind, name, facts in before.items()} == one
    assert len(before) == len(one)
    assert (before.root == after.root) == (one == two)
    changed = {(kind, name): (was, now) for kind, name, was, now in differences(before, after)}
    keys_ = {
        key for key in one.keys() | two.keys() if key not in one or key not in two or one[key] != two[key]
    }
    assert changed == {key: (one.get(key), two.get(key)) for key in keys_}


@given(ITEMS)
def test_the_same_environment_has_the_same_bytes(found: Any) -> None:
    assert encoded(rows(found)) == encoded(rows(found)[::-1])


@given(ITEMS, st.integers(0, 9000), st.integers(0, 7))
def test_a_damaged_fingerprint_is_told(found: Any, at: int, bit: int) -> None:
    data = bytearray(encoded(rows(found)))
    data[at % len(data)] ^= 1 << bit
    try:
        items = list(Fingerprint(bytes(data)).items())
    except FingerprintError:
        return
    # Only what is not looked at when all is read may be flipped unseen: the digests of buckets are looked at.
    assert {(kind, name): facts for kind, name, facts in items} == found


def test_a_fingerprint_of_a_newer_version_and_short_ones() -> None:
    data = bytearray(encoded([]))
    data[10] = 9
    with pytest.raises(FingerprintError, match="newer version"):
        Fingerprint(bytes(data))
    for size in (0, 10, 48, len(data) - 1):
        with pytest.raises(FingerprintError):
            Fingerprint(encoded([])[:size])


def test_a_file_that_is_mapped_is_compared_without_being_read(tmp_path: Path) -> None:
    items = [("package", f"p{at}", {"version": str(at)}) for at in range(2000)]
    (tmp_path / "one").write_bytes(encoded(items))
    (tmp_path / "two").write_bytes(encoded([*items[:-1], ("package", "p1999", {"version": "2"})]))
    with (tmp_path / "one").open("rb") as one, (tmp_path / "two").open("rb") as two:
        maps = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for file in (one, two)]
        found = list(differences(*map(Fingerprint, maps)))
    assert found == [("package", "p1999", {"version": "1999"}, {"version": "2"})]


def gpu(index: int, **more: Any) -> dict[str, Any]:
    return {"index": index, "uuid": f"GPU-{index}", "model": 'H100 "x"', "memory_bytes": 80 << 30,
            "pci": "0:1", "numa": index // 2, "links": [], **more}  # fmt: skip


def test_the_graph_of_gpus() -> None:
    hardware = {"driver": "550", "cuda": "12.4", "gpus": [
        gpu(0, links=[[1, "nvlink"], [1, "nvlink"]]), gpu(1, links=[[0, "nvlink"], [0, "nvlink"]]),
        gpu(2, links=[[-1, "pcie"]]),
    ]}  # fmt: skip
    text = gpulayout.rendered(hardware)
    assert text.count("gpu0 -- gpu1") == 1
    assert '[label="2 x nvlink"]' in text
    assert 'H100 \\"x\\"' in text
    assert "numa1 -- gpu2" in text
    assert "was not observed" in text
    assert "no GPU" in gpulayout.rendered({"driver": None, "cuda": None, "gpus": []})
    assert "was not captured" in gpulayout.rendered(None)


MANIFEST = Manifest("dsec.snapshot/1", "ab" * 32, "n", 5, "manual", "", "k", "0", ())


def test_a_log_is_a_chain() -> None:
    log = auditlog.chained(MANIFEST, [{"what": "mount", "at": "/"}, {"what": "variable", "name": "A"}])
    entries = auditlog.checked(log)
    assert [one["what"] for one in entries] == ["log", "mount", "variable"]
    assert entries[0]["snapshot"] == MANIFEST.id
    lines = log.splitlines(keepends=True)
    for broken in (
        b"".join(lines[:1] + lines[2:]), b"".join(lines[:2]), b"".join(lines[1:]),
        lines[0] + lines[2] + lines[1], log.replace(b'"A"', b'"B"').replace(b'"/"', b'"/x"'), b"", b"x\n",
    ):  # fmt: skip
        with pytest.raises(auditlog.AuditError):
            auditlog.checked(broken)


@given(st.binary(max_size=200), st.binary(min_size=32, max_size=32))
def test_what_is_sealed_is_opened_by_those_it_is_for(data: bytes, secret: bytes) -> None:
    other, third = bytes(32), b"\x07" * 32
    sealed = age.sealed(data, [crypto.agreement_key(secret), crypto.agreement_key(other)], secret=secret)
    assert age.opened(sealed, secret) == data
    assert age.opened(sealed, other) == data
    with pytest.raises(crypto.UnsealError, match="sealed for others"):
        age.opened(sealed, third)
    assert sealed == age.sealed(
        data, [crypto.agreement_key(secret), crypto.agreement_key(other)], secret=secret
    )


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_the_tool_of_age_opens_it_and_we_open_what_it_sealed(size: int) -> None:
    pyrage = pytest.importorskip(
        "pyrage", reason="the library that age's own tool is made of is not installed"
    )
    secret, data = os.urandom(32), os.urandom(size)
    identity = pyrage.x25519.Identity.from_str(age.identity(secret))
    public = crypto.agreement_key(secret)
    assert str(identity.to_public()) == age.recipient(public)
    assert pyrage.decrypt(age.sealed(data, [public], secret=secret), [identity]) == data
    recipient = pyrage.x25519.Recipient.from_str(age.recipient(public))
    assert age.opened(pyrage.encrypt(data, [recipient]), secret) == data


@given(st.integers(0, 1000), st.integers(0, 7), st.integers(0, 1))
def test_a_sealed_log_that_was_changed_is_not_opened(at: int, bit: int, cut: int) -> None:
    secret = b"\x01" * 32
    data = bytearray(age.sealed(b"entry\n" * 20, [crypto.agreement_key(secret)], secret=secret))
    data[at % len(data)] ^= 1 << bit
    with pytest.raises(crypto.UnsealError):
        age.opened(bytes(data[: len(data) - cut]), secret)


@given(st.binary(max_size=80))
def test_bech32_there_and_back(data: bytes) -> None:
    text = bech32.encode("age", data)
    assert bech32.decode("age", text) == data
    assert bech32.decode("age", text.upper()) == data
    assert bech32.decode("other", text) is None
    swapped = text[:-1] + ("q" if text[-1] != "q" else "p")
    assert bech32.decode("age", swapped) is None


@pytest.mark.parametrize("text", ["", "1", "age1", "age1qqqqqq", "age1" + "b" * 60, "Age1QQ", "ａge1"])
def test_texts_that_are_no_keys(text: str) -> None:
    assert age.public_key(text) is None
    assert age.secret_key(text) is None


def test_keys_are_made_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    seed, identity = keys.signing_seed(environ), keys.own_identity(environ)
    assert (keys.signing_seed(environ), keys.own_identity(environ)) == (seed, identity)
    folder = tmp_path / ".ds" / "keys"
    assert sorted(path.name for path in folder.iterdir()) == ["identity", "signing"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / "identity").read_text().splitlines()[0].startswith("# public key: age1")


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    keys.signing_seed(environ)
    (tmp_path / ".ds" / "keys" / "signing").chmod(0o644)
    with pytest.raises(FileProblem, match="can be read by others"):
        keys.signing_seed(environ)


@pytest.mark.parametrize("text", ["", "xyz", "ab" * 31, "ab" * 33, "\x00" * 64])
def test_a_key_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(FileProblem, match="is no signing key"):
        keys.signing_seed({"HOME": str(tmp_path), keys.VARIABLE: str(path)})
    with pytest.raises(FileProblem, match="No such file"):
        keys.signing_seed({"HOME": str(tmp_path), keys.VARIABLE: str(tmp_path / "none")})


def test_trusted_keys(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert keys.trusted(environ).keys == ()
    keys.trust(keys.trusted(environ), label="a@b", key="ab" * 32)
    keys.trust(keys.trusted(environ), label="c d", key="cd" * 32)
    assert keys.trusted(environ).keys == (("a@b", "ab" * 32), ("c d", "cd" * 32))
    (tmp_path / ".ds" / "keys" / "trusted").write_text("# mine\n\nnonsense\n")
    with pytest.raises(FileProblem, match="line 3 is no key"):
        keys.trusted(environ)


def test_without_cryptography_nothing_is_sealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(DSecError, match="cryptography, which is not installed") as told:
        keys.own_identity({"HOME": str(tmp_path)})
    assert "dsec[snapshot]" in told.value.hint


def test_what_sections_say_is_in_the_fingerprint() -> None:
    dependencies = {"python": {"version": "3.11"}, "path": ["x"], "conda": [{"name": "c", "build": "0"}],
                    "packages": [{"name": "numpy", "version": "2"}]}  # fmt: skip
    items = list(fingerprint.of_sections(dependencies, {"objects": {"/lib/x.so": "id"}}))
    assert json.loads(json.dumps(items)) == [
        ["python", "python", {"version": "3.11"}], ["path", "path", ["x"]],
        ["package", "numpy", {"version": "2"}], ["conda", "c", {"build": "0"}],
        ["library", "/lib/x.so", "id"],
    ]  # fmt: skip
    assert list(fingerprint.of_sections(None, None)) == []
