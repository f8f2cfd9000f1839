"""`--resolve` by uv: what its words mean, and what a uv may do to us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.commands import child, uv_resolver
from dsec_cli.commands.indexing import PipSettings, pip_settings
from dsec_cli.exit import Terminated, guarded
from dsec_cli.fast import run
from dsec_cli.packages.conflicts import Entry
from dsec_cli.packages.derivation import MOST_KEPT, read
from dsec_cli.packages.derived_conflict import conflict_of

ROOT = Path(__file__).resolve().parents[2]
NEW = "error: No solution found when resolving dependencies\n  cause: "
OLD = "  × No solution found when resolving dependencies:\n  ╰─▶ "
CONFLICT = (
    "Because trl==0.9.6 depends on transformers>=4.31.0 and you require trl==0.9.6, we can conclude that you "
    "require transformers>=4.31.0.\n         And because you require transformers==4.20.1, we can conclude "
    "that your requirements are unsatisfiable.\n"
)
WRAPPED = (
    "Because trl==0.9.6 depends on transformers>=4.31.0 and you require\n      trl==0.9.6, we can "
    "conclude that "
    "you require transformers>=4.31.0.\n      And because you require transformers==4.20.1, we can conclude\n"
    "      that your requirements are unsatisfiable.\n"
)
NOTHING = PipSettings("", (), (), (), no_index=False, certificates="")


def entries(*texts: str) -> tuple[Entry, ...]:
    parted = [text.partition(" ") for text in texts]
    return tuple(
        Entry(name, wanted, path=("dependencies", at)) for at, (name, _, wanted) in enumerate(parted)
    )


def words(said: str, *texts: str, python: str = "") -> tuple[str, str]:
    """Both chains of the conflict in uv's words."""
    found = conflict_of(read(said), entries(*texts), python, source="uv", releases=lambda _: None)
    assert found is not None
    return found.one.words, found.other.words


@pytest.mark.parametrize("said", [NEW + CONFLICT, OLD + WRAPPED, CONFLICT, f"\x1b[1m{NEW}\x1b[0m{CONFLICT}"])
def test_two_packages_and_their_ranges(said: str) -> None:
    assert words(said, "trl ==0.9.6", "transformers ==4.20.1") == (
        "contract -> trl 0.9.6 -> transformers >=4.31.0",
        "contract -> transformers ==4.20.1",
    )


