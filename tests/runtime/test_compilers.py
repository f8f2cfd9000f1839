"""Which C compiler is used, and what its complaint is."""

from __future__ import annotations

from dsec import compilers


def program(folder, name):
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_cc_comes_first_and_what_it_names_alone_is_tried(tmp_path):
    gcc, clang = program(tmp_path, "gcc"), program(tmp_path, "clang")
    environ = {"PATH": str(tmp_path)}
    assert compilers.find(environ) == gcc
    assert compilers.find({**environ, "CC": "clang"}) == clang
    assert compilers.find({**environ, "CC": "tcc"}) == ""
    assert compilers.wanted({**environ, "CC": "tcc"}) == ("tcc",)
    assert compilers.find({"PATH": "/nowhere"}) == ""


def test_other_sources_and_flags_have_another_mark(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("int a;")
    first = compilers.mark([str(source)], ["-O1"])
    assert first == compilers.mark([str(source)], ["-O1"]) != compilers.mark([str(source)], ["-O2"])
    source.write_text("int b;")
    assert compilers.mark([str(source)], ["-O1"]) != first


def test_the_complaint_is_the_line_with_the_error():
    assert compilers.complaint("In file a.c:\na.c:1: error: no\nstopped\n") == "a.c:1: error: no"
    assert compilers.complaint("killed\n") == "killed"
    assert compilers.complaint("") == ""
