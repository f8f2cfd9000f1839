"""What pip and conda are asked for, what they are not, and that nobody's record can ask them for more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsec_cli.snapshot import installed
from dsec_cli.snapshot.requirements import asked, explicit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PLAIN = {
    "name": "a", "version": "1.0", "origin": "index", "artifact": None, "source": None, "record": None,
    "installer": "pip",
}  # fmt: skip


def one(**more: Any) -> dict[str, Any]:
    return {**PLAIN, **more}


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({}, "a==1.0"),
        ({"version": "2.1.0+cu121"}, "a==2.1.0+cu121"),
        (
            {"origin": "vcs", "source": "https://h/a.git", "commit": COMMIT, "vcs": "git"},
            f"a @ git+https://h/a.git@{COMMIT}",
        ),
        (
            {"origin": "vcs", "source": "ssh://h/a", "commit": COMMIT, "vcs": "hg", "subdirectory": "py/a"},
            f"a @ hg+ssh://h/a@{COMMIT}#subdirectory=py/a",
        ),
        (
            {"origin": "vcs", "source": "https://h/a.git", "commit": COMMIT},
            f"a @ git+https://h/a.git@{COMMIT}",
        ),
    ],
)
def test_lines(more: dict[str, Any], line: str) -> None:
    found = asked([one(**more)], "v1")
    assert (found.hashed, found.plain, found.problems) == ((), (line,), ())


def test_a_known_hash_is_asked_for() -> None:
    digest = "sha256:" + "ab" * 32
    found = asked([one(origin="archive", artifact=digest), one(name="b")], "v1")
    assert found.hashed == (f"a==1.0 --hash={digest}",)
    assert found.plain == ("b==1.0",)
    assert [each["name"] for each in found.wanted] == ["a", "b"]


def test_of_conda_and_ourselves_nothing_is_asked() -> None:
    assert asked([one(installer="conda"), one(name="dsec")], "v1") == ((), (), (), ())


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"origin": "editable", "source": "file:///s/a", "editable": {"commit": COMMIT, "tree": "0" * 64}},
            "a 1.0: installed in place from file:///s/a (commit 0123456789ab); by hand: dsec snapshot "
            "restore v1 source-a --section dependencies --to sources && "
            "pip install --no-deps -e sources/source-a",
        ),
        (
            {"origin": "editable", "source": "file:///s/a", "editable": {"commit": None, "own": True}},
            "a 1.0: it is the project itself; by hand: pip install --no-deps -e .",
        ),
        (
            {"origin": "folder", "source": "file:///s/a b"},
            "a 1.0: it came from file:///s/a b, of which the snapshot has no files; where that is as it was, "
            "by hand: pip install --no-deps '/s/a b'",
        ),
        ({"origin": "vcs", "source": "", "commit": None}, "a 1.0: its commit or address is not known (none)"),
        (
            {"origin": "unknown"},
            "a 1.0: nothing says where it came from; by hand: pip install --no-deps a==1.0",
        ),
        ({"version": ""}, "a: its version is not known"),
    ],
)
def test_what_is_to_be_done_by_hand(more: dict[str, Any], says: str) -> None:
    found = asked([one(**more)], "v1")
    assert found.wanted == ()
    (problem,) = found.problems
    assert problem.startswith(says)


EVIL = st.sampled_from(
    ["\n", " --index-url http://evil", "; ", "#", "@", "-e .", "ext::sh -c x", "\x1b", "%", "git"]
)


@given(st.lists(st.one_of(st.text(max_size=6), EVIL), max_size=4).map("".join), st.sampled_from(
    ["name", "version", "source", "commit", "vcs", "subdirectory", "artifact"]
), st.sampled_from(["index", "vcs", "archive"]))  # fmt: skip
def test_no_record_says_more_than_a_package(text: str, key: str, origin: str) -> None:
    row = one(origin=origin, source="https://h/a.git", commit=COMMIT, vcs="git")
    found = asked([{**row, key: row[key] + text if row.get(key) else text}], "v1")
    for line in (*found.hashed, *found.plain):
        assert line.splitlines() == [line]
        assert line.isascii()
        assert not line.startswith("-")
        assert line.count(" --") <= (1 if " --hash=sha256:" in line else 0)
        assert "ext::" not in line.partition("://")[0]


def as_conda_writes(name: str, version: str, build: str, *, indent: int | None = 2) -> str:
    """A record of conda-meta: sorted keys, and of each file of the package its own hashes."""
    fn = f"{name}-{version}-{build}.conda"
    path = f"lib/python3.11/site-packages/{name}/__init__.py"
    record = {
        "arch": "x86_64", "build": build, "build_number": 0, "constrains": [], "depends": ["python >=3.11"],
        "channel": "https://conda.anaconda.org/conda-forge/linux-64",
        "extracted_package_dir": f"/opt/conda/pkgs/{fn.removesuffix('.conda')}", "features": "",
        "files": [path], "fn": fn, "legacy_bz2_md5": "a" * 32, "license": "BSD-3-Clause",
        "link": {"source": f"/opt/conda/pkgs/{fn.removesuffix('.conda')}", "type": 1}, "md5": "b" * 32,
        "name": name, "package_tarball_full_path": f"/opt/conda/pkgs/{fn}", "package_type": None,
        "paths_data": {
            "paths": [{
                "_path": path, "md5": "c" * 32, "path_type": "hardlink", "sha256": "d" * 64,
                "sha256_in_prefix": "e" * 64, "size_in_bytes": 12,
                "url": "https://h/of-a-file",
            }],
            "paths_version": 1,
        },
        "platform": "linux", "requested_spec": f"{name}=={version}", "sha256": "f" * 64, "size": 123,
        "subdir": "linux-64", "timestamp": 1700000000000, "track_features": "",
        "url": f"https://conda.anaconda.org/conda-forge/linux-64/{fn}", "version": version,
    }  # fmt: skip
    return json.dumps(record, indent=indent, sort_keys=True, separators=(",", ": "))


@pytest.mark.parametrize("indent", [2, 4, None])
def test_the_hashes_of_an_archive_are_not_those_of_its_files(tmp_path: Path, indent: int | None) -> None:
    meta = tmp_path / "conda-meta"
    meta.mkdir()
    (meta / "history").write_text("==> 2026-01-01 <==\n# cmd: conda create -n x numpy\n+defaults::numpy\n")
    for name, version, build in (("numpy", "2.1.0", "py311h71ddf71_0"), ("ca-certificates", "2024.8", "h_0")):
        text = as_conda_writes(name, version, build, indent=indent)
        (meta / f"{name}-{version}-{build}.json").write_text(text)
    found = installed.conda(str(tmp_path))
    assert [(one["name"], one["version"], one["build"]) for one in found] == [
        ("ca-certificates", "2024.8", "h_0"), ("numpy", "2.1.0", "py311h71ddf71_0"),
    ]  # fmt: skip
    assert {(one["artifact"], one["md5"]) for one in found} == {(f"sha256:{'f' * 64}", "b" * 32)}
    assert [one["source"].rpartition("/")[2] for one in found] == [
        "ca-certificates-2024.8-h_0.conda", "numpy-2.1.0-py311h71ddf71_0.conda",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 5000, '{\n  "sha256": 3,\n  "url": null\n}', '{\n  "md5": "x"\n}']
)
def test_a_record_of_conda_that_is_none_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "a-1-0.json").write_text(text)
    (one,) = installed.conda(str(tmp_path))
    assert (one["name"], one["artifact"], one["md5"], one["source"]) == ("a", None, None, None)


def test_conda(tmp_path: Path) -> None:
    meta = tmp_path / "conda-meta"
    meta.mkdir()
    token = "https://conda.anaconda.org/t/ab-1234567-secret/ch/linux-64/b-1-0.conda"
    rows: dict[str, dict[str, Any]] = {
        "a-1.2-h0": {"url": "https://u:p@conda.anaconda.org/c/linux-64/a-1.2-h0.conda", "md5": "0" * 32},
        "b-1-0": {"url": token, "md5": "1" * 32},
        "c-3-0": {"md5": "2" * 32},
        "d-4-0": {"url": "https://h/d-4-0.conda"},
    }
    for name, row in rows.items():
        (meta / f"{name}.json").write_text(json.dumps({"name": name, **row}))
    found = installed.conda(str(tmp_path))
    assert "secret" not in str(found)
    assert "u:p" not in str(found)
    text, unknown = explicit(found)
    assert text.splitlines() == [
        "@EXPLICIT",
        "https://conda.anaconda.org/c/linux-64/a-1.2-h0.conda#" + "0" * 32,
        "https://h/d-4-0.conda",
    ]
    assert unknown == ("b 1", "c 3")
