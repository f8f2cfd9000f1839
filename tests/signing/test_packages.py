"""Packages as folders and zips, manifests, and where a package stands with a user."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import zipfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.errors import FileProblem, StoredFormError
from dsec.versions import semver_order
from dsec_cli.plugins.signing import bundle, contents, minisign, trust
from dsec_cli.plugins.signing.contents import Entry, Manifest

SECRET = minisign.new_key(bytes(range(40)))
OTHER = minisign.new_key(bytes(range(8, 48)))
MANIFEST = Manifest("skill-manager", "1.2.0", date(2026, 12, 1), {"a.so": Entry(3, "0" * 64)})
DATA = contents.manifest_text(MANIFEST)


def zipped(path: Path, *members: tuple[str, bytes, int]) -> str:
    """A zip of (name, content, mode)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in members:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return str(path)


PLAIN = stat.S_IFREG | 0o644


def test_a_folder_and_its_zip_are_the_same_package(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    (folder / "lib").mkdir(parents=True)
    (folder / "plugin.yaml").write_bytes(b"name: p\n")
    (folder / "lib" / "x.so").write_bytes(b"\x7fELF")
    (folder / "lib" / "x.so").chmod(0o755)
    members = [("p/plugin.yaml", b"name: p\n", PLAIN), ("p/lib/x.so", b"\x7fELF", PLAIN | 0o111)]
    one, two = bundle.read_package(str(folder)), bundle.read_package(zipped(tmp_path / "z.zip", *members))
    assert one.files == two.files == {"plugin.yaml": b"name: p\n", "lib/x.so": b"\x7fELF"}
    assert one.executable == two.executable == {"lib/x.so"}
    assert one.entries() == two.entries()


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/x",
        "a/../x",
        "a//x",
        "./x",
        "a\\x",
        "c:x",
        "a/ /x",
        "a/x ",
        "a\nx",
        "\x1b[2Jx",
        "a/..",
        "x" * 600,
    ],
)
def test_names_that_reach_outside_are_refused(tmp_path: Path, name: str) -> None:
    path = zipped(tmp_path / "z.zip", (name, b"", PLAIN), ("y", b"", PLAIN))
    with pytest.raises(FileProblem, match="would reach outside"):
        bundle.read_package(path)
    assert not bundle.safe(name)


def test_links_twins_and_bombs_are_refused(tmp_path: Path) -> None:
    link = zipped(tmp_path / "l.zip", ("x", b"/etc/passwd", stat.S_IFLNK | 0o777))
    with pytest.raises(FileProblem, match="'x' is no ordinary file"):
        bundle.read_package(link)
    with pytest.warns(UserWarning, match="Duplicate name"):
        twins = zipped(tmp_path / "t.zip", ("x", b"1", PLAIN), ("x", b"2", PLAIN))
    with pytest.raises(FileProblem, match="stands twice"):
        bundle.read_package(twins)
    bomb = zipped(tmp_path / "b.zip", ("x", bytes(40 << 20), PLAIN))
    with pytest.raises(FileProblem, match="is 41943040 bytes out of"):
        bundle.read_package(bomb)


