"""Builds shared objects for the tests with the C compiler that is here."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from dsec_cli.plugins.scanning import Options, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Scan

HOSTILE = Path(__file__).parent / "hostile"
MAPS = Path(tempfile.gettempdir()) / f"dsec-tests-library-maps-{os.getuid()}"
"""Maps of the system's libraries are the same for every test; a second to make, a hundredth to read."""
WELL_MEANT = Path(__file__).parent / "well_meant"
PLAIN = ("-shared", "-fPIC", "-O2", "-w", "-Wl,--build-id", "-Wl,-z,relro,-z,now")


def build(source: Path, into: Path, *flags: str) -> Path:
    """Compile one file; the result lies in `into` under the source's name."""
    target = into / f"{source.stem}.so"
    run = subprocess.run(
        ["gcc", *PLAIN, *flags, "-o", target, source], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return target


def header(source: Path) -> dict[str, list[str]]:
    """The words of the comment lines at the top of a source: `// codes: a b`."""
    found: dict[str, list[str]] = {}
    for line in source.read_text().splitlines():
        if not line.startswith("// "):
            break
        name, _, words = line[3:].partition(":")
        found[name] = words.split()
    return found


def give_maps(cache: Path) -> None:
    """Put the maps of libraries that other tests have made into a user's cache."""
    cache.mkdir(0o700, parents=True)
    for path in MAPS.glob("*.json"):
        (cache / path.name).write_bytes(path.read_bytes())


def scanned(path: Path, door: str = "") -> Scan:
    """A scan that shares the maps of libraries with those of other tests."""
    return scan(str(path), Options(cache=str(MAPS), door=door))
