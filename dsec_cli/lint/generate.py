"""Writes what is known of the rules from their files: the index of the linter, the reference pages.

`python -m dsec_cli.lint.generate` writes, `--check` only says what is stale (exit code 1).
"""

from __future__ import annotations

import sys
from pathlib import Path

from dsec_cli.lint.page import markdown, read
from dsec_cli.lint.rule import Rule, find_rules

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("docs/reference/rules")
INDEX = Path("dsec_cli/lint/index.py")
INDEX_HEAD = '''"""Every rule: code, name, severity, scope, and the words that must hold for it to be asked.

Generated from the rules by `python -m dsec_cli.lint.generate`.
"""

from __future__ import annotations

ROWS: tuple[tuple[str, str, str, str, tuple[str, ...]], ...] = (
'''
HEAD = """# Rules

One page per rule; `dsec explain CODE` shows the same page in a terminal. "Seed A", "seed B" and "seed C" are
the three texts DSec is designed from: Step contracts, sandbox environments, training health.

"""


def outputs() -> dict[Path, str]:
    """Every generated file: path from the repository's root to content."""
    rules = find_rules()
    rows = "".join(
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.value} | {read(rule).summary} |\n"
        for rule in rules
    )
    index = f"{HEAD}| code | name | severity | finds |\n| --- | --- | --- | --- |\n{rows}"
    pages = {FOLDER / f"{rule.code}.md": markdown(rule) for rule in rules}
    return {INDEX: _index(rules), FOLDER / "README.md": index, **pages}


def _index(rules: tuple[Rule, ...]) -> str:
    """The module from which the linter knows the rules before it imports them."""
    rows = "".join(f"    {_row(rule)},\n" for rule in rules)
    return f"{INDEX_HEAD}{rows})\n"


def _row(rule: Rule) -> str:
    words = ", ".join(f'"{word}"' for word in rule.when) + ("," if len(rule.when) == 1 else "")
    return f'("{rule.code}", "{rule.name}", "{rule.severity.value}", "{rule.scope}", ({words}))'


def stale(root: Path) -> list[Path]:
    """Paths that are missing or different on disk, and pages of rules that are gone."""
    files = outputs()
    old = [path for path, text in files.items() if _content(root / path) != text]
    left = [path.relative_to(root) for path in sorted((root / FOLDER).glob("*.md"))]
    return old + [path for path in left if path not in files]


def _content(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def write(root: Path) -> None:
    """Bring all pages up to date."""
    files = outputs()
    for path in stale(root):
        if path in files:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(files[path], "utf-8")
        else:
            (root / path).unlink()


def main(argv: list[str]) -> int:
    """Write stale pages, or with `--check` name them and answer 1 when there are any."""
    old = stale(ROOT)
    for path in old:
        sys.stdout.write(f"{'stale' if '--check' in argv else 'wrote'} {path}\n")
    if "--check" in argv:
        return 1 if old else 0
    write(ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
