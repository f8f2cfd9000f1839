"""Secrets planted wherever people leave them: none of them anywhere in what is written."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dsec.store import Store
from dsec_cli.snapshot.diff import compare
from dsec_cli.snapshot.drift import drift
from dsec_cli.snapshot.redaction import Found, Redactor
from dsec_cli.snapshot.restoring import restore
from dsec_cli.snapshot.scanned import Scanned
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.shelf import View
from dsec_cli.snapshot.views import diffjson
from dsec_cli.snapshot.views.creating import document as created
from dsec_cli.snapshot.views.inspecting import document

from .kit import all_bytes, git, repository, scene, take, write

REMOTE = "ghp_aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2"
EDITED = "sk-proj-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe"
HIDDEN = "9f8b2c4d7e6a1f0b3c5d-variable"
ALLOWED = "hf_QwErTyUiOpAsDfGhJkLzXcVbNm12345678"
ARGV = "argv-7Kq9mW2vB4nZ8pLt5"
PROXY = "pr0xy-passw0rd"
DOTENV = "the words of a .env file"
NESTED = "AKIA3EXAMPLE7QWERTY2"
PEM = "MIIEowIBAAKCAQEAplanted"
SECRETS = (REMOTE, EDITED, HIDDEN, ALLOWED, ARGV, PROXY, DOTENV, PEM)

CODE = f'import openai\n\nclient = openai.Client(api_key="{EDITED}")\nlr = 0.1\n'


def planted(tmp_path: Path) -> Path:
    folder = repository(tmp_path / "p", {"train.py": "import openai\nlr = 0.1\n", "x.yaml": "a: 1\n"})
    git(folder, "remote", "add", "origin", f"https://{REMOTE}@github.com/a/b.git")
    git(folder, "remote", "add", "mirror", f"https://joe:{PROXY}@mirror/a/b.git")
    write(
        folder,
        {
            "train.py": CODE,
            ".env": f"NOTE={DOTENV}\nDEBUG=true\n",
            "x.yaml": f"run: python train.py --api-key {ARGV}\nproxy: http://joe:{PROXY}@proxy:3128\n",
            "tls/server.pem": f"-----BEGIN PRIVATE KEY-----\n{PEM}\n-----END PRIVATE KEY-----\n",
            "key.py": f'KEY = """-----BEGIN PRIVATE KEY-----\n{PEM}\n-----END PRIVATE KEY-----\n"""\n',
        },
    )
    return folder


def test_none_is_anywhere(tmp_path: Path, store: Store, state: Path) -> None:
    folder = planted(tmp_path)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MY_SERVICE": HIDDEN,
        "HF_HOME": f"/x/{ALLOWED}",
        "https_proxy": f"http://joe:{PROXY}@proxy:3128",
        "CUDA_HOME": "/usr/local/cuda",
        f"ODD-{REMOTE}": "1",
    }
    argv = ("/usr/bin/dsec", "run", "--api-key", ARGV, f"--proxy=http://joe:{PROXY}@h:1")
    found = scene(folder, store, state, environ=environ, argv=argv)
    one = take(found, "one")
    write(folder, {"train.py": CODE.replace("0.1", "0.2")})
    two = take(scene(folder, store, state, environ={**environ, "MY_SERVICE": "other"}, argv=argv), "two")
    differences = compare(one, two)
    texts = [
        str(document(one, 10)),
        str(created(one, found.redactions)),
        diffjson.render(differences, one.manifest, two.manifest, live=False),
    ]
    store.close()
    for where, data in [*all_bytes(state), *((f"text {at}", text.encode()) for at, text in enumerate(texts))]:
        for secret in SECRETS:
            assert secret.encode() not in data, f"{secret} in {where}"
    assert b"/usr/local/cuda" in b"".join(data for _, data in all_bytes(state))  # what is harmless is there
    assert {kind.kind for _, kind in found.redactions}
    assert [one.subject for one in differences if one.section == "code"] == ["train.py"]
    assert any(one.subject == "MY_SERVICE" for one in differences)


def test_the_search_would_find_one(tmp_path: Path, store: Store, state: Path) -> None:
    folder = planted(tmp_path)
    found = scene(folder, store, state)
    digest = found.redactor.digest(EDITED.encode())
    found.redactor = type(found.redactor)(b"k" * 32, [digest])
    take(found, "one")
    store.close()
    assert any(EDITED.encode() in data for _, data in all_bytes(state))


def test_restoring_here_brings_them_back_and_elsewhere_names_them(
    tmp_path: Path, store: Store, state: Path
) -> None:
    folder = planted(tmp_path)
    found = scene(folder, store, state)
    view = take(found, "one")
    here = restore(view, str(tmp_path / "here"), live=str(folder), redactor=found.redactor)
    assert set(here.filled) == {"train.py", ".env", "x.yaml", "key.py"}
    assert here.missing == ()
    assert here.withheld == ("tls/server.pem",)
    assert (tmp_path / "here" / "train.py").read_text() == CODE
    there = restore(view, str(tmp_path / "there"), live=str(tmp_path / "nowhere"), redactor=found.redactor)
    assert ("train.py", 3) in there.missing
    assert EDITED not in (tmp_path / "there" / "train.py").read_text()
    assert "lr = 0.1" in (tmp_path / "there" / "train.py").read_text()


def remembered(state: Path) -> dict[str, Any]:
    head, clean = (state / "cache" / "scanned.json").read_text().split("\n")
    found: dict[str, Any] = json.loads(head)
    return found | {"clean": json.loads(clean)}


@pytest.fixture
def aged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose files were written long ago, one of them with a secret."""
    later = time.time_ns() + 10_000_000_000
    monkeypatch.setattr("time.time_ns", lambda: later)
    return repository(tmp_path / "p", {"a.py": "x = 1\n", "b.py": f'k = "{EDITED}"\n'})


