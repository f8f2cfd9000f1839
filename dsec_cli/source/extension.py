"""The C parser of ruamel, imported without the rest of its package.

The only file that imports ruamel.
"""

from __future__ import annotations

import sys

from dsec.errors import DSecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any
else:
    ModuleType = type(sys)

_EXTENSION = "_ruamel_yaml"
_PACKAGE = "ruamel.yaml"
_NEEDED_FOR_ONE_ERROR = (
    ("reader", "ReaderError"),
    ("scanner", "ScannerError"),
    ("parser", "ParserError"),
    ("composer", "ComposerError"),
    ("constructor", "ConstructorError"),
    ("emitter", "EmitterError"),
    ("serializer", "SerializerError"),
    ("representer", "RepresenterError"),
)
"""Modules of the package from which the extension takes one exception class and nothing else."""


class Parts:
    """What the door needs of the extension."""

    __slots__ = ("errors", "events", "parser")

    def __init__(self, parser: Any, events: Any, errors: tuple[type[Exception], ...]) -> None:
        self.parser = parser
        """Class: takes a text, its `get_event` returns None after the last event."""
        self.events = events
        """Module of the event classes."""
        self.errors = errors
        """What the parser raises on a text that it cannot read."""


def load() -> Parts:
    """Import the extension, on the short way where that works."""
    modules = sys.modules
    if _EXTENSION not in modules:
        try:
            _import_lean()
        except (ImportError, AttributeError):
            _import_whole()
    errors = (modules[f"{_PACKAGE}.error"].YAMLError, UnicodeError)
    return Parts(modules[_EXTENSION].CParser, modules[f"{_PACKAGE}.events"], errors)


class _Postponed(ModuleType):
    """A module whose file is executed when a name it does not have yet is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # how the import system asks whether a module is a package
            raise AttributeError(name)
        early = {key: value for key, value in vars(self).items() if _stays(key, value)}
        self.__class__ = ModuleType  # type: ignore[assignment] # no longer postponed
        loader: Any = self.__loader__
        loader.exec_module(self)
        # The extension raises the class it was given, so that one stays the module's.
        vars(self).update(early)
        return getattr(self, name)


def _stays(name: str, value: object) -> bool:
    return not name.startswith("__") and value is not _nprintf


def _import_lean() -> None:
    """Import the extension without executing what reading events never uses.

    `import ruamel.yaml` imports the loaders, dumpers and type resolvers of four YAML dialects: more
    work than an interpreter start, three times what the extension itself takes. The extension asks
    for the package, for eight modules that it wants one exception class of, and for three small ones
    that are imported as they are (error, events, tokens, nodes). So the package and the eight stand
    in `sys.modules` as they would be found, but not yet executed; the first use of any other name of
    theirs by anyone executes them, and `import ruamel.yaml` elsewhere works as ever.
    """
    if _PACKAGE not in sys.modules:
        import ruamel  # a namespace package: no file is executed

        package: Any = _postpone(_PACKAGE, ruamel.__path__)
        package.__path__ = package.__spec__.submodule_search_locations
        sys.modules[_PACKAGE] = package
        setattr(ruamel, "yaml", package)  # noqa: B010 - mypy knows no attribute of a namespace
        from ruamel.yaml.error import MarkedYAMLError

        compat = _postpone(f"{_PACKAGE}.compat", package.__path__)
        setattr(compat, "nprintf", _nprintf)  # noqa: B010 - as above
        setattr(package, "compat", compat)  # noqa: B010
        sys.modules[compat.__name__] = compat
        for name, error in _NEEDED_FOR_ONE_ERROR:
            module = _postpone(f"{_PACKAGE}.{name}", package.__path__)
            setattr(module, error, type(error, (MarkedYAMLError,), {"__module__": module.__name__}))
            setattr(package, name, module)
            sys.modules[module.__name__] = module
    import _ruamel_yaml  # noqa: F401


def _nprintf(*args: Any, **named: Any) -> None:
    """What the package prints when it is debugged; the tokens ask for nothing else of a large module."""
    compat: Any = sys.modules[f"{_PACKAGE}.compat"]
    if isinstance(compat, _Postponed):
        del compat.nprintf
    compat.nprintf(*args, **named)


def _postpone(name: str, path: Any) -> _Postponed:
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            module = _Postponed(name)
            module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
            module.__package__ = spec.parent
            return module
    raise ImportError(f"no module {name}")


def _import_whole() -> None:
    """The ordinary way, after taking out what the short way left behind."""
    if isinstance(sys.modules.get(_PACKAGE), _Postponed):
        for name in [name for name in sys.modules if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")]:
            del sys.modules[name]
    try:
        import _ruamel_yaml  # noqa: F401
    except ImportError as error:
        # Since 0.19 the package does without its C parser, and then reads YAML thirty times slower.
        what = f"the C parser of ruamel.yaml cannot be imported: {error}"
        raise DSecError(what, hint="install the distribution ruamel.yaml.clib") from error
