"""Texts that are no YAML at all, known by their name, their first line or their lines: Python, shell, TOML.

Imported only for texts that are no plain contract; what has a key of a contract is one, whatever its name.
"""

from __future__ import annotations

import re

from dsec_cli.contract.foreign import finding, foreign
from dsec_cli.contract.kinds import OWN_KEYS
from dsec_cli.contract.suggest import nearest
from dsec_cli.source.resolve import follow, pairs
from dsec_cli.source.tree import Mapping
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.diagnostics import Finding
    from dsec_cli.source.tree import Node

_MOST_LINES, _MOST_CHARACTERS, _MOST_KEYS = 400, 1 << 16, 50
"""Of a text that are looked at; what it is shows at its beginning."""
SCRIPT = "#!"
SBATCH = "#SBATCH"
_PYTHON, _SHELL, _TOML = say("a Python file"), say("a shell script"), say("a TOML file")
_DOCKER, _MAKE, _CODE = say("a Dockerfile"), say("a makefile"), say("a source file")
_ENDINGS = {
    **dict.fromkeys(("py", "pyi", "pyw", "pyx"), _PYTHON),
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "slurm", "sbatch"), _SHELL),
    "toml": _TOML,
    "json": say("a JSON file"),
    **dict.fromkeys(("jsonl", "ndjson"), say("a JSON Lines file")),
    "ipynb": say("a notebook"),
    **dict.fromkeys(("ini", "cfg", "conf"), say("an INI file")),
    "env": say("a file of environment variables"),
    **dict.fromkeys(("md", "markdown"), say("a Markdown file")),
    "rst": say("a reStructuredText file"),
    **dict.fromkeys(("csv", "tsv"), say("a table")),
    **dict.fromkeys(("html", "htm", "xml"), say("a page of HTML or XML")),
    **dict.fromkeys(("c", "cc", "cpp", "cu", "h", "go", "rs", "js", "ts", "java", "lua", "rb", "pl"), _CODE),
    **dict.fromkeys(("diff", "patch"), say("a patch")),
    "log": say("a log"),
    "dockerfile": _DOCKER,
    "mk": _MAKE,
}
_SURE = frozenset(("py", "pyi", "pyw", "pyx", "sh", "bash", "toml", "json", "jsonl", "ipynb"))
"""Endings that no contract in YAML has; what ends otherwise may be one with a slip in every key."""
_NAMES = {"dockerfile": _DOCKER, "containerfile": _DOCKER, "makefile": _MAKE, "gnumakefile": _MAKE}
_OF_CONTRACT = re.compile(
    r"(?:version|name|base|baseline|elasticity|fault_tolerance|dependencies|steps|tasks|iterations)"
    r"[ \t]*:(?:\s|$)"
)
"""A line of a contract, also of a broken one: a script below `run: |` is often not indented."""
_SIGNS = (
    (
        _PYTHON,
        2,
        re.compile(
            r"import [\w.]+|from [\w.]+ import |(?:async )?def \w+\(|class \w+\s*[(:]|@[A-Za-z_][\w.]*|"
            r'if __name__ ==|"""|print\(|\w+ = [\w.]+\(|(?:try|with [\w.]+\(.*):'
        ),
    ),
    (
        _SHELL,
        2,
        re.compile(
            r"set -[a-z]+|export \w+=|(?:if|while) \[|(?:fi|done|esac)\b|for \w+ in |source |echo |cd |"
            r"#SBATCH|srun |\w+=\$|module load "
        ),
    ),
    (_DOCKER, 2, re.compile(r"FROM [\w./:${}-]+|(?:RUN|COPY|CMD|ENV|ENTRYPOINT|WORKDIR|ARG) \S")),
    (_TOML, 2, re.compile(r"""\[\[?[\w."' -]+\]\]?\s*(?:#|$)|[\w."-]+\s*=\s*(?:["'\[{]|\d|true|false)""")),
)
"""Kinds, and of how many lines each must have the form; the first that fits."""


def of_text(text: str, file: str, roots: tuple[Node | None, ...], *, broken: bool) -> Finding | None:
    """What to say of a text that is no YAML; None for all others, also where its keys tell more.

    `roots` are those of its documents, and `broken` says that part of it could not be read.
    """
    if text.startswith(SCRIPT):
        first = text.partition("\n")[0]
        return _found(text, _PYTHON if "python" in first else say("a script"), file)
    if not broken and any(foreign(root, file) is not None for root in roots[:1]):
        return None
    keys = [] if broken else [key for root in roots for key in _keys(root)]
    name = file.replace("\\", "/").rpartition("/")[2].lower()
    what = _by_name(name, keys)
    if what is None and not keys:
        what = _by_lines(text, indented=name.endswith((".yaml", ".yml")))
    return None if what is None else _found(text, what, file)


def _keys(root: Node | None) -> list[str]:
    mapping = follow(root)
    return [pair.key for pair in pairs(mapping)] if isinstance(mapping, Mapping) else []


def _by_name(name: str, keys: list[str]) -> str | None:
    """What the name says; of a mapping, which may be a contract with slips, only where the name is sure."""
    ending = name.rpartition(".")[2] if "." in name else ""
    if keys and (ending not in _SURE or any(nearest(key, OWN_KEYS) for key in keys[:_MOST_KEYS])):
        return None
    return _NAMES.get(name) or _ENDINGS.get(ending)


def _by_lines(text: str, *, indented: bool) -> str | None:
    lines = text[:_MOST_CHARACTERS].splitlines()[:_MOST_LINES]
    if any(_OF_CONTRACT.match(line.lstrip() if indented else line) for line in lines):
        return None
    for what, least, form in _SIGNS:
        if sum(form.match(line) is not None for line in lines) >= least:
            return what
    return None


def _found(text: str, what: str, file: str) -> Finding:
    slurm = what != _PYTHON and any(line.startswith(SBATCH) for line in text.splitlines())
    if slurm:
        return finding(say("a job script of Slurm"), "import slurm", file)
    return finding(what, "code" if what == _PYTHON else "name", file)
