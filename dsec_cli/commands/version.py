"""`dsec version`: what is installed, for bug reports."""

from __future__ import annotations

import sys

from dsec import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.options import Args

_PARTS = (
    "ruamel.yaml",
    "ruamel.yaml.clib",
    "typer",
    "rich",
    "pydantic",
    "jsonschema",
    "graphviz",
    "blake3",
    "nvidia-ml-py",
)


def versions() -> tuple[tuple[str, str], ...]:
    """Names and versions of DSec, the interpreter, the platform and the packages DSec stands on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = [("dsec", __version__), ("python", platform.python_version()), ("platform", platform.platform())]
    for name in _PARTS:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            found.append((name, "missing"))
    return (*found, ("yaml parser", _yaml_parser()))


def _yaml_parser() -> str:
    from importlib.util import find_spec

    return "C (libyaml)" if find_spec("_ruamel_yaml") else "missing: install ruamel.yaml.clib"


def main(args: Args) -> int:
    """Print the table, or the same as JSON."""
    rows = versions()
    if args.json:
        import json

        sys.stdout.write(json.dumps(dict(rows), indent=2, ensure_ascii=False) + "\n")
        return 0
    width = max(len(name) for name, _ in rows)
    sys.stdout.writelines(f"{name:<{width}}  {version}\n" for name, version in rows)
    return 0