@pytest.mark.parametrize(
    ("said", "texts", "python", "one", "other"),
    [
        (
            "Because only the following versions of vllm are available:\n    vllm<=0.6.0\n    "
            "vllm==0.6.3\n and "
            "vllm>=0.6.0,<=0.6.3 depends on torch==2.4.0, we can conclude that vllm>=0.6.0,<0.6.4 depends on "
            "torch==2.4.0.\nAnd because you require vllm>=0.6,<0.6.4 and torch>=2.5.1, we can "
            "conclude that your "
            "requirements are unsatisfiable.",
            ("vllm >=0.6,<0.6.4", "torch >=2.5.1"),
            "",
            "contract -> vllm >=0.6,<0.6.4 -> torch ==2.4.0",
            "contract -> torch >=2.5.1",
        ),
        (
            "Because a==1 depends on b>=2 and b>=2 depends on one of:\n    c<1\n    c>=5\n, we can "
            "conclude that a==1 "
            "cannot be used. And because you require a==1 and c==3, we can conclude that your requirements "
            "are unsatisfiable.",
            ("c ==3", "a ==1"),
            "",
            "contract -> c ==3",
            "contract -> a 1 -> b >=2 -> c <1 or >=5",
        ),
        (
            "Because the requested Python version (>=3.12) does not satisfy Python>=3.8,<3.12 and "
            "all versions of "
            "old depend on Python>=3.8,<3.12, we can conclude that all versions of old cannot be "
            "used. And because "
            "you require old, we can conclude that your requirements are unsatisfiable.",
            ("old",),
            "==3.12.*",
            "contract -> old -> python >=3.8,<3.12",
            "environment -> python 3.12",
        ),
        (
            "Because gone was not found in the package registry and a==1 depends on gone, we can "
            "conclude that a==1 "
            "cannot be used. And because you require a==1, we can conclude that your requirements are "
            "unsatisfiable.",
            ("a ==1",),
            "",
            "contract -> a 1 -> gone",
            "index -> no gone that can be used",
        ),
        (
            "Because aaa>=2.0 depends on bbb>=3 and bbb<3, we can conclude that aaa>=2.0 cannot be used. And "
            "because you require aaa==2.0, we can conclude that your requirements are unsatisfiable.",
            ("aaa ==2.0",),
            "",
            "contract -> aaa 2.0 -> bbb >=3,<3",
            "index -> no bbb >=3,<3 that can be used",
        ),
        (
            "Because you require flash-\n  attn==2.6.3 and torch<2 and flash-attn==2.6.3 depends on "
            "torch>=2.1, we "
            "can conclude that your requirements are unsatisfiable.",
            ("torch <2", "flash-attn ==2.6.3"),
            "",
            "contract -> torch <2",
            "contract -> flash-attn 2.6.3 -> torch >=2.1",
        ),
        (
            "Because you require Foo_Bar[x]==1 and foo.bar==2, we can conclude that your requirements are "
            "unsatisfiable.",
            ("foo-bar ==1", "foo-bar ==2"),
            "",
            "contract -> foo-bar ==1",
            "contract -> foo-bar ==2",
        ),
    ],
)
def test_clauses_of_many_forms(said: str, texts: tuple[str, ...], python: str, one: str, other: str) -> None:
    assert words(NEW + said, *texts, python=python) == (one, other)


def test_of_a_part_of_the_releases_nothing_is_claimed() -> None:
    """a>=1 allows 2, which needs another b: that the two cannot go together is not said by these words."""
    said = (
        "Because a==1 depends on b<2 and a==2 depends on c<2, we can conclude that all versions of a "
        "cannot be "
        "used. And because you require a>=1 and b==3 and c==3, we can conclude that your requirements are "
        "unsatisfiable."
    )
    found = conflict_of(
        read(said), entries("a >=1", "b ==3", "c ==3"), "", source="uv", releases=lambda _: ("1", "2")
    )
    assert found is not None
    assert found.why == "a >=1, b ==3, c ==3 have no versions that go together"


def test_a_list_behind_another_package_is_read() -> None:
    found = read(NEW + "Because you require cc>=3 and one of: bb<2.0 bb>2.0 we can conclude that x")
    assert found.required == ("cc", "bb")
    needed = read("a==1 depends on b>=1 and one of: c<1 c>2 we").needed
    assert {(need.on, need.texts) for need in needed} == {("b", (">=1",)), ("c", ("<1", ">2"))}


def test_what_uv_could_not_look_at_is_no_conflict() -> None:
    assert read("Because trl was not found in the cache and you require trl").unsure
    assert read("No solution found\nhint: An index URL could not be queried due to (401 Unauthorized)").unsure
    assert not read(NEW + CONFLICT).unsure


@given(st.text(alphabet=st.sampled_from("ab \n,.>=<12-[]`:you require depends on one of and"), max_size=300))
def test_any_words_give_a_derivation(said: str) -> None:
    found = read(said)
    conflict_of(found, entries("a ==1", "b"), "==3.11.*", source="uv", releases=lambda _: None)


def test_endless_words_are_cut() -> None:
    said = NEW + "Because a==1 depends on b and " * 100_000
    found = read(said)
    assert len(found.words) <= MOST_KEPT + 3
    assert len(found.needed) < 10_000
    conflict_of(found, entries("a ==1", "b"), "", source="uv", releases=lambda _: None)


