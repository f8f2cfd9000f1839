"""The C parser is imported alone, and nobody else notices."""

from __future__ import annotations

import subprocess
import sys

import pytest

PARSE = """
import sys
from dsec_cli.source import extension
from dsec_cli.source.text import SourceText
from dsec_cli.source.yaml import parse as read_tree
def value():
    tree = read_tree(SourceText.from_bytes("a", b"a: [1, &only_the_c_parser_reads_anchors 2]\\n"))
    return tree.documents[0].root.entries[0].value.items[1].text
"""

USE = """
import io
import ruamel.yaml
assert type(ruamel.yaml.YAML).__name__ == "type", ruamel.yaml.YAML
safe = ruamel.yaml.YAML(typ="safe")
assert safe.load("a: [1, 2]") == {"a": [1, 2]}
assert safe.Parser.__module__.endswith("_ruamel_yaml"), safe.Parser
pure = ruamel.yaml.YAML(typ="safe", pure=True)
assert pure.load("a: {b: 1.5}") == {"a": {"b": 1.5}}
out = io.StringIO()
whole = ruamel.yaml.YAML()
whole.dump(whole.load("a: [1, 2]  # kept\\n"), out)
assert out.getvalue() == "a: [1, 2]  # kept\\n", out.getvalue()
for module, error in (("scanner", "ScannerError"), ("parser", "ParserError"), ("error", "YAMLError")):
    text = '"open' if error == "ScannerError" else "a: ]"
    for reader in (safe, pure, whole):
        try:
            reader.load(text)
        except getattr(getattr(ruamel.yaml, module), error) as problem:
            assert isinstance(problem, ruamel.yaml.error.MarkedYAMLError)
        else:
            raise AssertionError((module, error, reader))
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml import *
assert YAML is ruamel.yaml.YAML
"""

LOOK = """
names = [name for name, module in sys.modules.items() if name.startswith("ruamel.yaml")
         and type(module).__name__ != "_Postponed"]
"""


def _run(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_reading_executes_only_small_modules_of_the_package() -> None:
    names = _run(f"{PARSE}\nassert value() == '2'\n{LOOK}\nprint(' '.join(sorted(names)))").split()
    short = [name.removeprefix("ruamel.yaml.") for name in names]
    assert set(short) <= {
        "error",
        "events",
        "nodes",
        "tokens",
        "compat",
        "docinfo",
        "tag",
        "clib._ruamel_yaml",
    }


def test_an_ordinary_text_does_without_it() -> None:
    code = PARSE.replace("&only_the_c_parser_reads_anchors ", "")
    names = _run(f"{code}\nassert value() == '2'\nprint(' '.join(sys.modules))").split()
    assert not any("ruamel" in name for name in names)
    assert "dsec_cli.source.builder" not in names


def test_reading_imports_no_heavy_module() -> None:
    heavy = {"typing", "re", "enum", "dataclasses", "datetime", "inspect", "json", "logging", "pathlib"}
    names = _run(f"{PARSE}\nassert value() == '2'\nprint(' '.join(sys.modules))").split()
    bare = _run("import sys\nprint(' '.join(sys.modules))").split()
    assert not heavy & (set(names) - set(bare))


@pytest.mark.parametrize(
    "order",
    [
        f"{PARSE}\nassert value() == '2'\n{USE}\nassert value() == '2'",
        f"{USE}\n{PARSE}\nassert value() == '2'\n{USE}",
        f"from ruamel.yaml import YAML\n{PARSE}\nassert value() == '2'\n{USE}",
        f"{PARSE}\nvalue()\nimport ruamel.yaml.scanner as s\nassert s.Scanner\n{USE}",
        f"{PARSE}\nvalue()\nimport ruamel.yaml.constructor\n{USE}",
        f"{PARSE}\nvalue()\nfrom ruamel.yaml import *\nassert YAML\n{USE}",
    ],
)
def test_the_package_works_as_ever_before_and_after(order: str) -> None:
    _run(order)


@pytest.mark.parametrize(
    "breakage",
    [
        "def fail(*_): raise ImportError('no such way')\nextension._postpone = fail",
        "extension._NEEDED_FOR_ONE_ERROR = extension._NEEDED_FOR_ONE_ERROR[:-1] + (('representer', 'Odd'),)",
        "extension._NEEDED_FOR_ONE_ERROR = (('absent', 'AbsentError'),)",
        "def fail(): raise AttributeError('changed')\nextension._import_lean = fail",
    ],
)
def test_where_the_short_way_fails_the_ordinary_one_is_taken(breakage: str) -> None:
    _run(f"{PARSE}\n{breakage}\nassert value() == '2'\n{USE}")


def test_without_the_c_parser_the_error_says_what_to_install() -> None:
    _run(f"""{PARSE}
from dsec.errors import DSecError
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == "_ruamel_yaml":
            raise ImportError("no such library")
sys.meta_path.insert(0, Missing())
try:
    value()
except DSecError as error:
    assert "ruamel.yaml.clib" in error.hint and "no such library" in error.what
else:
    raise AssertionError("read without a parser")
""")
