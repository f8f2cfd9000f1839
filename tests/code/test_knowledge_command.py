"""`dsec knowledge` as a user meets it, with files of their own, good and hostile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dsec.errors import FileProblem
from dsec_cli.code.knowledge import lookup, parse
from dsec_cli.commands import knowing
from dsec_cli.commands.knowing import read_knowledge, shipped

ROOT = Path(__file__).resolve().parents[2]
MINE: dict[str, object] = {
    "name": "shop.Cart",
    "kind": "tool",
    "framework": "plain",
    "imports": ["shop.Cart"],
    "function": "Orders things from our shop.",
    "egress": ["shop.example.com:443"],
    "env": [],
    "files": [],
    "subprocess": None,
    "executes": False,
}
Ds = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "home/.ds").mkdir(parents=True)
    (tmp_path / "work/.dsec").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def ds(home: Path) -> Ds:
    source = (
        f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime')]!r}; sys.argv[0] = 'dsec'; "
        "from dsec_cli.fast import dsec as main; sys.exit(main())"
    )

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", source, "knowledge", *words],
            cwd=home / "work",
            env=os.environ | {"COLUMNS": "80"},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    return run


def write(path: Path, *entries: dict[str, object]) -> None:
    path.write_text(json.dumps({"version": 1, "entries": entries}))


def test_one_entry_fits_eighty_columns(ds: Ds) -> None:
    ran = ds("huggingface_hub")
    assert ran.returncode == 0
    assert ran.stdout.startswith("huggingface_hub (client, plain)\n")
    assert "calls       huggingface.co:443\n" in ran.stdout
    assert "variables   HF_TOKEN (secret)\n" in ran.stdout
    long = [line for line in ran.stdout.splitlines() if len(line) > 80 and "https://" not in line]
    assert long == []


def test_a_list_fits_eighty_columns(ds: Ds) -> None:
    ran = ds("arxiv")  # an exact name goes before a search
    assert ran.stdout.startswith("arxiv (client, plain)\n")
    ran = ds("OPENAI_API_KEY")
    assert ran.returncode == 0
    assert "openai\n    Client of the OpenAI API.\n" in ran.stdout
    assert ran.stdout.splitlines()[-1].endswith(" entries; dsec knowledge NAME shows one")
    assert [line for line in ran.stdout.splitlines() if len(line) > 80] == []


def test_nothing_found_is_a_no(ds: Ds) -> None:
    ran = ds("no such thing \x1b[31m")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "nothing is known of 'no such thing <U+001B>[31m'\n"
    assert ds("").returncode == 2
    assert ds("no such thing", "--json").stdout == '{\n  "version": 1,\n  "entries": []\n}\n'


def test_json_is_a_knowledge_file(ds: Ds) -> None:
    ran = ds("--json")
    assert ran.returncode == 0
    assert parse(ran.stdout) == shipped()
    one = ds("openai.OpenAI.chat", "--json")
    assert [entry.name for entry in parse(one.stdout).entries] == ["openai"]


def test_own_entries_are_merged_and_win(ds: Ds, home: Path) -> None:
    write(home / "home/.ds/knowledge.json", MINE, {**MINE, "name": "openai", "imports": ["openai"]})
    ran = ds("shop.Cart.order")
    assert ran.returncode == 0
    assert "programs    not known\n" in ran.stdout
    write(home / "work/.dsec/knowledge.json", {**MINE, "function": "Orders things from the project."})
    assert "from the project" in ds("shop.Cart").stdout
    known = read_knowledge(str(home / "work"))
    assert len(known.entries) == len(shipped().entries) + 1
    assert [entry.function for entry in known.entries if entry.name == "openai"] == [MINE["function"]]
    chat = lookup(known, "openai.OpenAI.chat")
    assert chat is not None
    assert chat.hosts == ("shop.example.com:443",)


HOSTILE = [
    b"", b"\xff\xfe", b"{", b"[]", b"\x00" * 100, b'{"version": 9, "entries": []}', b"[" * 200_000,
    b'{"version": 1, "entries": [{"name": "\\ud800"}]}',
    b'{"version": 1, "entries": [{"name": "\\u001b[2J"}]}',
    json.dumps({"version": 1, "entries": [{**MINE, "function": "\u202eevil"}]}).encode(),
]  # fmt: skip


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_file_is_one_line(ds: Ds, home: Path, content: bytes) -> None:
    (home / "work/.dsec/knowledge.json").write_bytes(content)
    ran = ds("openai")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.startswith("dsec: error: .dsec/knowledge.json")
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.rstrip("\n").isprintable()


@pytest.mark.battery
def test_what_is_no_file_is_not_read(home: Path) -> None:
    path = home / "work/.dsec/knowledge.json"
    os.mkfifo(path)
    with pytest.raises(FileProblem, match="is no file"):
        read_knowledge(str(home / "work"))
    path.unlink()
    path.symlink_to(home / "nowhere")
    with pytest.raises(FileProblem, match="could not be read: No such file"):
        read_knowledge(str(home / "work"))
    path.unlink()
    path.mkdir()
    with pytest.raises(FileProblem, match="is no file"):
        read_knowledge(str(home / "work"))


def test_a_huge_file_is_not_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(home / "work/.dsec/knowledge.json", MINE)
    monkeypatch.setattr(knowing, "MOST_BYTES", 100)
    with pytest.raises(FileProblem, match="is larger than"):
        knowing._read(str(home / "work/.dsec/knowledge.json"))


def test_a_mark_of_byte_order_is_overlooked(home: Path) -> None:
    path = home / "work/.dsec/knowledge.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"version": 1, "entries": [MINE]}).encode())
    assert lookup(read_knowledge(str(home / "work")), "shop.Cart") is not None
