"""Where dependencies are looked for, and what is said of what is there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec.core.dependencies import (
    Bucket,
    Foreign,
    Local,
    Registered,
    Remote,
    Unusable,
    newest_first,
    place_of,
    shown,
    stated_hash,
    variable,
)
from dsec.plan import Dependency, Source
from dsec.registry import Surroundings, check

HERE = Source("dsandbox.yaml", 1, 1)
ZEROS = "0" * 64


def dependency(name: str = "m", version: str = "1.3.0", **given_: str) -> Dependency:
    fields = {"kind": "model", "source": "", "content_hash": ""} | given_
    return Dependency(name, fields["kind"], version, fields["source"], fields["content_hash"], HERE)


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("", Registered("m")),
        ("ds://models/reward/2024q3", Registered("models/reward/2024q3")),
        ("ds://models/reward/", Registered("models/reward")),
        ("DS://a", Registered("a")),
        ("./models/x", Local("./models/x")),
        ("../x", Local("../x")),
        ("/srv/x", Local("/srv/x")),
        ("file:models/x", Local("models/x")),
        ("file:///srv/x", Local("/srv/x")),
        ("https://example.org/x.bin", Remote("https://example.org/x.bin")),
        ("http://example.org/x", Remote("http://example.org/x")),
        ("s3://bucket/a/b", Bucket("bucket", "a/b")),
    ],
)
def test_where_a_source_is(source: str, place: object) -> None:
    assert place_of(dependency(source=source)) == place


@pytest.mark.parametrize(
    "source",
    [
        "git+ssh://git@internal/sim-env@main#subdirectory=core",
        "gitssh://gitinternal.git/sim-env",
        "git://host/x",
        "git@github.com:o/r",
        "ssh://git@host/x",
        "https://github.com/o/r.git",
        "https://github.com/o/r.git@main",
        "hf://org/model",
        "docker://image:latest",
        "s3://bucket",
        "s3://bucket/folder/",
    ],
)
def test_what_is_not_looked_at(source: str) -> None:
    assert isinstance(place_of(dependency(source=source)), Foreign)


@pytest.mark.parametrize(
    "source",
    [
        "ds://",
        "ds://..",
        "ds://../../etc",
        "ds://a/../b",
        "ds://a//b",
        "ds:///a",
        "ds://./a",
        "file:",
        "//h/x",
        "ds://a\0b",
        "ds://a\nb",
        "x\x1b[31m",
    ],
)
def test_what_no_place_is(source: str) -> None:
    assert isinstance(place_of(dependency(source=source)), Unusable)


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_source_has_a_place_and_none_leaves_the_registry(scheme: str, rest: str) -> None:
    place_of(dependency(source=scheme + rest))
    place = place_of(dependency(source="ds://" + rest))
    if isinstance(place, Registered):
        assert os.path.normpath(f"/r/{place.path}") == f"/r/{place.path}"
        assert "\0" not in place.path


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    registry = tmp_path / "registry"
    for version in ("1.2.9", "1.3.0", "1.3.1", "1.10.0"):
        folder = registry / "models" / "reward" / version
        folder.mkdir(parents=True)
        (folder / "w").write_text(version)
    (registry / "single").mkdir()
    (registry / "single" / "1.3.0").write_text("one file")
    (tmp_path / "job").mkdir()
    (tmp_path / "secret").mkdir()
    return Surroundings(str(registry), str(tmp_path / "job"), str(tmp_path / "cache"), "", None)


def only(around: Surroundings, one: Dependency) -> tuple[str, str]:
    (found,) = check((one,), around)
    assert bool(found.path) is (found.verdict in ("verified", "found") and one.kind != "package")
    return found.verdict, found.text


def test_the_stated_version_is_found_and_no_other(around: Surroundings) -> None:
    source = "ds://models/reward"
    for version in ("1.2.9", "1.3.0", "1.3.1"):
        (found,) = check((dependency(version=version, source=source),), around)
        assert (found.verdict, Path(found.path).name) == ("found", version)
        assert "no hash stated" in found.text
    verdict, text = only(around, dependency(version="1.3.2", source=source))
    assert verdict == "wrong"
    assert "version 1.3.2 is not in" in text
    assert text.endswith("there is 1.10.0, 1.3.1, 1.3.0, 1.2.9")


@pytest.mark.parametrize("version", ["1.3", "", "latest", "../1.3.0", "1.3.0/..", ">=1.0.0", "1.3.0\0"])
def test_what_is_no_version_is_not_looked_for(around: Surroundings, version: str) -> None:
    verdict, text = only(around, dependency(version=version, source="ds://models/reward"))
    assert verdict == "wrong"
    assert "version" in text


def test_a_path_that_is_not_there_is_wrong_and_a_missing_registry_unknown(around: Surroundings) -> None:
    assert only(around, dependency(source="ds://models/nope"))[0] == "wrong"
    gone = Surroundings("/nowhere/at/all", around.folder, around.cache, "", None)
    verdict, text = only(gone, dependency(source="ds://models/reward"))
    assert verdict == "unknown"
    assert "/nowhere/at/all does not exist" in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_unknown(around: Surroundings) -> None:
    folder = Path(around.registry) / "models" / "reward"
    (folder / "1.3.0" / "w").chmod(0)
    one = dependency(source="ds://models/reward", content_hash=f"blake3:{ZEROS}")
    assert only(around, one)[0] == "unknown"


def test_links_inside_the_registry_are_followed_and_those_out_of_it_refused(around: Surroundings) -> None:
    registry = Path(around.registry)
    (registry / "alias").symlink_to("models/reward")
    assert only(around, dependency(source="ds://alias"))[0] == "found"
    (registry / "models" / "reward" / "2.0.0").symlink_to("../../../secret")
    (registry / "out").symlink_to("/etc")
    (registry / "looped").symlink_to("looped")
    for one in (
        dependency(version="2.0.0", source="ds://models/reward"),
        dependency(source="ds://out"),
        dependency(source="ds://out/ssl"),
    ):
        verdict, text = only(around, one)
        assert verdict == "wrong"
        assert "leads out of the registry" in text
    assert only(around, dependency(source="ds://looped"))[0] == "wrong"


def test_hashes_are_compared_and_both_are_named(around: Surroundings) -> None:
    right = "sha256:" + hashlib.sha256(b"one file").hexdigest()
    assert only(around, dependency(source="ds://single", content_hash=right))[0] == "verified"
    assert only(around, dependency(source="ds://single", content_hash=f" {right.upper()} "))[0] == "verified"
    wrong = f"sha256:{ZEROS}"
    verdict, text = only(around, dependency(source="ds://single", content_hash=wrong))
    assert verdict == "wrong"
    assert right in text
    assert wrong in text


@pytest.mark.parametrize("text", ["md5:00", ZEROS, "sha256:", f"sha256:{ZEROS}0", "sha256:" + "g" * 64])
def test_what_is_no_hash_is_wrong(around: Surroundings, text: str) -> None:
    assert stated_hash(text) is None
    assert only(around, dependency(source="ds://single", content_hash=text))[0] == "wrong"


def test_paths_are_relative_to_the_contract(around: Surroundings) -> None:
    job = Path(around.folder)
    (job / "x").write_text("x")
    (job / "dangling").symlink_to("nowhere")
    (job / "1.2.9").mkdir()
    assert only(around, dependency(source="file:x"))[0] == "found"
    assert only(around, dependency(source="./x"))[0] == "found"
    assert only(around, dependency(source="y"))[0] == "wrong"
    assert "leads nowhere" in only(around, dependency(source="dangling"))[1]
    assert "version 1.2.9, 1.3.0 is wanted" in only(around, dependency(source="./1.2.9"))[1]
    assert only(around, dependency(version="1.2.9", source="./1.2.9/"))[0] == "found"


@pytest.mark.parametrize(
    ("name", "range_", "verdict"),
    [
        ("pytest", ">=1", "verified"),
        ("PyTest", "", "verified"),
        ("hypothesis[numpy]", ">=1", "verified"),
        ("pytest", "<1", "wrong"),
        ("no-such-package-here", "", "wrong"),
        ("", "", "wrong"),
    ],
)
def test_packages_are_those_of_this_interpreter(
    around: Surroundings, name: str, range_: str, verdict: str
) -> None:
    assert only(around, dependency(name, range_, kind="package"))[0] == verdict


def test_a_package_whose_metadata_is_damaged_is_unknown(
    around: Surroundings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "site" / "broken_thing-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: broken-thing\n")
    monkeypatch.syspath_prepend(str(info.parent))
    assert only(around, dependency("broken-thing", ">=1", kind="package"))[0] == "unknown"


def test_two_names_with_one_variable_are_refused(around: Surroundings) -> None:
    source = "ds://models/reward"
    first, second = dependency("a-b", source=source), dependency("a_b", "1.2.9", source=source)
    assert [one.verdict for one in check((first, second), around)] == ["found", "wrong"]
    same = dependency("A_B", source=source)
    assert [one.verdict for one in check((first, same), around)] == ["found", "found"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("reward_model_v2", "REWARD_MODEL_V2"), ("a-b.c=d\0", "A_B_C_D_"), ("奖励", "奖励"), ("", "")],
)
def test_variables(name: str, wanted: str) -> None:
    assert variable(name) == f"DSEC_DEP_{wanted}"


def test_versions_come_newest_first() -> None:
    given_ = ["junk", "1.0.0", "1.0.0-rc.1", "1.0.0-rc.10", "1.0.0-rc.2", "1.0.0-alpha", "0.9.9", "1.10.0"]
    assert newest_first(given_) == [
        "1.10.0",
        "1.0.0",
        "1.0.0-rc.10",
        "1.0.0-rc.2",
        "1.0.0-rc.1",
        "1.0.0-alpha",
        "0.9.9",
        "junk",
    ]


def test_no_secrets_of_a_url_are_shown() -> None:
    assert shown("https://me:pw@h.org/a/b?sig=1") == "https://h.org/a/b"
    assert shown("ds://a?b") == "ds://a?b"
