"""What is kept about an installed plugin: whatever of it or of its files is changed, it is not believed."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from dsec.errors import FileProblem
from dsec_cli.commands.plugin_call import _unchanged
from dsec_cli.commands.plugin_install import fixed
from dsec_cli.commands.plugin_known import known, standing_of
from dsec_cli.plugins.signing import installed
from dsec_cli.plugins.signing.bundle import read_package
from dsec_cli.plugins.signing.contents import Manifest, manifest_text
from dsec_cli.plugins.signing.minisign import new_key, public_text, signed
from dsec_cli.plugins.signing.sealing import key_path, made_key, own_key, sealed

SECRET = new_key(bytes(range(40)))
FILES = {
    "plugin.yaml": b"name: t\nversion: 1.0.0\nentrypoint: entrypoint.so\npermissions: []\n",
    "schema.json": b'{"input": {}, "output": {}}',
    "entrypoint.so": b"\x7fELF, in a way",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> installed.Installed:
    """A plugin as `dsec plugin install` leaves it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "key.pub").write_text(public_text(SECRET.public))
    keys = {"version": 1, "keys": [{"name": "me", "key": SECRET.public.text, "plugins": ["*"]}]}
    made_key({"HOME": str(tmp_path)})
    (tmp_path / ".ds" / "keys" / "trusted.json").write_text(json.dumps(keys))
    folder = tmp_path / "package"
    folder.mkdir()
    for name, data in FILES.items():
        (folder / name).write_bytes(data)
    manifest = Manifest("t", "1.0.0", None, read_package(str(folder)).entries())
    text = manifest_text(manifest)
    (folder / "MANIFEST.json").write_bytes(text)
    (folder / "MANIFEST.json.minisig").write_text(signed(SECRET, text, manifest.comment))
    package = read_package(str(folder))
    root = str(tmp_path / "plugins")
    aside = installed.stage(root, "t", package.files, frozenset())
    said = {"status": "trusted", "signer": "me", **fixed(package), "calls": [0, 1], "loading": [9]}
    key = made_key({"HOME": str(tmp_path)})
    installed.place(root, aside, "t", "1.0.0", said=sealed(key, "t", "1.0.0", said))
    found = installed.one(root, "t")
    assert found is not None
    return found


def taken(here: installed.Installed) -> list[object]:
    """The system calls that a call would be given."""
    package = read_package(here.folder)
    said = known(here, package)
    _unchanged(package, said)
    return [said["calls"], said["loading"]]


def test_what_was_installed_is_believed(here: installed.Installed) -> None:
    assert taken(here) == [[0, 1], [9]]
    assert standing_of(here) == "trusted"


@pytest.mark.parametrize("name", [*FILES, "MANIFEST.json", "MANIFEST.json.minisig"])
@pytest.mark.parametrize("change", ["longer", "gone", "other"])
def test_no_file_can_be_changed(here: installed.Installed, name: str, change: str) -> None:
    path = Path(here.folder, name)
    data = path.read_bytes()
    path.unlink()
    if change == "longer":
        path.write_bytes(data + b" ")
    if change == "other":
        path.write_bytes(data[:-1] + bytes((data[-1] ^ 1,)))
    with pytest.raises(Exception, match=r"MANIFEST|was signed|is missing|installed|no manifest"):
        taken(here)


def test_no_file_can_be_added(here: installed.Installed) -> None:
    Path(here.folder, "more.so").write_bytes(b"")
    with pytest.raises(FileProblem, match="is not in the manifest"):
        taken(here)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("calls", [0, 1, 59]),
        ("calls", []),
        ("calls", None),
        ("loading", [9, 59]),
        ("status", "unsigned"),
        ("signer", "you"),
        ("files", "0" * 64),
        ("signature", "0" * 64),
        ("more", 1),
    ],
)
def test_no_field_can_be_changed(here: installed.Installed, field: str, value: object) -> None:
    path = Path(f"{here.folder}.json")
    held = json.loads(path.read_text())
    path.write_text(json.dumps({**held, field: value}))
    with pytest.raises(FileProblem, match="what was kept about it was changed") as problem:
        taken(here)
    assert problem.value.hint == "install it again"
    assert standing_of(here) == "changed since it was installed"
    path.write_text(
        json.dumps({word: each for word, each in held.items() if word != field or field == "more"})
    )
    if field != "more":
        with pytest.raises(FileProblem, match="was changed"):
            taken(here)


@pytest.mark.parametrize("seal", [None, {}, {"key": "0" * 16, "mac": "0" * 64}, 3, {"mac": None}])
def test_what_somebody_else_has_kept_is_found_out_anew(here: installed.Installed, seal: object) -> None:
    path = Path(f"{here.folder}.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "calls": [59], "seal": seal}))
    with pytest.raises(Exception, match=r"entrypoint\.so|ELF"):  # scanned: it is none
        taken(here)
    assert standing_of(here) == "not installed by you"


@pytest.mark.parametrize("body", ["", "[]", "{", '{"calls": [59]}', "null", "\0"])
def test_a_damaged_record_gives_nothing(here: installed.Installed, body: str) -> None:
    Path(f"{here.folder}.json").write_text(body)
    with pytest.raises(Exception, match=r"entrypoint\.so|ELF"):
        taken(here)


def test_a_record_of_another_version_is_none_of_this_one(here: installed.Installed) -> None:
    other = here._replace(version="1.0.1")
    with pytest.raises(FileProblem, match="was changed"):
        known(other, read_package(here.folder))


def test_who_is_trusted_no_more_is_not_run(here: installed.Installed, tmp_path: Path) -> None:
    (tmp_path / ".ds" / "keys" / "trusted.json").write_text('{"version": 1, "keys": []}')
    with pytest.raises(FileProblem, match="t is signed by me, which you trust no more"):
        taken(here)


def test_a_key_that_is_none_is_told(here: installed.Installed, tmp_path: Path) -> None:
    Path(key_path({"HOME": str(tmp_path)})).write_bytes(b"short")
    with pytest.raises(FileProblem, match="is no key of 32 bytes"):
        taken(here)


def test_a_key_is_made_once(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert own_key(environ) is None
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(made_key(environ))) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(set(found)) == 1
    path = Path(key_path(environ))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["install.key"]
