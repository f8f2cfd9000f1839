"""The files of an agent as values, and which of them an import means."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.code.needs import Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dsec_cli.source.text import SourceText


class Project(Record):
    """Python files by path relative to the project's folder, with `/` between parts."""

    files: Mapping[str, SourceText]
    unread: tuple[Unread, ...] = ()
    """What the reader of the folder could not take."""
    entries: tuple[str, ...] = ()
    """Functions that somebody else calls: `module:function`."""
    name: str = ""
    """The folder's own name, by which its modules import one another when it is a package."""
    environment: Mapping[str, str] | None = None
    """Environment variables whose values are given."""


def module_name(path: str) -> str:
    """`agent/tools.py` is `agent.tools`, `agent/__init__.py` is `agent`."""
    stem = path.removesuffix(".py").removesuffix("/__init__")
    return "" if stem == "__init__" else stem.replace("/", ".")


def is_package(path: str) -> bool:
    """Whether the file stands for its folder."""
    return path == "__init__.py" or path.endswith("/__init__.py")


class Imports:
    """Finds the project's module that an import means."""

    __slots__ = ("_folders", "_found", "_name", "_paths")

    def __init__(self, files: Mapping[str, SourceText], name: str = "") -> None:
        self._name = name
        self._paths = {module_name(path): path for path in sorted(files, reverse=True)}
        self._folders = {name[:at] for name in self._paths for at, ch in enumerate(name) if ch == "."}
        self._found: dict[tuple[str, str], str | None] = {}

    def path(self, importer: str, dotted: str) -> str | None:
        """Path of the module `dotted` as the file `importer` sees it; None: it is not the project's."""
        key = (importer.rpartition("/")[0], dotted)
        if key not in self._found:
            roots = ("", *self._script_roots(key[0]), "src.")
            names = (f"{root}{dotted}" for root in roots)
            found = next((self._paths[name] for name in names if name in self._paths), None)
            inner = self.inner(dotted)
            self._found[key] = found or (self._paths.get(inner) if inner is not None else None)
        return self._found[key]

    def inner(self, dotted: str) -> str | None:
        """`dotted` without the name of the project's own folder; None where it does not begin with that."""
        first, _, rest = dotted.partition(".")
        return rest if self._name and first == self._name else None

    def is_folder(self, importer: str, dotted: str) -> bool:
        """Whether `dotted` is a folder without `__init__.py` that holds modules."""
        roots = ("", *self._script_roots(importer.rpartition("/")[0]), "src.")
        return any(f"{root}{dotted}" in self._folders for root in roots)

    def _script_roots(self, folder: str) -> Iterator[str]:
        """Folders above the importer that a script started there would import from."""
        while folder:
            dotted = folder.replace("/", ".")
            if dotted not in self._paths:
                yield f"{dotted}."
            folder = folder.rpartition("/")[0]


def absolute(importer: str, module: str | None, level: int) -> str:
    """The dotted name that `from ..module import x` in the file `importer` means."""
    if not level:
        return module or ""
    parts = module_name(importer).split(".")
    up = level - 1 if is_package(importer) else level
    kept = parts[: len(parts) - up] if up else parts
    return ".".join([*kept, *([module] if module else [])]).lstrip(".")
