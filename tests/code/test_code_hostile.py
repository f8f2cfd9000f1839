"""Any text at all: never an exception, never without end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsec_cli.code.analyse import analyse
from dsec_cli.code.codec import render
from dsec_cli.code.evaluate import Evaluator
from dsec_cli.code.parse import MOST_WEIGHT, parse, weight
from dsec_cli.code.project import Imports, Project, absolute, module_name
from dsec_cli.source.text import SourceText

DEEP = {
    "parentheses": "x = " + "(" * 5000 + ")" * 5000,
    "brackets": "x = " + "[" * 5000,
    "signs": "x = " + "-" * 5000 + "1",
    "nots": "x = " + "not " * 5000 + "1",
    "attributes": "open(a" + ".b" * 5000 + ")",
    "calls": "open(a" + "()" * 3000 + ")",
    "calls-less-deep": "open(a" + "()" * 900 + ")",
    "items-less-deep": "open(a" + "[0]" * 900 + ")",
    "sums": "open('a'" + " + 'b'" * 900 + ")",
    "long-sums": "open('a'" + " + 'b'" * 9000 + ")",
    "items": "open(a" + "[0]" * 3000 + ")",
    "choices": "open(" + "1 if a else " * 1000 + "2)",
    "elifs": "if a: pass\n" + "elif b: pass\n" * 3000,
    "lambdas": "x = " + "lambda: " * 1500 + "1",
    "ifs": "\n".join(" " * at + "if x:" for at in range(150)),
    "zero": "x = 1\0",
    "digits": "x = " + "9" * 5000,
    "escapes": "x = '\\d'; y = 1 is 1; open('\\ud800', '\\x00')",
    "separators": "x = 1\u2028y = 2",
    "bytes": "\ufeff\ufeffx",
}


@pytest.mark.battery
@pytest.mark.parametrize("name", DEEP)
def test_deep_and_odd_texts(name: str, reading) -> None:
    needs = reading.needs(a=DEEP[name], b="open('still read')")
    assert "still read" in {one.path for one in needs.files}
    whole = [one for one in needs.unread if "in part only" not in one.reason]
    assert len(whole) + needs.files_read == 2
    assert all(one.reason.isprintable() for one in needs.unread)


FORMS = """
match x:
    case True | None | False | 1 | -1 | 1+2j | "s" | b"b": open("singletons")
    case [a, *rest] | (a, _, *rest): open("sequences")
    case {"k": v, **more}: open("mappings")
    case P(q, r=s) as whole if q: open("classes")
    case _: open("else")
async def f(a, /, b: int = 1, *c, d=2, **e) -> str:
    async with x as (y, *z): open("with")
    async for i in x: open("for")
    else: open("for-else")
    return [await j async for j in x if j] or (yield i)
