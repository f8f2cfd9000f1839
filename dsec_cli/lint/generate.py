"""Writes the reference pages of the rules from their docstrings.

`python -m dsec_cli.lint.generate` writes, `--check` only says what is stale (exit code 1).
"""

from __future__ import annotations

import sys
from pathlib import Path

from dsec_cli.lint.page import markdown, read
from dsec_cli.lint.rule import find_rules

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("docs/reference/rules")
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
    return {FOLDER / "README.md": index, **pages}


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
