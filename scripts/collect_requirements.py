"""Reads what releases of the field's packages require, with pip alone, and writes `dsec_cli/packages/data/`.

    python scripts/collect_requirements.py [NAME ...]

`pip index versions` lists the releases, `pip install --dry-run --no-deps --report` tells the metadata of
those named in `READ`; nothing is installed and no code of a package runs. One file a package, the same
bytes for the same answers. Rows found elsewhere (`notes.json`) are written by hand and left alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

FORMAT = "dsec.conflicts/1"
FOLDER = Path(__file__).resolve().parents[1] / "dsec_cli" / "packages" / "data"
TORCH = (
    "2.0.0 2.0.1 2.1.0 2.1.1 2.1.2 2.2.0 2.2.1 2.2.2 2.3.0 2.3.1 2.4.0 2.4.1 2.5.0 2.5.1 2.6.0 2.7.0 2.7.1 \
2.8.0 2.9.0 2.9.1 2.10.0 2.11.0 2.12.0 2.12.1 2.14.0 2.14.1"
)
READ = {
    "torch": TORCH,
    "torchvision": "0.15.1 0.15.2 0.16.0 0.16.1 0.16.2 0.17.0 0.17.1 0.17.2 0.18.0 0.18.1 0.19.0 0.19.1 \
0.20.0 0.20.1 0.21.0 0.22.0 0.22.1 0.23.0 0.24.0 0.24.1 0.25.0 0.26.0 0.27.0 0.27.1 0.28.0 0.29.0 \
0.29.1",
    "torchaudio": "2.0.1 2.0.2 2.1.0 2.1.1 2.1.2 2.2.0 2.2.1 2.2.2 2.3.0 2.3.1 2.4.0 2.4.1 2.5.0 2.5.1 2.6.0 \
2.7.0 2.7.1 2.8.0 2.9.0 2.9.1 2.10.0 2.11.0 2.11.1",
    "vllm": "0.5.0 0.5.4 0.5.5 0.6.0 0.6.2 0.6.3 0.6.4 0.6.6 0.7.0 0.7.3 0.8.0 0.8.5 0.9.0 0.9.2 0.10.0 \
0.10.2 0.11.0 0.11.2 0.12.0 0.13.0 0.15.1 0.20.2 0.25.1 0.30.0 0.33.0",
    "transformers": "4.38.2 4.39.3 4.40.0 4.40.1 4.40.2 4.41.0 4.41.1 4.41.2 4.42.0 4.42.1 4.42.2 4.42.3 \
4.42.4 4.43.4 4.44.2 4.45.2 4.46.3 4.48.3 4.49.0 4.51.3 4.53.3 4.55.4 4.57.6 5.0.0 5.5.4 5.10.4 \
5.20.2 5.24.0",
    "trl": "0.7.11 0.8.6 0.9.2 0.9.3 0.9.4 0.9.6 0.11.4 0.12.2 0.13.0 0.15.2 0.17.0 0.19.1 0.21.0 0.23.1 \
0.25.1 0.29.1 1.0.0 1.8.0 1.16.0",
    "peft": "0.7.1 0.9.0 0.10.0 0.11.1 0.13.2 0.15.2 0.17.1 0.19.1 0.21.2",
    "accelerate": "0.25.0 0.27.2 0.30.1 0.33.0 0.34.2 1.0.1 1.2.1 1.6.0 1.10.1 1.15.0",
    "xformers": "0.0.20 0.0.22 0.0.23 0.0.24 0.0.25 0.0.26.post1 0.0.27 0.0.28 0.0.28.post3 0.0.29 \
0.0.29.post2 0.0.30 0.0.31 0.0.32.post2 0.0.33 0.0.34 0.0.35",
    "datasets": "2.14.7 2.16.1 2.18.0 2.19.2 2.20.0 2.21.0 3.0.2 3.2.0 3.6.0 4.0.0 4.5.0 5.0.1 5.2.0",
    "numba": "0.57.1 0.58.1 0.59.1 0.60.0 0.61.0 0.61.2 0.62.1 0.63.1 0.65.1 0.68.1",
    "scipy": "1.9.3 1.10.1 1.11.4 1.12.0 1.13.1 1.14.1 1.15.3 1.16.3 1.17.1",
    "jax": "0.4.20 0.4.26 0.4.30 0.4.35 0.4.38 0.5.3 0.6.2 0.7.2 0.8.3 0.9.2 0.10.2",
    "jaxlib": "0.4.20 0.4.26 0.4.30 0.4.36 0.5.3 0.6.2 0.8.3 0.10.2",
    "langchain": "0.2.17 0.3.0 0.3.30 1.0.8 1.2.18 1.5.2",
    "langchain-openai": "0.1.25 0.2.14 0.3.35 1.0.3 1.7.4",
    "openai": "1.30.0 1.55.0 1.99.0 2.54.0 3.0.0 3.57.0",
    "pandas": "1.5.3 2.0.3 2.1.4 2.2.2 2.3.3 3.1.1",
    "tensorboard": "2.15.2 2.16.2 2.18.0 2.21.0",
    "bitsandbytes": "0.43.3 0.45.5 0.48.2 0.50.2",
    "pydantic": "2.7.4 2.9.2 2.10.6 2.11.10 2.12.5 2.14.4",
}
LISTED = {
    "fsspec": "2023.1.0",
    "httpx": "0.23.0",
    "huggingface-hub": "0.14.1",
    "langchain-core": "0.1.0",
    "numpy": "1.22.0",
    "protobuf": "3.19.0",
    "setuptools": "65.0.0",
    "tokenizers": "0.13.0",
    "triton": "2.0.0",
}
"""Packages that others hold to ranges: only their releases are listed, from the one that stands here."""


def pip(*words: str) -> str:
    """What pip prints; "" where it does not know."""
    # What this machine adds to the index (local wheels, constraints) must not colour the answer.
    ours = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT")
    environ = {key: value for key, value in os.environ.items() if key not in ours}
    done = subprocess.run(
        [sys.executable, "-m", "pip", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**environ, "PIP_CONFIG_FILE": os.devnull},
    )
    return done.stdout if done.returncode == 0 else ""


def releases(name: str, oldest: Version) -> list[str]:
    """Final releases of the package, newest first, not older than `oldest`."""
    listed = pip("index", "versions", name).partition("Available versions: ")[2].splitlines()
    found = []
    for text in listed[0].split(", ") if listed else []:
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        if version.local is None and version >= oldest:
            found.append(text)
    return found


def read(pairs: list[str]) -> dict[str, dict[str, object]]:
    """Metadata by `name==version`; those that no wheel tells here are left out."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        words = ("install", "--dry-run", "--no-deps", "--ignore-installed", "--ignore-requires-python")
        pip(*words, "--only-binary", ":all:", "--quiet", "--report", file.name, *pairs)
        text = Path(file.name).read_text("utf-8")
    if not text:
        return {} if len(pairs) == 1 else {key: one for pair in pairs for key, one in read([pair]).items()}
    found = {}
    for item in json.loads(text)["install"]:
        metadata = item["metadata"]
        found[f"{canonicalize_name(metadata['name'])}=={metadata['version']}"] = metadata
    return found