def test_passwords_are_in_no_text_and_not_in_the_command_line() -> None:
    environ = {
        "PIP_EXTRA_INDEX_URL": "https://me:s3cret%21@two.example/simple?key=abcdefgh",
        "UV_INDEX_CORP_PASSWORD": "hunter22",
        "UV_DEFAULT_INDEX": "https://tok_1234567@one.example/simple",
    }
    pip = pip_settings({**environ, "PIP_CONFIG_FILE": os.devnull})
    env = uv_resolver.environment(environ, pip, "")
    hidden = uv_resolver.secrets(env)
    said = (
        "Failed to fetch https://me:s3cret%21@two.example/simple/a?key=abcdefgh with s3cret! hunter22 "
        "https://tok_1234567@one.example https://other:secret@three.example/x?y=z \x1b]0;x\x07 "
        "https://dl.four.example/aB3dE5fG7hJ9kL1m/org/python/simple/trl/"
    )
    text = uv_resolver.cleaned(said, hidden)
    assert not [
        one
        for one in ("s3cret", "abcdefgh", "hunter22", "tok_1234567", "other:secret", "y=z", "aB3dE5f")
        if one in text
    ]
    assert "two.example/simple/a" in text
    assert text.isprintable()
    assert not [one for one in uv_resolver.options(pip, wanted="3.11", machine="x86_64") if "://" in one]


