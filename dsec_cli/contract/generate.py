"""Writes what follows from the model: JSON Schemas, the reference page, the fast checker's table.

`python -m dsec_cli.contract.generate` writes, `--check` only says what is stale (exit code 1).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from dsec_cli.contract import generate_reference, generate_schema, generate_table

ROOT = Path(__file__).resolve().parents[2]


def outputs() -> dict[str, str]:
    """Every generated file: path from the repository's root to content."""
    return {
        "dsec_cli/contract/table.py": generate_table.render(),
        "docs/reference/contract.md": generate_reference.render(),
        **generate_schema.render(),
    }


def stale(files: Mapping[str, str], *, root: Path) -> list[str]:
    """Paths whose content on disk is missing or different."""
    return [path for path, text in files.items() if _read(root / path) != text.encode()]


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def main(argv: list[str]) -> int:
    """Write stale files, or with `--check` name them and answer 1 when there are any."""
    files = outputs()
    old = stale(files, root=ROOT)
    for path in old:
        sys.stdout.write(f"{'stale' if '--check' in argv else 'wrote'} {path}\n")
        if "--check" not in argv:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_bytes(files[path].encode())
    return 1 if old and "--check" in argv else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