def needs(metadata: dict[str, object]) -> list[tuple[str, str, str]]:
    """(other package, range, marker) of what is required without extras, and the Python it is for."""
    found = [("python", str(metadata.get("requires_python", "")).replace(" ", ""), "")]
    for text in metadata.get("requires_dist", []):  # type: ignore[attr-defined]
        one = Requirement(text)
        if one.marker is not None and "extra" in str(one.marker):
            continue
        found.append((canonicalize_name(one.name), clauses(one), str(one.marker or "")))
    return sorted({row for row in found if row[1]})


def clauses(one: Requirement) -> str:
    """The range, its clauses in a settled order."""
    return ",".join(sorted((str(clause) for clause in one.specifier), key=lambda c: (c.lstrip("<>=!~"), c)))


def document(name: str, metadata: dict[str, dict[str, object]], oldest: str = "") -> dict[str, object]:
    """The file of one package: releases of one requirement share a row."""
    versions = sorted(metadata, key=Version)
    rows: dict[tuple[str, str, str], list[str]] = {}
    for version in versions:
        for row in needs(metadata[version]):
            rows.setdefault(row, []).append(version)
    return {
        "format": FORMAT,
        "package": name,
        "checked": datetime.now(tz=UTC).date().isoformat(),
        "releases": releases(name, Version(oldest or versions[0]))[::-1],
        "read": versions,
        "rows": [
            {"versions": held, "on": on, "needs": wanted, **({"when": when} if when else {})}
            | {"source": f"pkg:pypi/{name}"}
            for (on, wanted, when), held in sorted(
                rows.items(), key=lambda row: (row[0][0], Version(row[1][0]))
            )
        ],
    }


def render(document: dict[str, object]) -> str:
    """JSON with one row a line, so that a diff tells what has changed."""
    lines = [f' "{key}": {json.dumps(value)},' for key, value in document.items() if key != "rows"]
    rows = [f"  {json.dumps(row)}" for row in document["rows"]]  # type: ignore[attr-defined]
    return "\n".join(["{", *lines, ' "rows": [', ",\n".join(rows), " ]", "}"]) + "\n"


def main(names: list[str]) -> int:
    """Read layer by layer, one release of each package a call."""
    for name in LISTED if not names else [one for one in names if one in LISTED]:
        (FOLDER / f"{name}.json").write_text(render(document(name, {}, LISTED[name])), "utf-8")
    wanted = {name: versions.split() for name, versions in READ.items() if not names or name in names}
    found: dict[str, dict[str, dict[str, object]]] = {name: {} for name in wanted}
    for layer in range(max(map(len, wanted.values()), default=0)):
        pairs = [f"{name}=={versions[layer]}" for name, versions in wanted.items() if layer < len(versions)]
        for pair, metadata in read(pairs).items():
            name, _, version = pair.partition("==")
            found[name][version] = metadata
        sys.stderr.write(f"layer {layer}: {len(pairs)}\n")
    for name, metadata in found.items():
        if metadata:
            (FOLDER / f"{name}.json").write_text(render(document(name, metadata)), "utf-8")
        sys.stdout.write(f"{name}: {len(metadata)} of {len(wanted[name])} read\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