def test_a_zip_that_lies_about_sizes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "z.zip"
    zipped(path, ("x", b"a" * 1000, PLAIN))
    data = path.read_bytes()
    path.write_bytes(data.replace((1000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(FileProblem, match=r"is no whole zip|is not as long as it says"):
        bundle.read_package(str(path))


@given(st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_zip_is_a_package_or_told(tmp_path_factory: Any, at: int, byte: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("plugin.yaml", b"name: p\n" * 10)
    data = bytearray(buffer.getvalue())
    data[at % len(data)] = byte
    path = tmp_path_factory.mktemp("z") / "z.zip"
    path.write_bytes(data)
    with contextlib.suppress(FileProblem):  # nothing else may come out
        bundle.read_package(str(path))


def test_a_zip_with_damaged_data_or_names_is_told(tmp_path: Path) -> None:
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("plugin.yaml", b"name: a\n" * 50)
    whole = path.read_bytes()
    at = whole.find(b"plugin.yaml") + len(b"plugin.yaml")
    path.write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
    with pytest.raises(FileProblem, match="is no whole zip"):
        bundle.read_package(str(path))
    central = bytearray(whole)
    at = central.rfind(b"PK\1\2")
    central[at + 9] |= 8  # "names are UTF-8"
    central[at + 46] = 0xFF
    path.write_bytes(bytes(central))
    with pytest.raises(FileProblem, match="is no whole zip"):
        bundle.read_package(str(path))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileProblem, match="neither a folder nor a zip"):
        bundle.read_package(str(tmp_path / "pipe"))


@pytest.mark.parametrize("change", ["version", "path"])
def test_a_manifest_has_only_what_can_be_shown(change: str) -> None:
    held = json.loads(DATA)
    if change == "version":
        held["version"] = "1.0.0\x1b[2J"
    else:
        held["files"]["a\n"] = {"bytes": 1, "blake3": "0" * 64}
    with pytest.raises(StoredFormError):
        contents.read_manifest(json.dumps(held).encode(), "m")


def test_a_folder_with_links_or_pipes_is_refused(tmp_path: Path) -> None:
    for make in (lambda path: os.symlink("/etc/passwd", path), os.mkfifo):
        make(tmp_path / "x")
        with pytest.raises(FileProblem, match="is no ordinary file"):
            bundle.read_package(str(tmp_path))
        (tmp_path / "x").unlink()
    (tmp_path / "n").write_text("no zip")
    with pytest.raises(FileProblem, match="neither a folder nor a zip"):
        bundle.read_package(str(tmp_path / "n"))
    with pytest.raises(FileProblem, match="there is no such file"):
        bundle.read_package(str(tmp_path / "none"))


def test_a_manifest_comes_back_and_is_always_the_same() -> None:
    assert contents.read_manifest(DATA, "m") == MANIFEST
    assert contents.manifest_text(contents.read_manifest(DATA, "m")) == DATA


LIES = {
    "no JSON": b"{",
    "a list": b"[]",
    "another format": json.dumps({"format": "x"}).encode(),
    "a newer version": DATA.replace(b"[\n  1,\n  0\n ]", b"[2, 0]"),
    "a name with a slash": DATA.replace(b'"skill-manager"', b'"../up"'),
    "no name": DATA.replace(b'"skill-manager"', b"3"),
    "no files": DATA.replace(b'"files": {', b'"files_": {'),
    "a size below zero": DATA.replace(b'"bytes": 3', b'"bytes": -3'),
    "a size that is true": DATA.replace(b'"bytes": 3', b'"bytes": true'),
    "a hash that is none": DATA.replace(b"0" * 64, b"0" * 63),
    "no day": DATA.replace(b"2026-12-01", b"tomorrow"),
    "a key twice": DATA.replace(b'"expires"', b'"name"'),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_manifest_that_is_none_is_refused(lie: str) -> None:
    assert LIES[lie] != DATA
    with pytest.raises(StoredFormError, match=r"^m"):
        contents.read_manifest(LIES[lie], "m")


def test_every_difference_is_named() -> None:
    wanted = MANIFEST._replace(
        files={"a": Entry(1, "1" * 64), "b": Entry(1, "1" * 64), "c": Entry(1, "1" * 64)}
    )
    found = {"a": Entry(1, "1" * 64), "b": Entry(1, "2" * 64), "d": Entry(1, "1" * 64)}
    assert contents.differences(wanted, found) == [
        "b is not the one that was signed",
        "c is missing",
        "d is not in the manifest",
    ]
    assert contents.differences(wanted, wanted.files) == []


def judged(
    *,
    signer: minisign.SecretKey | None = SECRET,
    comment: str = MANIFEST.comment,
    changed: tuple[str, ...] = (),
    keys: tuple[trust.Trusted, ...] | None = None,
    today: date = date(2026, 12, 1),
    installed: str | None = None,
    data: bytes = DATA,
) -> tuple[str, str]:
    owner = trust.Trusted("alice", SECRET.public, ("skill-*",), ("read:*",))
    signature = (
        None if signer is None else minisign.read_signature(minisign.signed(signer, DATA, comment), "s")
    )
    found = trust.standing(
        MANIFEST,
        signature,
        data,
        list(changed),
        keys=(owner,) if keys is None else keys,
        today=today,
        installed=installed,
    )
    return found.status, found.why


def test_where_a_package_stands() -> None:
    narrow = trust.Trusted("alice", SECRET.public, ("other-*",), ())
    assert judged() == ("trusted", "signed by alice")
    assert judged(signer=None) == ("unsigned", "it has no signature")
    assert judged(signer=None, changed=("a is missing",)) == ("modified", "a is missing")
    assert judged(signer=OTHER)[0] == "unknown-key"
    assert judged(keys=()) == (
        "unknown-key",
        f"it is signed by {SECRET.public.shown}, which you do not trust",
    )
    assert judged(keys=(narrow,)) == ("unknown-key", "alice is trusted with other-*, not with skill-manager")
    assert judged(signer=OTHER, changed=("a is missing",)) == ("modified", "a is missing")
    assert judged(keys=(narrow,), changed=("a is missing",)) == ("modified", "a is missing")
    twin = minisign.PublicKey(SECRET.public.id, OTHER.public.key)
    first = trust.Trusted("aaron", twin, ("*",), ())
    alice = trust.Trusted("alice", SECRET.public, ("skill-*",), ("read:*",))
    assert judged(keys=(first, alice)) == ("trusted", "signed by alice")
    assert judged(keys=(first,))[0] == "bad"
    assert judged(data=DATA + b" ")[0] == "bad"
    assert judged(comment="skill-manager 1.1.0")[0] == "bad"
    assert judged(changed=("a", "b", "c", "d")) == ("modified", "a; b; c, and 1 more")
    assert judged(today=date(2026, 12, 2)) == ("expired", "it was to be used until 2026-12-01")
    assert judged(installed="1.10.0") == ("rollback", "1.10.0 is installed, which is newer")
    assert judged(installed="1.2.0")[0] == "trusted"
    assert judged(installed="1.2.0-rc.1")[0] == "trusted"


def test_permissions_beyond_the_owners_are_named() -> None:
    owner = trust.Trusted("alice", SECRET.public, ("*",), ("read:*", "exec"))
    assert trust.beyond(("read:redis", "exec", "write:s3"), owner) == ["write:s3"]
    assert trust.beyond(("write:s3",), owner._replace(permissions=())) == []


def test_a_trust_file_comes_back() -> None:
    keys = (
        trust.Trusted("alice", SECRET.public, ("skill-*",), ("read:*",)),
        trust.Trusted("b", OTHER.public, ("*",), ()),
    )
    assert trust.read_trust(trust.trust_text(keys).encode(), "t") == keys
    for text in (
        "",
        "[]",
        '{"version": 2, "keys": []}',
        '{"version": 1, "keys": [{}]}',
        '{"version": 1, "keys": [3]}',
    ):
        with pytest.raises(StoredFormError, match=r"^t"):
            trust.read_trust(text.encode(), "t")
    with pytest.raises(minisign.KeyProblem, match="no base64"):
        trust.read_trust(trust.trust_text(keys).replace(SECRET.public.text, "RWQ").encode(), "t")


def test_versions_are_ordered_as_semver_has_it() -> None:
    ordered = ["1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2",
               "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.9.0", "1.10.0", "2.0.0"]  # fmt: skip
    assert sorted([*ordered[6:], *ordered[:6]], key=semver_order) == ordered
    assert semver_order("1.0.0+a") == semver_order("1.0.0+b")
