"""The YAML door: any text in, a located tree and its problems out; never an exception.

The only file that imports ruamel. It reads the C parser's events, the one interface that tells
where an alias was used, and is many times quicker than every loader of the same package.
"""

from __future__ import annotations

import gc
import sys
from types import ModuleType

from dsec_cli.source import comments
from dsec_cli.source.builder import BudgetSpent, Builder
from dsec_cli.source.characters import Prepared, prepare
from dsec_cli.source.syntax import Damage, Fault, explain
from dsec_cli.source.text import SourceText, Span
from dsec_cli.source.tree import Problem, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 64 * 1024 * 1024
MAX_FAULTS = 20


_EXTENSION = "_ruamel_yaml"
_PACKAGE = "ruamel.yaml"


_ERRORS = {
    "ruamel.yaml.reader": "ReaderError",
    "ruamel.yaml.scanner": "ScannerError",
    "ruamel.yaml.parser": "ParserError",
    "ruamel.yaml.composer": "ComposerError",
    "ruamel.yaml.constructor": "ConstructorError",
    "ruamel.yaml.emitter": "EmitterError",
    "ruamel.yaml.serializer": "SerializerError",
    "ruamel.yaml.representer": "RepresenterError",
}
"""Modules of which the extension takes one exception class each."""


class _Postponed(ModuleType):
    """A package whose file is executed when a name of it is first asked for."""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment] # no longer postponed
        loader: Any = self.__loader__
        loader.exec_module(self)
        return getattr(self, name)


def parse(source: SourceText) -> Tree:
    """Read all documents of a text; what cannot be read becomes problems and unknown values."""
    if len(source.data) > MAX_BYTES:
        size = f"{len(source.data)} bytes are more than the {MAX_BYTES} that are read"
        return Tree((), (), (Problem("DS010", Span(0, 0), size, "split the file"),))
    collecting = gc.isenabled()
    # Nothing here is garbage before the tree is done, and looking for it costs as much as parsing.
    gc.disable()
    try:
        return _read(source)
    finally:
        if collecting:
            gc.enable()


def _read(source: SourceText) -> Tree:
    prepared = prepare(source)
    problems = list(prepared.problems)
    gaps: list[Span] = []
    builder, problem = _attempt(prepared, gaps)
    while isinstance(problem, Damage):
        problems.append(problem.problem)
        text = _blank(prepared, problem)
        if text == prepared.text or len(gaps) >= MAX_FAULTS:
            gaps.append(Span(builder.end, len(text)))
            builder.close()
            break
        prepared = Prepared(text, prepared.restore, prepared.problems, prepared.unknown)
        gaps.append(problem.part)
        builder, problem = _attempt(prepared, gaps)
    if isinstance(problem, Problem):
        problems.append(problem)
    problems.extend(builder.problems)
    end = builder.end if isinstance(problem, Problem) else len(source.text)
    remarks = comments.scan(source.text, builder.covered, end)
    return Tree(tuple(builder.documents), remarks, tuple(sorted(problems)))


def _attempt(prepared: Prepared, gaps: list[Span]) -> tuple[Builder, Damage | Problem | None]:
    """One pass over the events, and why it ended early."""
    extension, events, failure = _parser()
    builder = Builder(prepared, prepared.text, events)
    builder.gaps = tuple(gaps)
    try:
        builder.read(extension.CParser(prepared.text).get_event)
    except BudgetSpent as spent:
        builder.gaps = (*gaps, Span(builder.end, len(prepared.text)))
        builder.close()
        return builder, spent.problem
    except (failure, UnicodeError) as error:
        return builder, explain(_fault(error, builder), prepared.text)
    return builder, None


def _fault(error: Exception, builder: Builder) -> Fault:
    mark, context_mark = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    return Fault(
        getattr(error, "context", None) or "",
        None if context_mark is None else context_mark.index,
        getattr(error, "problem", None) or str(error),
        builder.end if mark is None else mark.index,
        builder.last,
    )


def _blank(prepared: Prepared, damage: Damage) -> str:
    start, end = damage.part
    text = prepared.text
    value = prepared.unknown if damage.keeps_key and end > start else ""
    return text[:start] + value + " " * (end - start - len(value)) + text[end:]


def _parser() -> tuple[Any, Any, type[Exception]]:
    """The C extension, the module of its event classes, and the class of its exceptions."""
    modules = sys.modules
    if _EXTENSION not in modules:
        try:
            _import_lean()
        except (ImportError, AttributeError):
            _import_whole()
    return modules[_EXTENSION], modules[f"{_PACKAGE}.events"], modules[f"{_PACKAGE}.error"].YAMLError


def _import_whole() -> None:
    if type(sys.modules.get(_PACKAGE)) is _Postponed:
        del sys.modules[_PACKAGE]
    import ruamel.yaml  # noqa: F401 - its being there is all that is needed


def _import_lean() -> None:
    """Import the extension without running the package file of `ruamel.yaml`.

    That file imports the loaders, dumpers and type resolvers of four YAML dialects, more work than
    an interpreter start, and reading events uses none of it. So the package stands in
    `sys.modules` with its real search path but not yet executed: the extension finds the
    submodules it needs, and the first use of any name of the package by anyone executes it.
    """
    if _PACKAGE not in sys.modules:
        import ruamel  # a namespace package: no file, no cost

        found = (finder.find_spec(_PACKAGE, ruamel.__path__) for finder in sys.meta_path)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None or spec.loader is None:
            raise ImportError(f"no module {_PACKAGE}")
        package = _Postponed(_PACKAGE)
        package.__spec__, package.__loader__, package.__file__ = spec, spec.loader, spec.origin
        package.__path__ = spec.submodule_search_locations or []
        package.__package__ = _PACKAGE
        sys.modules[_PACKAGE] = ruamel.yaml = package
    borrowed = [name for name in _ERRORS if name not in sys.modules]
    for name in borrowed:
        sys.modules[name] = _stand_in(name)
    try:
        import _ruamel_yaml  # noqa: F401
    finally:
        for name in borrowed:
            del sys.modules[name]


def _stand_in(name: str) -> ModuleType:
    """A module with nothing but its exception class, as a function that makes the real one.

    The extension takes one exception class from each of eight modules which it does not use
    otherwise; they cost more than all of our own modules together. Calling the class is all that it
    does with it, so the real module is imported when something really is wrong.
    """

    def error(*arguments: object) -> Any:
        return getattr(_imported(name), _ERRORS[name])(*arguments)

    module = ModuleType(name)
    setattr(module, _ERRORS[name], error)
    return module


def _imported(name: str) -> ModuleType:
    __import__(name)
    return sys.modules[name]
