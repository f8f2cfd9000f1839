"""An answer from the cache is the answer of a lint, byte for byte, or it is not given."""

from __future__ import annotations

import marshal
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dsec_cli.commands import cached, caching
from tests.cli.conftest import command

ROOT = Path(__file__).resolve().parents[2]
SMALL = (ROOT / "benchmarks" / "small.yaml").read_text()
WRONG = SMALL.replace("max_count: 4", "max_count: 9")
FORGED = b"this comes from the cache\n"
Ds = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def contract(tmp_path: Path) -> Path:
    return put(tmp_path / "dsandbox.yaml", WRONG)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the entries of this test go."""
    monkeypatch.setenv("DSEC_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lint"


def put(path: Path, text: str) -> Path:
    """Write a file and wait until it is old enough to be remembered."""
    path.write_text(text)
    while time.time_ns() < path.stat().st_ctime_ns + 2 * caching._SETTLED_NS:
        time.sleep(0.01)
    return path


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def forge(folder: Path) -> None:
    """Let every entry say that it is one, so that a test can tell where an answer comes from."""
    for path in entries(folder):
        key, until_s, program, files, states, _, code = marshal.loads(
            path.read_bytes()[len(cached.HEAD) + 64 :]
        )
        payload = cached.packed((key, until_s, program, files, states, FORGED, code))
        path.write_bytes(cached.HEAD + cached.sealed(payload).encode() + payload)


@pytest.mark.parametrize("words", [(), ("-q",), ("-f", "json"), ("--color", "always"), ("--exit-zero",)])
def test_the_second_answer_is_the_first(ds: Ds, contract: Path, folder: Path, words: tuple[str, ...]) -> None:
    first = ds("ds-contract-lint", *words, contract.name)
    again = ds("ds-contract-lint", *words, contract.name)
    assert (again.stdout, again.stderr, again.returncode) == (first.stdout, first.stderr, first.returncode)
    assert b"9" in first.stdout
    [entry] = entries(folder)
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    forge(folder)
    forged = ds("ds-contract-lint", *words, contract.name)
    assert (forged.stdout, forged.returncode) == (FORGED, first.returncode)


def test_both_programs_answer_from_the_cache(ds: Ds, contract: Path, folder: Path) -> None:
    ds("dsec", "lint", contract.name)
    forge(folder)
    assert ds("dsec", "lint", contract.name).stdout == FORGED


def test_a_path_that_is_called_lint_is_no_command(ds: Ds, contract: Path, folder: Path) -> None:
    (contract.parent / "lint").mkdir()
    put(contract.parent / "lint" / "dsandbox.yaml", SMALL)
    assert ds("dsec", "lint").returncode == 1
    assert ds("ds-contract-lint", "lint").returncode == 0
    assert ds("dsec", "lint", "lint").returncode == 0
    assert ds("ds-contract-lint").returncode == 1


def test_what_is_written_anew_is_read_anew(ds: Ds, contract: Path, folder: Path) -> None:
    before = ds("ds-contract-lint", contract.name)
    put(contract, SMALL)
    clean = ds("ds-contract-lint", contract.name)
    assert (before.returncode, clean.returncode) == (1, 0)
    put(contract, WRONG)
    assert ds("ds-contract-lint", contract.name).stdout == before.stdout


def test_a_file_of_the_same_time_and_size_is_another_one(ds: Ds, contract: Path, folder: Path) -> None:
    then = contract.stat().st_mtime_ns
    assert ds("ds-contract-lint", contract.name).returncode == 1
    contract.write_text(WRONG.replace("max_count: 9", "max_count: 4"))
    os.utime(contract, ns=(then, then))
    assert ds("ds-contract-lint", contract.name).returncode == 0


def test_a_configuration_that_appears_counts(ds: Ds, contract: Path, folder: Path) -> None:
    assert ds("ds-contract-lint", contract.name).returncode == 1
    put(contract.parent / ".dsec.toml", '[lint]\nignore = ["DS203"]\n')
    assert ds("ds-contract-lint", contract.name).returncode == 0
    (contract.parent / ".dsec.toml").unlink()
    assert ds("ds-contract-lint", contract.name).returncode == 1


def test_a_contract_that_appears_in_a_folder_counts(ds: Ds, contract: Path, folder: Path) -> None:
    ds("ds-contract-lint")
    put(contract.parent / "ds_config.yaml", "steps: [{}]\n")
    assert b"ds_config.yaml" in ds("ds-contract-lint").stdout


@pytest.mark.battery
def test_options_and_environment_are_part_of_the_question(ds: Ds, contract: Path, folder: Path) -> None:
    ds("ds-contract-lint", contract.name)
    forge(folder)
    assert ds("ds-contract-lint", "-q", contract.name).stdout != FORGED
    assert ds("ds-contract-lint", contract.name, COLUMNS="40").stdout != FORGED
    assert ds("ds-contract-lint", contract.name, FORCE_COLOR="1").stdout != FORGED
    assert ds("ds-contract-lint", contract.name, DSEC_LANG="zh").stdout != FORGED
    assert ds("ds-contract-lint", contract.name).stdout == FORGED


@pytest.mark.battery
def test_an_inventory_is_read_anew(ds: Ds, contract: Path, folder: Path) -> None:
    path = contract.parent / "inventory.json"
    ds("dsec", "inventory", "--json", "--output", str(path))
    if not path.exists():
        path.write_bytes(ds("dsec", "inventory", "--json").stdout)
    put(path, path.read_text())
    words = ("--inventory", path.name, contract.name)
    first = ds("ds-contract-lint", *words)
    forge(folder)
    assert ds("ds-contract-lint", *words).stdout == FORGED
    put(path, path.read_text() + "\n")
    assert ds("ds-contract-lint", *words).stdout == first.stdout


@pytest.mark.parametrize("words", [("--no-cache",), ("-o", "out.txt"), ("--profile-rules",)])
def test_what_does_more_than_show_is_not_remembered(
    ds: Ds, contract: Path, folder: Path, words: tuple[str, ...]
) -> None:
    ds("ds-contract-lint", *words, contract.name)
    assert entries(folder) == []


def test_standard_input_is_not_remembered(ds: Ds, folder: Path) -> None:
    assert ds("ds-contract-lint", "-", stdin=SMALL.encode()).returncode == 0
    assert entries(folder) == []


def test_a_missing_file_is_not_remembered(ds: Ds, contract: Path, folder: Path) -> None:
    assert ds("ds-contract-lint", contract.name, "absent.yaml").returncode == 3
    assert entries(folder) == []


def test_a_file_that_has_only_just_changed_is_not_remembered(folder: Path, contract: Path) -> None:
    ticket = cached.Ticket(str(folder), "key")
    ticket.opened.add(str(contract))
    assert caching.keep(ticket, b"x", 0)
    ticket.began_ns = contract.stat().st_ctime_ns
    assert not caching.keep(ticket, b"x", 0)


@pytest.mark.battery
def test_damaged_entries_are_misses(ds: Ds, contract: Path, folder: Path) -> None:
    first = ds("ds-contract-lint", contract.name)
    [entry] = entries(folder)
    whole = entry.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], whole[:-3] + b"~~~", b"newer\n" + whole, b"\0" * 5000):
        entry.write_bytes(damaged)
        again = ds("ds-contract-lint", contract.name)
        assert (again.stdout, again.stderr, again.returncode) == (first.stdout, b"", 1)
        assert entry.read_bytes() == whole


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.battery)])
def test_any_damage_is_noticed(folder: Path, every: int) -> None:
    ticket = cached.Ticket(str(folder), "key")
    assert caching.keep(ticket, b"said", 1)
    path = Path(ticket.path)
    whole = path.read_bytes()
    assert cached._entry(ticket) == (b"said", 1)
    middle = range(300, len(whole) - 300)
    ends = (*range(0, 300, every), *range(len(whole) - 300, len(whole), every))
    for at in (*ends, *middle[:: 41 * every]):
        path.write_bytes(whole[:at] + bytes((whole[at] ^ 1,)) + whole[at + 1 :])
        assert cached._entry(ticket) is None
        path.write_bytes(whole[:at])
        assert cached._entry(ticket) is None


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_is_not_used(ds: Ds, contract: Path, folder: Path, mode: int) -> None:
    first = ds("ds-contract-lint", contract.name)
    forge(folder)
    folder.chmod(mode)
    assert ds("ds-contract-lint", contract.name).stdout == first.stdout


def test_an_entry_that_others_can_write_or_a_link_is_not_used(ds: Ds, contract: Path, folder: Path) -> None:
    first = ds("ds-contract-lint", contract.name)
    forge(folder)
    [entry] = entries(folder)
    entry.chmod(0o666)
    assert ds("ds-contract-lint", contract.name).stdout == first.stdout
    forge(folder)
    entry.rename(contract.parent / "elsewhere")
    entry.symlink_to(contract.parent / "elsewhere")
    assert ds("ds-contract-lint", contract.name).stdout == first.stdout


@pytest.mark.parametrize("place", ["/dev/null/x", "/proc/nowhere", "dsandbox.yaml"])
def test_no_place_for_entries_is_no_trouble(ds: Ds, contract: Path, place: str) -> None:
    done = ds("ds-contract-lint", contract.name, DSEC_CACHE_DIR=place)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_answer_expires(folder: Path) -> None:
    ticket = cached.Ticket(str(folder), "key")
    now_s = ticket.began_ns // 10**9
    assert caching.keep(ticket, b"x", 0, until_s=now_s + 100)
    assert cached._entry(ticket) == (b"x", 0)
    assert caching.keep(ticket, b"x", 0, until_s=now_s - 1)
    assert cached._entry(ticket) is None
    assert caching.keep(ticket, b"x", 0, until_s=now_s + 100 + cached.DAY_S)  # the clock was set back
    assert cached._entry(ticket) is None
    assert 0 < caching.midnight_s(ticket.began_ns) - now_s <= cached.DAY_S
    assert caching.midnight_s(cached.DAY_S * 10**9) == 2 * cached.DAY_S


def test_names_that_were_tried_count(folder: Path, tmp_path: Path) -> None:
    ticket = cached.Ticket(str(folder), "key")
    assert caching.keep(ticket, b"x", 0, tried=[str(tmp_path / "absent")])
    assert cached._entry(ticket) == (b"x", 0)
    (tmp_path / "absent").touch()
    assert cached._entry(ticket) is None


@pytest.mark.battery
def test_files_of_the_program_count(contract: Path, folder: Path, tmp_path: Path) -> None:
    """A copy of the program whose rule is edited, or which is given another rule, answers anew."""
    copy = tmp_path / "copy"
    for source, name in ((ROOT / "dsec_cli", "dsec_cli"), (ROOT / "runtime" / "dsec", "dsec")):
        shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    rules = copy / "dsec_cli" / "lint" / "rules"
    program = f"import sys; sys.path.insert(0, {str(copy)!r}); sys.argv[0] = 'ds-contract-lint'; "
    program += "from dsec_cli.fast import contract_lint; sys.exit(contract_lint())"
    words = [sys.executable, "-B", "-c", program, contract.name]  # byte code in its folders would count, too

    def said() -> bytes:
        return subprocess.run(words, cwd=contract.parent, capture_output=True, check=False).stdout

    rule = rules / "elasticity_too_wide.py"
    text = rule.read_text()
    put(rule, text.replace("Severity.WARNING", "Severity.ERROR"))
    assert b"error[DS203]" in said()
    put(rule, text)
    first = said()
    assert b"warning[DS203]" in first
    [entry] = entries(folder)
    program_files = marshal.loads(entry.read_bytes()[len(cached.HEAD) + 64 :])[2][0]
    assert str(rules) in program_files
    assert {str(ROOT)}.isdisjoint(path[: len(str(ROOT))] for path in program_files)
    forge(folder)
    assert said() == FORGED
    put(rules / "another.py", "")
    assert said() == first
    forge(folder)
    (rules / "another.py").unlink()
    assert said() == first


@pytest.mark.battery
def test_the_folder_stays_within_bounds(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "MOST_ENTRIES", 5)
    keys = [str(number) * cached.DIGEST for number in range(9)]
    for number, key in enumerate(keys):
        assert caching.keep(cached.Ticket(str(folder), key), b"x", 0)
        os.utime(folder / key, (number, number))
    (folder / "notes").mkdir()
    (folder / "dsandbox.yaml").write_text("mine")
    os.utime(folder / "dsandbox.yaml", (0, 0))
    caching.clear(str(folder))
    assert [path.name for path in entries(folder)] == [*keys[4:], "dsandbox.yaml", "notes"]


def test_many_at_once_give_one_answer(contract: Path, folder: Path) -> None:
    line = command("ds-contract-lint", contract.name)
    running = [subprocess.Popen(line, stdout=subprocess.PIPE, cwd=contract.parent) for _ in range(6)]
    said = {(one.communicate(timeout=60)[0], one.returncode) for one in running}
    assert len(said) == 1
    assert len(entries(folder)) == 1


def test_a_reader_that_goes_away_is_the_same_news_as_ever(ds: Ds, contract: Path, folder: Path) -> None:
    ds("ds-contract-lint", contract.name)
    forge(folder)
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("ds-contract-lint", contract.name),
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=contract.parent,
            check=False,
        )
    assert done.returncode == 3
    assert b"No space left" in done.stderr