def test_pips_settings_reach_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wheels").mkdir()
    environ = {
        "PIP_EXTRA_INDEX_URL": "https://two.example/simple file:///nowhere/simple",
        "PIP_FIND_LINKS": "wheels /nowhere",
        "PIP_CONSTRAINT": "limits.txt",
        "UV_CONSTRAINT": "more.txt",
        "UV_PYTHON": "3.8",
        "RUST_LOG": "trace",
        "PIP_CONFIG_FILE": os.devnull,
    }
    pip = pip_settings(environ)
    env = uv_resolver.environment(environ, pip, "https://one.example/simple")
    assert env["UV_DEFAULT_INDEX"] == "https://one.example/simple"
    assert env["UV_INDEX"] == "https://two.example/simple"
    assert env["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert env["UV_FIND_LINKS"] == str(tmp_path / "wheels")
    assert env["UV_CONSTRAINT"] == str(tmp_path / "more.txt")
    assert {"UV_PYTHON", "RUST_LOG"}.isdisjoint(env)
    given = uv_resolver.options(pip, wanted="3.12", machine="aarch64")
    assert given[given.index("-c") + 1] == str(tmp_path / "limits.txt")
    assert given[given.index("--python-version") + 1] == "3.12"
    assert given[given.index("--python-platform") + 1] == "aarch64-manylinux_2_40"
    assert "--no-build" in given


def test_uv_in_a_folder_that_is_not_absolute_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(uv_resolver, "_active", list)
    fake(tmp_path, "exit 0")
    assert uv_resolver.found({"PATH": ".::bin"}) == ""
    assert uv_resolver.found({"PATH": str(tmp_path)}) == str(tmp_path / "uv")


def fake(folder: Path, script: str, version: str = "uv 0.9.9") -> None:
    """A `uv` that says its version, and then runs `script`."""
    path = folder / "uv"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit 0\n{script}\n')
    path.chmod(0o755)


def contract(folder: Path, **texts: str) -> None:
    body = "".join(f'  - package: {name}\n    version: "{text}"\n' for name, text in texts.items())
    (folder / "agent-train-sandbox.yaml").write_text(f"base: registry.example/x:1.0.0\ndependencies:\n{body}")


class Ran(NamedTuple):
    """A command that was run in this process."""

    returncode: int
    stdout: str
    stderr: str


Ask = Callable[..., Ran]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Ask:
    """`ask(script, "--json")`: with that uv on the PATH, and an index that does not answer."""

    def asked(script: str, *more: str, version: str = "uv 0.9.9", **environment: str) -> Ran:
        fake(tmp_path, script, version)
        given = {"PATH": f"{tmp_path}:{os.environ.get('PATH', os.defpath)}", "HOME": str(tmp_path)}
        given |= {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
        for name, value in {**given, **environment}.items():
            monkeypatch.setenv(name, value)
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.chdir(tmp_path)
        capfd.readouterr()
        code = guarded(lambda: run("dsec", ["packages", "--resolve", *more]))
        return Ran(code, *capfd.readouterr())

    return asked


def test_versions_of_uv(tmp_path: Path, ask: Ask) -> None:
    contract(tmp_path, trl="==0.9.6", transformers=">=4.40")
    script = (
        'cat > lines; cp lines "$SEEN"; echo "$@" >> "$SEEN"; pwd >> "$SEEN"; '
        "[ -f uv.toml ] && [ ! -s uv.toml ] && echo shielded >> \"$SEEN\"; printf '%s\\n' 'trl==0.9.6' "
        "'Transformers==4.41.2' '--index-url https://u:p@x.example/simple'"
    )
    ran = ask(script, "--python", "3.12", SEEN=str(tmp_path / "seen"))
    assert ran.returncode == 0, ran.stderr
    assert "transformers >=4.40  4.41.2  from the index" in ran.stdout
    assert "resolver: uv 0.9.9, within 120 s" in ran.stdout
    assert "nothing found: uv 0.9.9 has found versions that go together" in ran.stdout
    asked = (tmp_path / "seen").read_text()
    assert asked.startswith("trl==0.9.6\ntransformers>=4.40\npip compile -")
    assert "--python-version 3.12" in asked
    *_, folder, shielded = asked.splitlines()
    assert not folder.startswith(str(tmp_path)), "a project's settings say nothing"
    assert shielded == "shielded", "nor do those of a folder above"
    assert not Path(folder).exists()
    assert "u:p@" not in ran.stdout + ran.stderr


def test_a_conflict_of_uv_as_a_finding(tmp_path: Path, ask: Ask) -> None:
    contract(tmp_path, trl="==0.9.6", transformers="==4.20.1")
    (tmp_path / "said").write_text(OLD + WRAPPED)
    script = (
        'grep -q "^transformers$" && echo trl==0.9.6 && echo transformers==4.31.0 && exit 0\n'
        f"cat {tmp_path}/said >&2; exit 1"
    )
    ran = ask(script, "--json")
    assert ran.returncode == 1, ran.stderr
    document = json.loads(ran.stdout)
    assert document["resolver"]["name"] == "uv"
    assert document["resolver"]["version"] == "0.9.9"
    assert document["resolver"]["limit_s"] == 120
    assert document["resolver"]["words"].startswith("Because trl==0.9.6 depends on transformers>=4.31.0")
    (conflict,) = document["conflicts"]
    assert conflict["chains"] == [
        ["contract", "trl 0.9.6", "transformers >=4.31.0"],
        ["contract", "transformers ==4.20.1"],
    ]
    assert conflict["alternative"]["wanted"] == "==4.31.0"
    (finding,) = document["findings"]
    assert (finding["code"], finding["path"]) == ("DS110", "dependencies[1].version")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'error: Failed to fetch: `https://u:pw12345@x.example/trl/`' >&2; exit 2", "Failed to fetch"),
        ("exit 0", "names no version of trl"),
        ("echo trl==9.9", "names trl 9.9, which is not in ==0.9.6"),
        ("echo trl==0.", "names trl 0., which is not in ==0.9.6"),
        ("yes trl==0.9.6", "wrote more than 1 MiB"),
        ("printf 'trl==\\000\\n\\377trl==1\\n'", "names no version of trl"),
        (
            (
                "exec 2>&1; while :; do echo "
                "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"
            ),
            "wrote more than",
        ),
        ("kill -9 $$", "could not find out"),
        ("echo 'No solution found: trl was not found in the cache' >&2; exit 1", "could not find out"),
    ],
)
def test_a_uv_that_does_not_find_out_is_one_line(tmp_path: Path, ask: Ask, script: str, words: str) -> None:
    contract(tmp_path, trl="==0.9.6")
    ran = ask(script)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "pw12345" not in ran.stderr