def unread(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on, names of the files that are looked at for secrets."""
    names: list[str] = []
    real = Redactor.file

    def spied(self: Redactor, data: bytes, name: str) -> tuple[bytes, tuple[Found, ...]]:
        names.append(name)
        return real(self, data, name)

    monkeypatch.setattr(Redactor, "file", spied)
    return names


def told(view: View) -> list[tuple[str, str]]:
    return [(one["path"], one["digest"]) for one in view.side("code").data["redacted"]]


def test_what_is_fresh_may_change_within_its_tick(tmp_path: Path, store: Store, state: Path) -> None:
    folder = repository(tmp_path / "p", {"a.py": "x = 1\n", "b.py": f'k = "{EDITED}"\n'})
    take(scene(folder, store, state), "now")
    known = remembered(state)
    assert (known["clean"], known["held"], known["redacted"]) == ({}, {}, ["", "", 0])


def test_an_unchanged_file_is_not_read_again(
    aged: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = take(scene(aged, store, state), "one")
    names = unread(monkeypatch)
    two = take(scene(aged, store, state), "two")
    assert names == []
    assert told(one) == told(two) == [("b.py", Redactor(b"k" * 32).digest(EDITED.encode()))]
    assert one.manifest.id == two.manifest.id
    assert EDITED not in json.dumps(remembered(state))


def test_a_file_that_changed_is_read_again_and_those_with_secrets_with_it(
    aged: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(scene(aged, store, state), "one")
    names = unread(monkeypatch)
    write(aged, {"a.py": f'key = "{REMOTE}"\n'})
    two = take(scene(aged, store, state), "two")
    assert names == ["a.py", "b.py"]
    assert [path for path, _ in told(two)] == ["a.py", "b.py"]


def test_a_memory_that_is_torn_is_none(aged: Path, store: Store, state: Path) -> None:
    one = take(scene(aged, store, state), "one")
    known = (state / "cache" / "scanned.json").read_text()
    head, clean = known.split("\n")
    broken = head.replace('"held":{', '"held":{"x":3,')
    wrong = (known[: len(known) // 2], head, f"{head}\n[1]", "[]", "{}", "", f"{broken}\n{clean}")
    for number, torn in enumerate(wrong):
        (state / "cache" / "scanned.json").write_text(torn)
        assert told(take(scene(aged, store, state), f"n{number}")) == told(one)


def test_other_keys_and_other_exceptions_are_not_answered_from_memory(
    aged: Path, store: Store, state: Path
) -> None:
    one = take(scene(aged, store, state), "one")
    other = take(scene(aged, store, state, redactor=Redactor(b"o" * 32)), "other")
    assert told(other) == [("b.py", Redactor(b"o" * 32).digest(EDITED.encode()))]
    digest = Redactor(b"k" * 32).digest(EDITED.encode())
    accepted = take(scene(aged, store, state, redactor=Redactor(b"k" * 32, (digest,))), "accepted")
    assert told(accepted) == []
    assert told(take(scene(aged, store, state), "again")) == told(one)


def test_a_tree_without_secrets_that_was_pruned_is_made_again(
    aged: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = take(scene(aged, store, state), "one")
    store.delete_record("one")
    store.prune()
    names = unread(monkeypatch)
    two = take(scene(aged, store, state), "two")
    assert names == ["b.py"]
    assert told(two) == told(one)
    assert not store.verify().damage


def test_what_is_wanted_without_code_has_no_code(tmp_path: Path, store: Store, state: Path) -> None:
    folder = planted(tmp_path)
    view = take(scene(folder, store, state, wanted=Wanted(code=False)), "one")
    assert view.side("code").status == "absent"
    store.close()
    assert not any(b"openai" in data for _, data in all_bytes(state))


def test_another_users_digests_are_no_difference(tmp_path: Path, store: Store, state: Path) -> None:
    folder = planted(tmp_path)
    one = take(scene(folder, store, state), "mine")
    two = take(scene(folder, store, state, redactor=Redactor(b"o" * 32)), "yours")
    found = [each for each in compare(one, two) if each.section == "code"]
    assert {each.subject for each in found} == {"train.py", ".env", "x.yaml", "key.py"}
    assert {each.kind for each in found} == {"unknown"}
    assert drift(compare(one, two)).stops == ()
    write(folder, {"train.py": CODE.replace("0.1", "0.2")})
    three = take(scene(folder, store, state, redactor=Redactor(b"o" * 32)), "changed")
    (changed,) = [each for each in compare(one, three) if each.section == "code" and each.kind == "changed"]
    lines = [text for hunk in changed.hunks for sign, text in hunk.lines if sign != " "]
    assert lines == ["lr = 0.1", "lr = 0.2"]


def test_a_file_that_became_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.symlink("/etc/passwd", tmp_path / "link")
    found = Scanned(str(tmp_path / "none.json"), os.fsencode(tmp_path), Redactor(b"k" * 32))
    assert found.secrets(b"pipe") is None
    assert found.secrets(b"link") is None
    assert found.unread == [b"link"]


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Have something happen once, between the search for secrets and the taking in of the files."""
    put, todo = Store.put_tree, [act]

    def putting(self: Store, *args: Any, **more: Any) -> Any:
        while todo:
            todo.pop()()
        return put(self, *args, **more)

    monkeypatch.setattr(Store, "put_tree", putting)


@pytest.mark.battery
@pytest.mark.parametrize("size", [0, 3 << 20])
def test_a_secret_that_was_written_after_the_search_is_not_taken_in(
    size: int, tmp_path: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "p", {"train.py": "1\n", "log.txt": "x" * size, "b.py": "1\n"})
    text = f"OPENAI_API_KEY={EDITED}\n" + "x" * size
    meanwhile(monkeypatch, lambda: (folder / "log.txt").write_text(text))
    view = take(scene(folder, store, state), "one")
    (said,) = view.side("code").data["redacted"]
    assert (said["path"], said["line"]) == ("log.txt", 1)
    assert view.side("code").data["files"] == 3
    store.close()
    assert not any(EDITED.encode() in data for _, data in all_bytes(state))
    assert (folder / "log.txt").read_text() == text


def test_what_changed_after_the_search_is_there_as_it_is_now(
    tmp_path: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(
        tmp_path / "p", {"train.py": "1\n", "log.txt": "a\n", "gone.txt": "b\n", "link.txt": "c\n"}
    )

    def act() -> None:
        (folder / "log.txt").write_text("a\nlonger\n")
        (folder / "gone.txt").unlink()
        (folder / "link.txt").unlink()
        (folder / "link.txt").symlink_to("/etc/passwd")

    meanwhile(monkeypatch, act)
    view = take(scene(folder, store, state), "one")
    side = view.side("code")
    assert side.data["files"] == 2
    assert "gone.txt: vanished" in side.reason
    assert "link.txt: " in side.reason
    assert "log.txt" not in side.reason
    restore(view, str(tmp_path / "out"), live=str(tmp_path / "nowhere"), redactor=Redactor(b"k" * 32))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["log.txt", "train.py"]
    assert (tmp_path / "out" / "log.txt").read_text() == "a\nlonger\n"


def test_a_folder_that_became_a_link_is_not_followed(
    tmp_path: Path, store: Store, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "p", {"train.py": "1\n", "src/a.py": "2\n"})
    write(tmp_path / "else", {"a.py": "not of this project\n"})

    def act() -> None:
        (folder / "src").rename(folder / "old")
        (folder / "src").symlink_to(tmp_path / "else")

    meanwhile(monkeypatch, act)
    view = take(scene(folder, store, state), "one")
    assert view.side("code").data["files"] == 1
    store.close()
    assert not any(b"not of this project" in data for _, data in all_bytes(state))
