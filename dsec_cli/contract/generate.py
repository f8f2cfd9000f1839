"""Writes what follows from the model: JSON Schemas, the reference page, the fast checker's table.

`python -m dsec_cli.contract.generate` writes, `--check` only says what is stale (exit code 1).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from dsec_cli.contract import generate_reference, generate_schema, generate_table

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def outputs() -> dict[str, str]:
    """Every generated file: path from the repository's root to content."""
    return {
        "dsec_cli/contract/table.py": generate_table.render(),
        "docs/reference/contract.md": generate_reference.render(),
        **generate_schema.render(),
    }


def stale(files: Mapping[str, str], *, root: str) -> list[str]:
    """Paths whose content on disk is missing or different."""
    return [path for path, text in files.items() if _read(os.path.join(root, path)) != text]


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def main(argv: list[str]) -> int:
    """Write stale files, or with `--check` name them and answer 1 when there are any."""
    files = outputs()
    old = stale(files, root=ROOT)
    for path in old:
        sys.stdout.write(f"{'stale' if '--check' in argv else 'wrote'} {path}\n")
        if "--check" in argv:
            continue
        os.makedirs(os.path.dirname(os.path.join(ROOT, path)), exist_ok=True)
        with open(os.path.join(ROOT, path), "w", encoding="utf-8", newline="") as file:
            file.write(files[path])
    return 1 if old and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