def test_words_that_nobody_can_read_are_narrowed_down_by_asking_again(tmp_path: Path, ask: Ask) -> None:
    contract(tmp_path, trl="==0.9.6", numpy="<2", transformers="==4.20.1")
    script = (
        "cat > lines; grep -q trl lines && grep -q ==4.20.1 lines && echo No solution found: unclear >&2 && "
        "exit 1\nprintf '%s\\n' trl==0.9.6 numpy==1.26.4\n"
        "grep -q ==4.20.1 lines && echo transformers==4.20.1 || echo transformers==4.31.0"
    )
    ran = ask(script)
    assert ran.returncode == 1, ran.stderr
    assert "transformers ==4.20.1 cannot go with trl ==0.9.6" in ran.stdout
    assert "trl ==0.9.6, transformers ==4.20.1 have no versions that go together" in " ".join(
        ran.stdout.split()
    )
    assert "it says: No solution found: unclear" in ran.stdout


def test_two_that_are_blamed_though_a_third_is_needed(tmp_path: Path, ask: Ask) -> None:
    """uv is asked again with the two alone: it has a set for them, so all three are named."""
    contract(tmp_path, trl="==0.9.6", numpy="<2", transformers="==4.20.1", idle="==1")
    (tmp_path / "said").write_text(OLD + WRAPPED)
    script = (
        "cat > lines; grep -q trl==0.9.6 lines && grep -q 'numpy<2' lines && grep -q ==4.20.1 lines && "
        f"cat {tmp_path}/said >&2 && exit 1\n"
        "for n in trl==0.9.6 numpy==1.26.4 transformers==4.20.1 idle==1; do echo $n; done"
    )
    ran = ask(script)
    assert ran.returncode == 1, ran.stderr
    assert "trl ==0.9.6 cannot go with transformers ==4.20.1 and numpy <2" in ran.stdout
    (conflict,) = json.loads(ask(script, "--json").stdout)["conflicts"]
    assert conflict["more"] == ["numpy <2"]


def test_after_the_time_uv_and_what_it_has_started_end(tmp_path: Path, ask: Ask) -> None:
    contract(tmp_path, trl="==0.9.6")
    ran = ask(f"sleep 600 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/own; wait", "--timeout", "1")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert "could not find out in 1 s" in ran.stderr
    for name in ("child", "own"):
        until_gone(int((tmp_path / name).read_text()))


