"""What is installed: versions for bug reports and crash files."""

from __future__ import annotations

from dsec import __version__

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

    c_parser = "C (libyaml)" if find_spec("_ruamel_yaml") else "missing: install ruamel.yaml.clib"
    return f"own; for rare forms {c_parser}"
