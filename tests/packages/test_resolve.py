"""`--resolve` against an index on the loopback: sets that work, conflicts, and hostile answers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.commands.indexing import HttpIndex, Limits, index_url, shown
from dsec_cli.commands.resolver_answer import in_time
from dsec_cli.commands.uv_resolver import OutOfTimeError
from dsec_cli.packages.conflicts import Entry
from dsec_cli.packages.index import IndexProblem, files_of, releases_of
from dsec_cli.packages.markers import environment
from dsec_cli.packages.resolution import resolve
from dsec_cli.packages.wheel import metadata_of

from .index_server import Projects, Server, serving

KNOWN = environment("3.11.4", machine="x86_64")
PROJECTS: Projects = {
    "trl": {
        "0.8.0": {"wants": ["transformers>=4.18"]},
        "0.9.6": {"wants": ["transformers>=4.31.0", "numpy<2; sys_platform == 'win32'"]},
        "0.9.7": {"wants": ["transformers>=4.31.0"], "yanked": "it deletes files"},
        "1.0rc1": {"wants": ["transformers>=5"]},
    },
    "transformers": {
        "4.20.1": {"wants": ["tokenizers<0.13"]},
        "4.31.0": {"wants": ["tokenizers>=0.13"], "python": ">=3.8"},
        "4.99.0": {"wants": ["tokenizers>=0.13"], "python": ">=3.13"},
    },
    "tokenizers": {"0.12.1": {}, "0.13.3": {}, "0.14.0": {"tags": "cp311-cp311-win_amd64"}},
    "plain": {"1.0": {"sdist": True}},
    "extra": {"1.0": {"wants": ["tokenizers<0.13; extra == 'old'", "extra[old]; extra == 'all'"]}},
    "wants-too-much": {"1.0": {"wants": ["tokenizers>=9"]}},
    "forged": {"1.0": {"wrong-hash": True}},
    "quiet": {"1.0": {"wants": ["tokenizers<0.13"], "metadata": False}},
    "inside": {"1.0": {"wants": ["tokenizers<0.13"], "metadata": False, "beside": False}},
    "whole": {"1.0": {"wants": ["tokenizers<0.13"], "metadata": False, "beside": False, "whole": True}},
    "torn": {"1.0": {"metadata": False, "beside": False, "torn": True}},
    "twice": {"1.0": {"metadata": False, "beside": False, "folders": ["twice-1.0", "other-1.0"]}},
    "elsewhere": {"1.0": {"host": "file:///etc"}},
}
DEPENDENCY = '  - package: {}\n    version: "{}"\n'


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with serving(PROJECTS) as running:
        yield running


def index(server: Server, path: str = "simple", **limits: float) -> HttpIndex:
    asked = Limits(**{"silence_s": 5.0, **limits})  # type: ignore[arg-type]
    return HttpIndex(f"{server.base}/{path}", python="3.11.4", machine="x86_64", limits=asked)


def entries(**texts: str) -> tuple[Entry, ...]:
    named = [name.replace("_", "-") for name in texts]
    return tuple(
        Entry(name, text, path=("dependencies", at))
        for at, (name, text) in enumerate(zip(named, texts.values(), strict=True))
    )


def test_a_set_that_works_is_found(server: Server) -> None:
    found = resolve(entries(trl="", transformers=">=4"), index(server), KNOWN)
    assert dict(found.versions) == {"tokenizers": "0.13.3", "transformers": "4.31.0", "trl": "0.9.6"}
    assert found.conflict is None
    assert all(path.startswith(("/simple/", "/files/")) for path, _ in server.asked)
    assert len(server.asked) == len(set(server.asked)), "each page is asked for once"


@pytest.mark.battery
def test_both_chains_and_the_nearest_alternative(server: Server) -> None:
    found = resolve(entries(trl="==0.9.6", transformers="==4.20.1"), index(server), KNOWN)
    assert found.conflict is not None
    assert found.conflict.one.words == "contract -> trl 0.9.6 -> transformers >=4.31.0"
    assert found.conflict.other.words == "contract -> transformers ==4.20.1"
    assert found.alternative is not None
    assert (found.alternative.entry.name, found.alternative.wanted) == ("trl", "==0.8.0")
    assert dict(found.alternative.works) == {"transformers": "4.20.1", "trl": "0.8.0"}


def test_what_is_blamed_has_no_set_by_itself(server: Server) -> None:
    """The resolver meets a version of `other` last, though `hidden` alone is why there is no set."""
    server.projects = {
        **PROJECTS,
        "hidden": {"2.0": {"wants": ["deep>=1"]}},
        "deep": {"3.0": {"wants": ["other", "leaf<2"]}},
        "other": {"2.0": {}, "3.0": {"wants": ["leaf>=3"]}},
        "leaf": {"2.0": {}},
    }
    found = resolve(entries(hidden="==2.0", other=">=2"), index(server), KNOWN)
    assert found.conflict is not None
    assert found.conflict.one.words == "contract -> hidden 2.0 -> deep 3.0 -> leaf <2"
    assert found.conflict.other.words == "index -> leaf <=2.0"


def test_all_are_named_where_no_two_exclude_each_other(server: Server) -> None:
    server.projects = {
        **PROJECTS,
        "left": {"1.0": {"wants": ["base!=1.0"]}},
        "right": {"1.0": {"wants": ["base!=2.0"]}},
        "base": {"1.0": {}, "2.0": {}, "3.0": {}},
    }
    found = resolve(entries(left="==1.0", base="<3", right="==1.0", trl=""), index(server), KNOWN)
    assert found.conflict is not None
    assert found.conflict.why == "left ==1.0, base <3, right ==1.0 have no versions that go together"
    assert [one.name for one in found.conflict.more] == ["base"]


def test_a_package_that_nobody_offers(server: Server) -> None:
    found = resolve(entries(wants_too_much="==1.0"), index(server), KNOWN)
    assert found.conflict is not None
    assert found.conflict.one.words == "contract -> wants-too-much 1.0 -> tokenizers >=9"
    assert found.conflict.other.words == "index -> tokenizers <=0.13.3"


@pytest.mark.battery
def test_early_and_yanked_versions_only_where_they_are_named(server: Server) -> None:
    assert resolve(entries(trl=">=0.8"), index(server), KNOWN).versions["trl"] == "0.9.6"
    assert resolve(entries(trl="==0.9.7"), index(server), KNOWN).versions["trl"] == "0.9.7"
    early = resolve(entries(trl=">=1.0rc1"), index(server), KNOWN)
    assert early.conflict is not None
    assert early.conflict.one.words == "contract -> trl 1.0rc1 -> transformers >=5"


def test_a_source_distribution_is_unknown_and_said(server: Server) -> None:
    found = resolve(entries(plain=""), index(server), KNOWN)
    assert (dict(found.versions), found.unknown) == ({"plain": "1.0"}, ("plain 1.0",))


@pytest.mark.battery
def test_extras_bring_their_requirements(server: Server) -> None:
    (entry,) = entries(extra="")
    assert resolve((entry,), index(server), KNOWN).versions == {"extra": "1.0"}
    for extras in ({"old"}, {"all"}):
        found = resolve((entry._replace(extras=frozenset(extras)),), index(server), KNOWN)
        assert found.versions == {"extra": "1.0", "tokenizers": "0.12.1"}


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("html", "is text/html, not the JSON of the simple repository API"),
        ("no-json", "is no JSON"),
        ("deep", "is no JSON"),
        ("odd-json", "lists no files"),
        ("huge", "is larger than 1 MiB"),
        ("slow", "could not be fetched"),
        ("drops", "could not be fetched"),
        ("fails", "answered 500"),
        ("refuses", "answered 401"),
        ("moved-to-file", "answered 302"),
        ("moved-round", "answered 302"),
    ],
)
def test_a_hostile_answer_is_one_line(server: Server, path: str, words: str) -> None:
    asked = index(server, path, silence_s=0.3, page_bytes=1 << 20)
    with pytest.raises(IndexProblem) as caught:
        asked.releases("trl")
    assert words in caught.value.what
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["quiet", "inside"])
def test_metadata_that_are_not_announced_are_found(server: Server, name: str) -> None:
    """Beside the wheel, or in it; of the wheel only the end is fetched."""
    found = resolve(entries(**{name: ">=1"}, tokenizers=""), index(server), KNOWN)
    assert dict(found.versions) == {name: "1.0", "tokenizers": "0.12.1"}
    assert found.unknown == ()
    assert len([path for path, _ in server.asked if path.endswith(".whl")]) == (name == "inside")


@pytest.mark.parametrize("name", ["whole", "torn", "twice"])
def test_a_wheel_that_tells_nothing_is_said_to(server: Server, name: str) -> None:
    found = resolve(entries(**{name: ">=1"}), index(server), KNOWN)
    assert found.unknown == (f"{name} 1.0",)


def test_metadata_from_elsewhere_or_with_another_hash_are_refused(server: Server) -> None:
    for name, words in (("forged", "has not the hash"), ("elsewhere", "names file URL")):
        asked = index(server)
        with pytest.raises(IndexProblem, match=words):
            asked.facts(name, asked.releases(name)[0])


def test_limits_of_the_whole(server: Server) -> None:
    asked = index(server, requests=2)
    asked.releases("trl")
    asked.releases("transformers")
    with pytest.raises(IndexProblem, match="gave up after 2 requests"):
        asked.releases("tokenizers")
    with pytest.raises(IndexProblem, match="took longer than"):
        index(server, whole_s=-1.0).releases("trl")


def test_nothing_listens(server: Server) -> None:
    asked = HttpIndex("http://127.0.0.1:9/simple", python="3.11.4", machine="x86_64")
    with pytest.raises(IndexProblem, match="could not be fetched"):
        asked.releases("trl")


def test_the_password_goes_to_the_index_and_into_no_message(server: Server) -> None:
    base = server.base.replace("http://", "http://user:s3cret%21@")
    asked = HttpIndex(f"{base}/simple", python="3.11.4", machine="x86_64")
    assert asked.releases("trl")
    assert server.asked[-1] == ("/simple/trl/", "Basic dXNlcjpzM2NyZXQh")
    with pytest.raises(IndexProblem) as caught:
        HttpIndex(f"{base}/fails", python="3.11.4", machine="x86_64").releases("trl")
    assert "s3cret" not in str(caught.value)
    assert shown("https://user:pw@host:8/simple?token=1") == "https://host:8/simple"
    assert shown("https://host/aB3dE5fG7hJ9kL1m/org/simple") == "https://host/***/org/simple"
    assert shown("https://host/simple/scikit-learn-intelex-2024/") == (
        "https://host/simple/scikit-learn-intelex-2024/"
    )


@pytest.mark.parametrize("url", ["", "file:///etc", "ftp://x/", "http://", "http://[", "simple"])
def test_what_is_no_index(url: str) -> None:
    with pytest.raises(IndexProblem):
        HttpIndex(url, python="3.11.4", machine="x86_64")


def test_the_index_is_the_one_that_pip_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert index_url({"PIP_INDEX_URL": "http://one/simple"}) == "http://one/simple"
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = http://two/simple\n[install]\nindex-url = http://three/%41\n")
    assert index_url({"PIP_CONFIG_FILE": str(file)}) == "http://three/%41"
    with pytest.raises(IndexProblem, match="no index"):
        index_url({"PIP_NO_INDEX": "1"})
    file.write_text("nonsense")
    with pytest.raises(IndexProblem, match="could not be read as pip's configuration"):
        index_url({"PIP_CONFIG_FILE": str(file)})


ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=8)
    | st.sampled_from(["a-1-py3-none-any.whl", "a-1.zip", ">=3"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["files", "filename", "url", "requires-python", "yanked", "core-metadata", "sha256"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=15,
)


@given(ANY)
def test_any_page_gives_releases_or_one_line(page: object) -> None:
    for document in (page, {"files": page}, {"files": [page]}):
        try:
            releases_of(files_of(document, "a"), python="3.11.4", machine="x86_64")
        except IndexProblem:
            continue


@pytest.mark.parametrize(
    ("tags", "fits"),
    [
        ("py3-none-any", True),
        ("py2.py3-none-any", True),
        ("cp311-cp311-manylinux_2_28_x86_64", True),
        ("cp38-abi3-manylinux1_x86_64", True),
        ("cp312-abi3-manylinux1_x86_64", False),
        ("cp310-cp310-manylinux_2_28_x86_64", False),
        ("cp311-cp311-manylinux_2_28_aarch64", False),
        ("cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64", True),
        ("cp311-cp311-win_amd64", False),
        ("py2-none-any", False),
    ],
)
def test_wheels_for_another_system_do_not_count(tags: str, fits: bool) -> None:
    files = files_of({"files": [{"filename": f"a-1-{tags}.whl", "url": "x"}]}, "a")
    assert bool(releases_of(files, python="3.11.4", machine="x86_64")) is fits


def contract(folder: Path, **texts: str) -> Path:
    path = folder / "agent-train-sandbox.yaml"
    body = "".join(DEPENDENCY.format(name, text) for name, text in texts.items())
    path.write_text(f"base: registry.example/x:1.0.0\ndependencies:\n{body}")
    return path


@pytest.mark.battery
def test_the_command(server: Server, tmp_path: Path, ds: Callable[..., object]) -> None:
    contract(tmp_path, trl="==0.9.6", transformers="==4.20.1")
    ran = ds("packages", "--resolve", "--index", f"{server.base}/simple", "--python", "3.11.4", "--json")
    assert ran.returncode == 1, ran.stderr
    document = json.loads(ran.stdout)
    (conflict,) = document["conflicts"]
    assert conflict["on"] == "transformers"
    assert conflict["alternative"] == {
        "package": "trl",
        "wanted": "==0.8.0",
        "works": {"transformers": "4.20.1", "trl": "0.8.0"},
    }
    contract(tmp_path, trl=">=0.9", transformers=">=4.20.1")
    ran = ds("packages", "--resolve", "--index", f"{server.base}/simple", "--python", "3.11.4")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "trl >=0.9" in ran.stdout
    assert "0.9.6" in ran.stdout


@pytest.mark.parametrize("path", ["slow", "simple"])
def test_the_time_of_the_whole_answer(server: Server, path: str) -> None:
    """Whatever the resolver waits for: the index, or itself."""
    asked = index(server, path, silence_s=60.0)

    def work() -> None:
        if path == "simple":
            server.silence.wait(60)
        asked.releases("trl")

    with pytest.raises(OutOfTimeError, match=r"could not find out in 0\.2 s"):
        in_time(work, until=time.monotonic() + 0.2, limit_s=0.2)
    with pytest.raises(IndexProblem):
        in_time(lambda: index(server, "fails").releases("trl"), until=time.monotonic() + 60, limit_s=60)


def test_the_command_tells_what_is_not_offered(
    server: Server, tmp_path: Path, ds: Callable[..., object]
) -> None:
    contract(tmp_path, trl="==0.9.7", nobody="==1", transformers="==7")
    ran = ds("packages", "--resolve", "--index", f"{server.base}/simple", "--python", "3.11")
    assert ran.returncode == 1
    assert "it deletes files" in ran.stdout
    assert "the index has no package nobody" in ran.stdout
    assert "the index has no transformers in ==7" in ran.stdout


@pytest.mark.parametrize("path", ["html", "moved-to-file", "fails"])
def test_the_command_offline(server: Server, tmp_path: Path, ds: Callable[..., object], path: str) -> None:
    contract(tmp_path, trl="==0.9.6")
    ran = ds("packages", "--resolve", "--index", f"{server.base}/{path}")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.count("\n") == 1


@given(st.binary(max_size=400), st.integers(0, 500))
def test_any_bytes_are_a_wheel_or_none(data: bytes, size: int) -> None:
    assert metadata_of(max(size, len(data)), data, lambda start, end: bytes(end - start), most=1000) == b""


def test_a_page_of_more_files_than_any_index_lists_is_refused(monkeypatch) -> None:
    from dsec_cli.packages import index

    monkeypatch.setattr(index, "MOST_FILES", 3)
    files = [{"filename": f"a-{at}.0-py3-none-any.whl", "url": "x"} for at in range(4)]
    assert len(files_of({"files": files[:3]}, "a")) == 3
    with pytest.raises(IndexProblem, match="lists 4 files, more than 3"):
        files_of({"files": files}, "a")