try: open("try")
except* (A, B) as many: open("except")
else: open("try-else")
finally: open("finally")
del x[1:2:3], y.z
global g
n: "T" = (m := lambda *a, k=...: {**a, 1: 2} | {*a} and a[..., ::2] or not ~a @ b // c)
print(f"{x!r:>{w}} {x=}", *a, **k)
raise E from None
assert x, open("assert")
while x: break
else: open("while-else")
"""


def test_every_form_of_the_language_is_read(reading) -> None:
    needs = reading.needs(a=FORMS)
    assert needs.files_read == 1
    names = (
        "singletons",
        "sequences",
        "mappings",
        "classes",
        "else",
        "with",
        "for",
        "for-else",
        "try",
        "except",
    )
    assert {*names, "try-else", "finally", "assert", "while-else"} <= {one.path for one in needs.files}


def chain(count: int) -> str:
    lines = [f"x{at + 1} = x{at} + x{at} + x{at}" for at in range(count)]
    return "import requests\nx0 = a or b or 'http://a.b'\n" + "\n".join(lines) + f"\nrequests.get(x{count})"


def mutual(count: int) -> str:
    every = "+".join(f"f{at}(x)" for at in range(count))
    return (
        "import requests\n"
        + "\n".join(f"def f{at}(x): return {every}" for at in range(count))
        + "\nrequests.get(f0('x'))"
    )


WIDE = {
    "chain": {"a": chain(300)},
    "mutual": {"a": mutual(12)},
    "bases": {
        "a": "\n".join(f"class C{at}({', '.join(f'C{one}' for one in range(max(0, at - 8), at))}): pass" for at in range(60))
        + "\nopen(C59().x)"
    },
    "own-base": {"a": "class A(B): pass\nclass B(A): pass\nopen(A().x)\nclass C(C): pass\nopen(C().x)"},
    "import-cycle": {f"m{at}": f"from m{(at + 1) % 30} import *\nopen(z)" for at in range(30)},
    "stars": {f"m{at}": "".join(f"from m{one} import *\n" for one in range(40)) + "open(z)" for at in range(40)},
    "callers": {
        "a": "import requests\ndef f(u, v, w): requests.get(u + v + w)\n"
        + "\n".join(f"f('http://h{at}.com', '/', '{at}')" for at in range(1000))
    },
    "tools": {
        "a": "from langchain_core.tools import tool\n"
        + "\n".join(f"@tool\ndef t{at}(x): t{(at + 1) % 500}(x)" for at in range(500))
    },
    "self": {"a": "import requests\ndef f(u): return f(u + '/x') or requests.get(u)\nf('https://h.com')"},
    "unknown": {"a": "open(a)\n" * 2000},
}  # fmt: skip


@pytest.mark.battery
@pytest.mark.parametrize("name", WIDE)
def test_what_branches_without_end_ends(name: str, reading) -> None:
    needs = reading.needs(**WIDE[name])
    assert needs.files_read == len(WIDE[name])


A, GET = "'https://a.com'", "requests.get"
ITSELF = {
    "merged": f"c = {{'u': {A}}}\nc = {{**c, 't': 3}}\n{GET}(c['u'])",
    "dict-keywords": f"c = {{'u': {A}}}\nc = dict(**c, t=3)\n{GET}(c['u'])",
    "dict-copy": f"c = {{'u': {A}}}\nc = dict(c, t=3)\n{GET}(c['u'])",
    "dict-only-copy": f"c = {{'u': {A}}}\nd = dict(c, t=3)\nd = dict(d)\n{GET}(d['u'])",
    "list": f"c = [{A}]\nc = [*c, {A}]\nfor x in c: {GET}(x)\n{GET}(c[0])",
    "list-behind-star": f"c = [{A}]\nc = [*c, *c, {A}]\n{GET}(c[1])",
    "attribute": f"class A:\n def f(self):\n  self.d = {{'u': {A}}}\n  self.d = {{**self.d}}\n  {GET}(self.d['u'])",
    "each-other": f"a = {{**b}}\nb = {{**a, 'u': {A}}}\n{GET}(a['u'])",
    "union": f"c = {{'u': {A}}}\nc = {{**c}} | {{**c}}\n{GET}({{**c}}['u'])",
    "comprehension": f"c = [{A}]\nc = [*[x for x in [*c]]]\nfor x in c: {GET}(x)",
    "pairs": f"c = {{'u': {A}}}\nc = dict(**{{**c}})\nfor k, v in c.items(): {GET}(v)",
    "property": (
        "class A:\n @property\n def x(self): return {**self.y}\n"
        f" @property\n def y(self): return {{**self.x, 'u': {A}}}\n{GET}(A().x['u'])"
    ),
    "keywords": f"k = {{'url': {A}}}\nk = {{**k, 'timeout': 1}}\n{GET}(**k)",
    "parameters": f"def f(u): {GET}(u)\nk = {{'u': {A}}}\nk = dict(**k)\nf(**k)",
    "functions": f"def f(**k): return {{'u': {A}, **g(**k)}}\ndef g(**k): return {{**f(**k)}}\n{GET}(f()['u'])",
    "slice": f"c = [{A}, {A}]\nc = c[1:]\nfor x in c: {GET}(x)",
}  # fmt: skip


@pytest.mark.parametrize("name", ITSELF)
def test_what_is_made_of_itself_is_followed(name: str, reading) -> None:
    needs = reading.needs(a=f"import requests\n{ITSELF[name]}")
    assert {one.host for one in needs.egress} == {"a.com"}


def doubled(line: str, last: str, first: str = "{'u': 'https://a.com'}") -> str:
    lines = "\n".join(line.replace("NEXT", f"d{at + 1}").replace("HERE", f"d{at}") for at in range(60))
    return f"import requests, autogen\nd0 = {first}\n{lines}\n{last}"


DOUBLED = {
    "merged": doubled("NEXT = {**HERE, **HERE}", "requests.get(d60['u'])"),
    "missed": doubled("NEXT = {**HERE, **HERE}", "requests.get(d60['other'])"),
    "keywords": doubled("NEXT = dict(**HERE, **dict(**HERE))", "requests.get(**d60)"),
    "lists": doubled("NEXT = [*HERE, *HERE, *HERE]", "for x in d60: requests.get(x)\nrequests.get(d60[0])", "[]"),
    "functions": doubled("def NEXT(): return {**HERE(), **HERE()}", "requests.get(d60()['u'])", "dict"),
    "tools": doubled("NEXT = [*HERE, *HERE]", "m.bind_tools(d60)\nf(tools=d60)", "[]"),
    "configuration": doubled("NEXT = {**HERE, **HERE}", "autogen.AssistantAgent('a', llm_config=d60)"),
    "texts": doubled("NEXT = f'{HERE}{HERE}'", "requests.get(d60)", "'https://a.com/'"),
    "empty": "import requests\nx = {" + "**y, " * 900 + "}\ny = {" + "**z, " * 900 + "}\nz = {" + "**w, " * 900
    + "}\nw = {}\nrequests.get(x['u'])",
    "overridden": "class A0:\n def f(self): return self.g()\n"
    + "\n".join(f"class A{at + 1}(A{at}):\n def f(self): return self.f()\n def g(self): open(self.f())" for at in range(60)),
    "parts": "import lib\nx0 = lib.f()\n" + "\n".join(f"x{at + 1} = x{at}[0].part()" for at in range(1500)) + "\nopen(x1500)",
    "put-in": "a = {}\n" + "\n".join(f"a[a['k{at}']] = a" for at in range(400)) + "\nopen(a['k1'])",
    "methods": "import lib\nclass A(lib.B):\n" + "\n".join(f" def m{at}(self): A()" for at in range(900)),
}  # fmt: skip


@pytest.mark.battery
@pytest.mark.parametrize("name", DOUBLED)
def test_what_doubles_with_every_line_ends(name: str, reading, monkeypatch) -> None:
    questions = 0
    once = Evaluator.once

    def counted(*args):
        nonlocal questions
        questions += 1
        assert questions < 200_000
        return once(*args)

    monkeypatch.setattr(Evaluator, "once", counted)
    assert reading.needs(a=DOUBLED[name]).files_read == 1


def test_what_follows_a_value_that_doubles_is_read(reading) -> None:
    lines = "\n".join(f"u{at + 1} = u{at} + u{at}" for at in range(40))
    needs = reading.needs(
        a=f"import requests\nu0 = 'http://a.b/'\n{lines}\nrequests.get(u40)\n"
        "requests.get('http://plain.example/')"
    )
    assert {one.host for one in needs.egress} == {"plain.example"}
    assert "too many steps" in needs.unknowns[0].reason
    assert not needs.unread


def test_a_file_that_takes_too_many_steps_is_said_to_be_read_in_part(reading, monkeypatch) -> None:
    monkeypatch.setattr(Evaluator, "allow", lambda self, module: setattr(self, "steps", 0))
    needs = reading.needs(a="import requests\nrequests.get('http://a.b/')")
    assert [one.reason.startswith("it is read in part only") for one in needs.unread] == [True]


def test_what_may_hold_another_value_is_said(reading) -> None:
    text = "import json, requests\nd = {'u': 'https://a.com', **json.load(f)}\nrequests.get(d['u'])"
    needs = reading.needs(a=text)
    assert [one.host for one in needs.egress] == ["a.com"]
    assert [one.kind for one in needs.unknowns] == ["egress"]
    fixed = reading.needs(
        a=text.replace("{'u': 'https://a.com', **json.load(f)}", "{**json.load(f), 'u': 'https://a.com'}")
    )
    assert [one.host for one in fixed.egress] == ["a.com"]
    assert not fixed.unknowns


def test_entries_of_large_displays_are_found_or_said(reading) -> None:
    many = ", ".join(f"'k{at}': 'https://h{at}.com'" for at in range(3000))
    lines = "\n".join(f"requests.get(d['k{at}'])" for at in range(1000, 2000))
    needs = reading.needs(a=f"import requests\nd = {{{many}}}\n{lines}")
    assert {one.host for one in needs.egress} == {f"h{at}.com" for at in range(1000, 2000)}
    same = ", ".join(["'https://a.com'"] * 80)
    needs = reading.needs(a=f"import requests\nfor u in [{same}, 'https://b.com']: requests.get(u)")
    assert {one.host for one in needs.egress} == {"a.com"}
    assert "more than 16 possible values" in needs.unknowns[0].reason


@pytest.mark.parametrize(
    "use", ["open(y)", "requests.get(y)", "os.getenv(y)", "subprocess.run([y])", "open(f'{-y}')"]
)
def test_numbers_of_many_digits(use: str, reading) -> None:
    needs = reading.needs(a=f"import os, requests, subprocess\ny = 0x{'f' * 9000}\n{use}")
    assert needs.files_read == 1


def test_a_deep_stack_of_the_caller_is_no_trouble(reading) -> None:
    lines = "\n".join(f"(x{at + 1},) = [f(x{at}) for a in [x{at}]]" for at in reversed(range(80)))
    project = reading.project(a=f"def f(x): return x\nopen(x80)\n{lines}\nx0 = 'a'")

    def deeper(levels: int):
        return deeper(levels - 1) if levels else analyse(project)

    assert "too many steps" in deeper(700).unknowns[0].reason


def test_too_large_a_file_is_said_and_not_read(reading) -> None:
    text = "x = 1\n" * 1_700_000
    assert weight(text) > MOST_WEIGHT
    needs = reading.needs(a=text, b="open('x')")
    assert [one.file for one in needs.unread] == ["a.py"]
    assert "too large" in needs.unread[0].reason
    assert needs.files_read == 1


def test_too_large_a_project_is_said(reading, monkeypatch) -> None:
    monkeypatch.setattr("dsec_cli.code.analyse.MOST_TOGETHER", 100)
    needs = reading.needs(a="f()\n" * 30, b="f()\n" * 30)
    assert (needs.files_read, [one.file for one in needs.unread]) == (1, ["b.py"])


def test_many_possible_values_are_said(reading) -> None:
    text = "import requests\n" + "".join(f"if c{at}: h = 'h{at}.com'\n" for at in range(40))
    needs = reading.needs(a=text + "requests.get('https://' + h)")
    assert 0 < len(needs.egress) <= 16
    assert "more than 16 possible values" in needs.unknowns[0].reason


@pytest.mark.battery
@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text(text: str) -> None:
    needs = analyse(Project({"a.py": SourceText("a.py", text.encode("utf-8", "surrogatepass"))}))
    assert needs.files_read + len(needs.unread) == 1


PIECES = st.recursive(
    st.sampled_from(
        ["a", "b", "x", "'https://h.com'", "'k'", "1", "None", "os.environ", "os", "requests", "Path('p')", "self",
         "__file__", "{'k': 'v'}", "['u', 'v']", "(1, 2)", "f"]
    ),
    lambda inner: st.one_of(
        st.builds("{} + {}".format, inner, inner), st.builds("({} / {})".format, inner, inner),
        st.builds("{}.k".format, inner), st.builds("{}[{}]".format, inner, inner),
        st.builds("{}({})".format, inner, inner), st.builds("f'x{{{}}}'".format, st.sampled_from(["a", "b.c", "x"])),
        st.builds("({} or {})".format, inner, inner), st.builds("{}.get({})".format, inner, inner),
        st.builds("[{} for x in {}]".format, inner, inner), st.builds("open({}, {})".format, inner, inner),
        st.builds("subprocess.run({}, shell={})".format, inner, inner), st.builds("requests.get({})".format, inner),
        st.builds("os.getenv({})".format, inner), st.builds("(lambda x: {})({})".format, inner, inner),
        st.builds("{{**{}, 'k': {}}}".format, inner, inner), st.builds("[*{}, {}]".format, inner, inner),
        st.builds("dict({}, **{})".format, inner, inner), st.builds("dict(k={}, **{})".format, inner, inner),
        st.builds("{}.items()".format, inner), st.builds("{}[1:]".format, inner),
        st.builds("f(*{}, **{})".format, inner, inner), st.builds("'{{}}'.format({})".format, inner),
        st.builds("Tool('n', {}, 'd')".format, inner), st.builds("agent(tools={})".format, inner),
    ),
    max_leaves=8,
)  # fmt: skip
LINES = st.lists(
    st.one_of(
        st.builds("a = {}".format, PIECES), st.builds("b, x = {}".format, PIECES), st.builds("{}".format, PIECES),
        st.builds("for x, b in {}: a = x".format, PIECES), st.builds("a += {}".format, PIECES),
        st.builds("def f(x={}, *a, k={}): return {}".format, PIECES, PIECES, PIECES),
        st.builds("class C({}):\n  k: str = {}\n  def get(self, x): return {}".format, PIECES, PIECES, PIECES),
        st.builds("with {} as b: {}".format, PIECES, PIECES), st.builds("@{}\ndef f(x): {}".format, PIECES, PIECES),
        st.builds("os.environ[{}] = {}".format, PIECES, PIECES), st.builds("from m import {}".format, st.sampled_from("abx*")),
        st.builds("if {} in os.environ: global a".format, PIECES),
    ),
    max_size=12,
)  # fmt: skip
HEAD = "import os, requests, subprocess\nfrom pathlib import Path\nfrom langchain_core.tools import Tool\n"


@pytest.mark.battery
@given(LINES, LINES)
@settings(max_examples=150, deadline=None)
def test_any_small_project(first: list[str], second: list[str]) -> None:
    files = {
        name: SourceText(name, (HEAD + "\n".join(lines)).encode())
        for name, lines in (("m.py", first), ("n.py", second))
    }
    needs = analyse(Project(files))
    assert needs == analyse(Project(files))
    assert needs.files_read + len(needs.unread) == 2
    for row in (*needs.egress, *needs.files, *needs.unknowns, *needs.environment, *needs.subprocesses):
        assert row.reached
        assert 1 <= row.place.start.line <= files[row.place.file].line_count
    render(needs)


@given(st.lists(st.sampled_from(["a", "b", "src"]), min_size=1, max_size=3), st.integers(0, 5))
@settings(max_examples=50, deadline=None)
def test_relative_imports_never_leave_the_project(parts: list[str], level: int) -> None:
    path = "/".join(parts) + ".py"
    name = absolute(path, "x", level)
    assert not name.startswith(".")
    assert Imports({path: SourceText(path, b"")}).path("", module_name(path)) == path


def test_imports_find_modules_as_scripts_and_packages_do() -> None:
    names = ("src/pkg/__init__.py", "src/pkg/tool.py", "scripts/run.py", "scripts/tool.py", "top.py")
    imports = Imports({name: SourceText(name, b"") for name in names})
    assert imports.path("top.py", "pkg.tool") == "src/pkg/tool.py"
    assert imports.path("scripts/run.py", "tool") == "scripts/tool.py"
    assert imports.path("src/pkg/__init__.py", "tool") is None  # a package does not see its own modules so
    assert imports.path("top.py", "requests") is None


def test_a_tree_or_a_reason() -> None:
    assert parse("x = 1").__class__.__name__ == "Module"
    assert parse("def half(:") == "line 1 is no Python: invalid syntax"
