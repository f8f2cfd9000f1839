"""Keys and signatures in minisign's form: read by minisign, and minisign's read by us."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dsec_cli.plugins.signing import minisign as m

SECRET = m.new_key(bytes(range(40)))


@pytest.fixture
def program() -> str:
    found = shutil.which("minisign")
    if found is None:
        pytest.skip("minisign is not installed (Debian: minisign)")
    return found


def run(folder: Path, *words: str, typed: str = "") -> str:
    ran = subprocess.run(words, cwd=folder, input=typed, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_what_is_signed_checks_and_nothing_else_does() -> None:
    text = m.signed(SECRET, b"data", "skill-manager 1.0.0")
    signature = m.read_signature(text, "x")
    assert (signature.id, signature.trusted) == (SECRET.id, "skill-manager 1.0.0")
    assert m.checks(signature, SECRET.public, b"data")
    assert not m.checks(signature, SECRET.public, b"date")
    assert not m.checks(signature._replace(trusted="skill-manager 2.0.0"), SECRET.public, b"data")
    other = m.new_key(bytes(range(8)) + bytes(32)).public  # the same number, another key
    assert other.id == SECRET.id
    assert not m.checks(signature, other, b"data")
    assert not m.checks(signature, other._replace(id=bytes(8)), b"data")


def test_keys_come_back() -> None:
    assert m.read_public(m.public_text(SECRET.public), "x") == SECRET.public
    assert m.read_public(SECRET.public.text, "x") == SECRET.public
    assert m.read_secret(m.secret_text(SECRET, "", b""), "", "x") == SECRET


@pytest.mark.battery
def test_a_password_opens_its_key_only() -> None:
    text = m.secret_text(SECRET, "öffne", os.urandom(32))
    assert m.needs_password(text, "x")
    assert m.read_secret(text, "öffne", "x") == SECRET
    with pytest.raises(m.KeyProblem, match="the password is wrong, or the key is damaged"):
        m.read_secret(text, "offne", "x")


def changed(text: str, line: int, at: int) -> str:
    """A file with one byte of a line's base64 changed."""
    lines = text.splitlines()
    data = bytearray(base64.b64decode(lines[line]))
    data[at] ^= 1
    lines[line] = base64.b64encode(data).decode()
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("at", [0, 2, 4, 60, 90, 100, 157])
def test_a_damaged_secret_key_is_refused(at: int) -> None:
    with pytest.raises(m.KeyProblem, match=r"x: (this is no minisign secret key|the key is damaged)"):
        m.read_secret(changed(m.secret_text(SECRET, "", b""), 1, at), "", "x")


@pytest.mark.battery
def test_a_key_that_would_take_all_memory_is_refused() -> None:
    lines = m.secret_text(SECRET, "p", bytes(32)).splitlines()
    data = bytearray(base64.b64decode(lines[1]))
    data[46:54] = (1 << 40).to_bytes(8, "little")
    with pytest.raises(m.KeyProblem, match="would take 1048576 MiB of memory"):
        m.read_secret(f"{lines[0]}\n{base64.b64encode(data).decode()}\n", "p", "x")


@pytest.mark.parametrize(
    "text",
    ["", "x", "untrusted comment: a\nRW\n", "RWä", "untrusted comment: a\nb\nc\nd\n", "A" * 56, "RWQ" * 1000],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    for read in (m.read_public, lambda text, where: m.read_secret(text, "", where), m.read_signature):
        with pytest.raises(m.KeyProblem, match=r"^x: "):
            read(text, "x")


def test_the_older_kind_of_signature_is_refused() -> None:
    lines = m.signed(SECRET, b"data", "a").splitlines()
    data = b"Ed" + base64.b64decode(lines[1])[2:]
    lines[1] = base64.b64encode(data).decode()
    with pytest.raises(m.KeyProblem, match="of the older kind"):
        m.read_signature("\n".join(lines), "x")


@pytest.mark.parametrize("password", ["", "pass word"])
def test_minisign_takes_our_keys_and_signatures(tmp_path: Path, program: str, password: str) -> None:
    (tmp_path / "k").write_text(m.secret_text(SECRET, password, os.urandom(32)))
    (tmp_path / "p").write_text(m.public_text(SECRET.public))
    (tmp_path / "f").write_bytes(b"data")
    (tmp_path / "f.minisig").write_text(m.signed(SECRET, b"data", "skill 1.0.0"))
    assert "Trusted comment: skill 1.0.0" in run(tmp_path, program, "-V", "-p", "p", "-m", "f")
    open_ = ("-W",) if not password else ()
    run(tmp_path, program, "-S", *open_, "-s", "k", "-m", "f", "-t", "new", typed=f"{password}\n")
    signature = m.read_signature((tmp_path / "f.minisig").read_text(), "f")
    assert signature.trusted == "new"
    assert m.checks(signature, SECRET.public, b"data")


def test_we_take_minisigns_keys_and_signatures(tmp_path: Path, program: str) -> None:
    run(tmp_path, program, "-G", "-W", "-p", "p", "-s", "k")
    (tmp_path / "f").write_bytes(b"data")
    run(tmp_path, program, "-S", "-W", "-s", "k", "-m", "f")
    public = m.read_public((tmp_path / "p").read_text(), "p")
    assert m.checks(m.read_signature((tmp_path / "f.minisig").read_text(), "f"), public, b"data")
    secret = m.read_secret((tmp_path / "k").read_text(), "", "k")
    assert secret.public == public
    assert public.shown.lstrip("0") in (tmp_path / "p").read_text()  # it writes no leading zeros
