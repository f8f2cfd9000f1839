"""Packages: what goes in comes out, the same gives the same, and what was tampered with is not believed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

from dsec import ed25519
from dsec.codec import canonical
from dsec.errors import DSecError
from dsec.store import Store
from dsec_cli.snapshot.package import form, keys, reading, standing
from dsec_cli.snapshot.package.writing import write as export
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.shelf import View, find

from .kit import FILES, repository, scene, take
from .shell import Shell


def test_the_parts_that_are_promised(package: Path) -> None:
    with reading.opened(str(package)) as found:
        names = {one.name for one in found.table.parts}
        assert names >= {
            "code_manifest.json", "deps_fingerprint.bin", "gpu_layout.dot", "audit_log.enc",
            "environment.json", "kernel.json", "mounts.json", "hardware.json", "dependencies.json",
            "code.json", "snapshot.json",
        }  # fmt: skip
        manifest = json.loads(found.part("code_manifest.json") or b"")
        files = {one["path"]: one for one in manifest["files"]}
        assert files["train.py"]["blake3"] == blake3(FILES["train.py"].encode()).hexdigest()
        assert files["train.py"]["state"] == "clean"
        assert files["weights.bin"]["state"] == "untracked"
        assert len(manifest["git"]["commit"]) == 40
        assert b"h100" in (found.part("gpu_layout.dot") or b"").lower()
        assert dict(found.table.absent).keys() >= {"run.json"}


def test_what_goes_in_comes_out(view: View, package: Path, elsewhere: Store, tmp_path: Path) -> None:
    with reading.opened(str(package)) as found:
        assert reading.checked(found) > 15
        new = reading.take(found, elsewhere, "copy")
    assert new[0] > 10
    copied = View(find(elsewhere, "copy"), elsewhere)
    assert copied.manifest.id == view.manifest.id
    tree = copied.side("code").trees["code"]
    elsewhere.checkout(tree, os.fsencode(tmp_path / "out"))
    assert (tmp_path / "out" / "train.py").read_text() == FILES["train.py"]
    assert (tmp_path / "out" / "weights.bin").read_bytes() == bytes(range(256)) * 10_000
    assert elsewhere.verify().damage == ()


def test_the_same_snapshot_gives_the_same_file(view: View, package: Path, environ: dict[str, str]) -> None:
    again = package.with_name("again.dsnap")
    made = export(view, str(again), environ=environ, recipients=[], signed=True)
    assert again.read_bytes() == package.read_bytes()
    assert made.digest == blake3(package.read_bytes()).hexdigest()
    assert made.size == package.stat().st_size


def test_an_imported_snapshot_is_exported_as_the_same_file(
    package: Path, elsewhere: Store, environ: dict[str, str]
) -> None:
    with reading.opened(str(package)) as found:
        reading.take(found, elsewhere, "v1")
    again = package.with_name("again.dsnap")
    export(View(find(elsewhere, "v1"), elsewhere), str(again), environ=environ, recipients=[], signed=True)
    assert again.read_bytes() == package.read_bytes()


def test_it_is_small_beside_a_fat_git_folder(
    tmp_path: Path, store: Store, state: Path, environ: dict[str, str]
) -> None:
    folder = repository(tmp_path / "q", {f"m{at}.py": f"x = {at}\n" * 200 for at in range(50)})
    (folder / ".git" / "fat").write_bytes(os.urandom(20 << 20))
    found = take(scene(folder, store, state), "fat")
    made = export(found, str(tmp_path / "q.dsnap"), environ=environ, recipients=[], signed=True)
    assert made.size < 100_000


def stands(path: Path, environ: dict[str, str]) -> str:
    with reading.opened(str(path)) as found:
        return reading.standing(found, environ).verdict


def test_who_signed_it(package: Path, view: View, environ: dict[str, str], tmp_path: Path) -> None:
    other = {"HOME": str(tmp_path / "other")}
    assert stands(package, environ) == standing.YOURS
    assert stands(package, other) == standing.UNKNOWN
    with reading.opened(str(package)) as found:
        signer = found.table.signer
    assert signer is not None
    keys.trust(keys.trusted(other), label=signer.label, key=signer.key)
    assert stands(package, other) == standing.TRUSTED
    third = {"HOME": str(tmp_path / "third")}
    keys.trust(keys.trusted(third), label=signer.label, key="ab" * 32)
    assert stands(package, third) == standing.CHANGED
    plain = package.with_name("plain.dsnap")
    export(view, str(plain), environ=environ, recipients=[], signed=False)
    assert stands(plain, environ) == standing.UNSIGNED


def test_a_key_of_ones_own_by_its_file(view: View, tmp_path: Path, environ: dict[str, str]) -> None:
    (tmp_path / "ci").write_text("11" * 32 + "\n")
    (tmp_path / "ci").chmod(0o600)
    environ[keys.VARIABLE] = str(tmp_path / "ci")
    made = export(view, str(tmp_path / "ci.dsnap"), environ=environ, recipients=[], signed=True)
    assert made.table.signer is not None
    assert made.table.signer.key == ed25519.public_key(b"\x11" * 32).hex()


def wholly(path: Path, environ: dict[str, str]) -> str:
    """What becomes of a package when it is opened, judged and read to its end."""
    with reading.opened(str(path)) as found:
        verdict = reading.standing(found, environ).verdict
        reading.checked(found)
    return verdict


@pytest.mark.battery
def test_a_flipped_bit_anywhere_is_found(package: Path, environ: dict[str, str]) -> None:
    """Every byte of head, table and signature; every 37th of the pack; all of its tables."""
    data = package.read_bytes()
    _, _, _, table, pack = form.HEAD.unpack(data[: form.HEAD.size])
    front = form.HEAD.size + table + 64
    assert len(data) == front + pack
    places = [*range(0, front, 3), *range(front, len(data), 211), *range(len(data) - 200, len(data))]
    broken = package.with_name("broken.dsnap")
    for at in places:
        broken.write_bytes(data[:at] + bytes((data[at] ^ 4,)) + data[at + 1 :])
        said = str(broken)
        try:
            assert wholly(broken, environ) == standing.FORGED, at
        except DSecError as problem:
            said = problem.what
        assert str(broken) in said


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.5, 0.99, 1.0])
def test_a_file_that_is_cut_off(package: Path, share: float) -> None:
    data = package.read_bytes()
    package.write_bytes(data[: int((len(data) - 1) * share)])
    with pytest.raises(DSecError, match=r"is cut off|is not a package"), reading.opened(str(package)):
        pass
    package.write_bytes(data + b"x")
    with pytest.raises(DSecError, match="goes on for 1 bytes"), reading.opened(str(package)):
        pass


def test_other_files_and_newer_versions(tmp_path: Path, package: Path) -> None:
    (tmp_path / "text").write_text("hello " * 100)
    with pytest.raises(DSecError, match="is not a package"), reading.opened(str(tmp_path / "text")):
        pass
    with pytest.raises(DSecError, match="No such file"), reading.opened(str(tmp_path / "none")):
        pass
    with pytest.raises(DSecError), reading.opened(str(tmp_path)):
        pass
    data = bytearray(package.read_bytes())
    data[10] = 9
    package.write_bytes(bytes(data))
    with pytest.raises(DSecError, match="newer version of DSec"), reading.opened(str(package)):
        pass


def signed_anew(package: Path, table: form.Table, seed: bytes) -> None:
    """The package with another table, rightly signed by someone."""
    data = package.read_bytes()
    _, _, _, length, pack = form.HEAD.unpack(data[: form.HEAD.size])
    signer = form.Signer(ed25519.public_key(seed).hex(), "eve")
    head = form.beginning(table._replace(signer=signer), pack)
    rest = data[form.HEAD.size + length + 64 :]
    package.write_bytes(head + ed25519.sign(seed, form.signed_message(head)) + rest)


def test_a_table_that_names_another_snapshot(package: Path) -> None:
    with reading.opened(str(package)) as found:
        table = found.table
    signed_anew(package, table._replace(snapshot=form.Snapshot("00" * 32, "v1")), b"e" * 32)
    with pytest.raises(DSecError, match="belongs to another snapshot"), reading.opened(str(package)):
        pass
    parts = tuple(one for one in table.parts if one.name != "environment.json")
    signed_anew(package, table._replace(parts=parts), b"e" * 32)
    with pytest.raises(DSecError, match="belongs to another snapshot"), reading.opened(str(package)):
        pass


def test_a_part_that_is_not_there(package: Path, environ: dict[str, str]) -> None:
    with reading.opened(str(package)) as found:
        table = found.table
    parts = tuple(one._replace(id="00" * 32) if one.name == "gpu_layout.dot" else one for one in table.parts)
    signed_anew(package, table._replace(parts=parts), b"e" * 32)
    with pytest.raises(DSecError, match="lacks 0000"):
        wholly(package, environ)


def test_a_signature_of_another_package(package: Path, view: View, environ: dict[str, str]) -> None:
    other = package.with_name("other.dsnap")
    export(view, str(other), environ={"HOME": environ["HOME"] + "2"}, recipients=[], signed=True)
    one, two = package.read_bytes(), other.read_bytes()
    at = form.HEAD.size + form.HEAD.unpack(one[: form.HEAD.size])[3]
    package.write_bytes(one[:at] + two[at : at + 64] + one[at + 64 :])
    assert stands(package, environ) == standing.FORGED
    package.write_bytes(one[:at] + bytes(64) + one[at + 64 :])
    assert stands(package, environ) == standing.FORGED


def test_a_table_in_another_spelling(package: Path) -> None:
    """The same JSON with other spaces: one table has one form."""
    data = package.read_bytes()
    _, version, oldest, length, pack = form.HEAD.unpack(data[: form.HEAD.size])
    table = data[form.HEAD.size : form.HEAD.size + length]
    for spelled in (
        b" " + table,
        table.replace(b'"absent"', b'"absent" ', 1),
        table + b"\n",
        b"[]",
        b"{}",
        b"\xff",
    ):
        head = form.HEAD.pack(form.MAGIC, version, oldest, len(spelled), pack)
        package.write_bytes(head + spelled + data[form.HEAD.size + length :])
        with pytest.raises(DSecError, match="is damaged"), reading.opened(str(package)):
            pass


def test_more_than_is_allowed(package: Path) -> None:
    with (
        pytest.raises(DSecError, match="says that it holds") as told,
        reading.opened(str(package), most=1000),
    ):
        pass
    assert "--most" in told.value.hint


def test_what_is_there_is_not_overwritten_unless_it_is_a_package(
    view: View, tmp_path: Path, environ: dict[str, str]
) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(DSecError, match="is not a package"):
        export(view, str(tmp_path / "mine"), environ=environ, recipients=[], signed=True)
    assert (tmp_path / "mine").read_text() == "mine"
    with pytest.raises(DSecError, match="could not be written"):
        export(view, str(tmp_path / "none" / "x"), environ=environ, recipients=[], signed=True)
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.name] == []


def test_a_name_for_a_terminal_or_for_another_place(package: Path, environ: dict[str, str]) -> None:
    with reading.opened(str(package)) as found:
        table = found.table
    data = package.read_bytes()
    _, _, _, length, pack = form.HEAD.unpack(data[: form.HEAD.size])
    for label in ("eve\x1b[2J", "x" * 300, "a\nb"):
        head = form.beginning(table._replace(signer=form.Signer("ab" * 32, label)), pack)
        package.write_bytes(head + data[form.HEAD.size + length :])
        with pytest.raises(DSecError, match="is damaged"), reading.opened(str(package)):
            pass


def test_verifying_makes_no_key(package: Path, tmp_path: Path) -> None:
    other = {"HOME": str(tmp_path / "reader")}
    assert stands(package, other) == standing.UNKNOWN
    assert not (tmp_path / "reader").exists()


def test_no_secret_is_in_it(tmp_path: Path, store: Store, state: Path, environ: dict[str, str]) -> None:
    secret = "hf_" + "aBcD1234" * 4
    folder = repository(tmp_path / "s", {"train.py": f'TOKEN = "{secret}"\n', "a.py": "x = 1\n"})
    variables = {"PATH": os.environ["PATH"], "HOME": str(state), "API_KEY": "s3cr3t-value-of-mine"}
    found = take(scene(folder, store, state, environ=variables, wanted=Wanted()), "s")
    path = tmp_path / "s.dsnap"
    export(found, str(path), environ=environ, recipients=[], signed=True)
    with reading.opened(str(path)) as package:
        texts = [package.part(one.name) or b"" for one in package.table.parts]
        texts += [package.pack.get(bytes(one)) for one, _ in _objects(package)]
        log = package.part("audit_log.enc") or b""
    from dsec_cli.snapshot.package import age

    texts += [path.read_bytes(), age.opened(log, keys.own_identity(environ))]
    assert not [text for text in texts if secret.encode() in text or b"s3cr3t-value-of-mine" in text]
    assert b"redacted" in texts[-1]


def _objects(package: reading.Package) -> Iterator[tuple[bytes, int]]:
    from dsec.store.packform import OBJECT

    for row in OBJECT.iter_unpack(package.pack.tables.objects):
        yield row[0], row[4]


def test_canonical_tables_are_what_is_written(package: Path) -> None:
    with reading.opened(str(package)) as found:
        assert canonical(found.table) == found.head[form.HEAD.size :]


@pytest.mark.battery
def test_the_story_of_a_package(shell: Shell, tmp_path: Path) -> None:
    """Export, verify, import elsewhere with and without trust, look into it, and compare."""
    shell.ok("snapshot create --name v1")
    assert "signed by" in shell.ok("snapshot export v1")
    assert "intact, signed by you" in shell.ok("snapshot verify v1.dsnap")
    other = {"HOME": str(tmp_path / "other")}
    assert "which you do not know yet" in shell.ok("snapshot import v1.dsnap --name v2", 1, **other)
    assert "which you trust" in shell.ok("snapshot import v1.dsnap --name v2 --trust", **other)
    assert "which you trust" in shell.ok("snapshot verify v1.dsnap", **other)
    assert "is there already" in shell.ok("snapshot import v1.dsnap --name v2", **other)
    assert "nothing differs" in shell.ok("snapshot diff v1 v2")
    assert '"what":"mount"' in shell.ok("snapshot audit v1.dsnap")
    assert "sealed for others" in shell.ok("snapshot audit v1.dsnap", 1, **other)
    (shell.project / "train.sh").write_text("lr=4\n")
    shell.ok("snapshot create --name v3")
    shell.ok("snapshot export v3 -o v1b.dsnap")
    assert "there is another snapshot named v3" in shell.ok("snapshot import v1.dsnap --name v3", 2)
    told = json.loads(shell.ok("snapshot import v1b.dsnap --name v4 --json"))
    assert (told["new"], told["signature"]) == (True, "yours")
    assert "train.sh" in shell.ok("snapshot diff v1.dsnap v1b.dsnap", 1)
    data = bytearray((shell.project / "v1.dsnap").read_bytes())
    data[len(data) // 2] ^= 1
    (shell.project / "v1.dsnap").write_bytes(bytes(data))
    assert "damaged" in shell.ok("snapshot verify v1.dsnap", 1)
    assert "damaged" in shell.ok("snapshot import v1.dsnap --name v5", 1)
    shutil.rmtree(shell.project / ".dsec")
    shell.ok("snapshot import v1b.dsnap")
    assert "train.sh" in shell.ok("snapshot inspect v3 --files")


def test_without_zstandard_a_snapshot_says_so(
    tmp_path: Path, store: Store, state: Path, monkeypatch: Any
) -> None:
    import sys

    from dsec_cli.snapshot.views.creating import render

    found = take(scene(repository(tmp_path / "z", FILES), store, state), "z")
    assert "zlib" not in render(found, [], paint=lambda text, _: text, took_s=1)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert "pip install 'dsec[snapshot]'" in render(found, [], paint=lambda text, _: text, took_s=1)