def until_gone(number: int) -> None:
    end = time.monotonic() + 30
    while os.path.exists(f"/proc/{number}"):
        with open(f"/proc/{number}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] == "Z":
                return
        assert time.monotonic() < end, f"{number} is still there"
        time.sleep(0.02)


@pytest.mark.parametrize(("name", "error"), [("TERM", Terminated), ("INT", KeyboardInterrupt)])
def test_a_signal_while_a_program_starts_leaves_none_behind(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    script = f"echo $$ > {tmp_path}/own; kill -{name} $PPID; sleep 600"
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with pytest.raises(error):
        child.run(
            ["sh", "-c", script],
            given="",
            env=os.environ,
            folder=str(tmp_path),
            until=time.monotonic() + 60,
            most=100,
        )
    until_gone(int((tmp_path / "own").read_text()))
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_program_that_leaves_a_child_with_its_pipes_is_not_waited_for(tmp_path: Path) -> None:
    ended = child.run(
        ["sh", "-c", f"sleep 600 & echo $! > {tmp_path}/child; echo done"],
        given="",
        env=os.environ,
        folder=str(tmp_path),
        until=time.monotonic() + 60,
        most=100,
    )
    assert ended == child.Ended(0, "done\n", "")
    until_gone(int((tmp_path / "child").read_text()))


@pytest.mark.battery
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_ends_dsec_ends_uv(tmp_path: Path, number: signal.Signals) -> None:
    contract(tmp_path, trl="==0.9.6")
    fake(tmp_path, f"echo $$ > {tmp_path}/own.new; mv {tmp_path}/own.new {tmp_path}/own; sleep 600")
    program = (
        f"import sys; sys.path[:0] = {[str(ROOT), str(ROOT / 'runtime')]!r}; sys.argv[0] = 'dsec'; "
        f"from dsec_cli.fast import dsec as main; sys.exit(main())"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program, "packages", "--resolve"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
    )
    end = time.monotonic() + 60
    while not (tmp_path / "own").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    started.send_signal(number)
    assert started.wait(timeout=60) == 128 + number
    until_gone(int((tmp_path / "own").read_text()))


@pytest.mark.parametrize("version", ["uv 0.4.22", "not uv", ""])
def test_another_program_called_uv_is_told_and_not_asked(tmp_path: Path, ask: Ask, version: str) -> None:
    contract(tmp_path, trl="==0.9.6")
    ran = ask(f"touch {tmp_path}/asked", version=version)
    assert ran.returncode == 3
    assert "127.0.0.1:9/simple/trl/ could not be fetched" in ran.stderr, "resolvelib asks the index"
    assert not (tmp_path / "asked").exists()


def test_what_is_no_package_name_reaches_no_resolver(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "agent-train-sandbox.yaml").write_text(
        "base: registry.example/x:1.0.0\ndependencies:\n  - package: trl\n    version: '==0.9.6'\n"
        "  - package: '-r /etc/passwd'\n  - package: \"a\\n--index-url http://x.example\"\n"
        "  - package: 'b @ git+https://x.example/b'\n  - package: c\n    version: '==1; import os'\n"
    )
    script = f"cat > {tmp_path}/seen; echo trl==0.9.6"
    ran = ask(script)
    assert ran.returncode == 1
    assert (tmp_path / "seen").read_text() == "trl==0.9.6\n"


def test_a_package_without_a_wheel_is_unknown_and_no_conflict(tmp_path: Path, ask: Ask) -> None:
    contract(tmp_path, **{"flash-attn": "==2.6.3", "trl": "==0.9.6"})
    (tmp_path / "said").write_text(
        NEW
        + "Because flash-attn==2.6.3 has no usable wheels and you require flash-attn==2.6.3, we can conclude "
        "that your requirements are unsatisfiable.\n\nhint: Wheels are required for `flash-attn`\n"
    )
    script = f"grep -q flash && cat {tmp_path}/said >&2 && exit 1\necho trl==0.9.6"
    ran = ask(script)
    assert ran.returncode == 0, ran.stdout
    assert "flash-attn ==2.6.3         not resolved: what it requires is unknown" in ran.stdout
    assert "nothing found, but it is unknown what is required by flash-attn" in ran.stdout
    assert "nothing found:" not in ran.stdout


def test_an_older_uv_is_asked_for_the_newest_system_that_it_knows(tmp_path: Path, ask: Ask) -> None:
    contract(tmp_path, trl="==0.9.6")
    script = (
        'case "$*" in *manylinux_2_40*) echo "error: invalid value for '
        "'--python-platform <P>' [possible values: x86_64-manylinux_2_17, x86_64-manylinux_2_31, "
        'aarch64-manylinux_2_31]" >&2; exit 2;; esac\necho "$@" > "$SEEN"; echo trl==0.9.6'
    )
    ran = ask(script, SEEN=str(tmp_path / "seen"))
    assert ran.returncode == 0, ran.stderr
    if os.uname().machine in ("x86_64", "aarch64"):
        assert f"--python-platform {os.uname().machine}-manylinux_2_31" in (tmp_path / "seen").read_text()
