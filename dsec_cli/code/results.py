"""What calls give: texts and paths that are put together, parts taken, and things made elsewhere."""

from __future__ import annotations

import ast

from dsec_cli.code import access, naming
from dsec_cli.code.abstract import (
    HOLE,
    Bound,
    ClassOf,
    Const,
    FilePath,
    Instance,
    Made,
    Method,
    Shape,
    Symbol,
    Text,
    Unknown,
    Value,
    Values,
    as_text,
    distinct,
    joined,
)
from dsec_cli.code.known.modules import HOLDERS
from dsec_cli.code.symbols import Imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.symbols import Scope

COMPUTED = Unknown("it is computed")
BY_NAME = Unknown("its name is computed")
"""A function of somebody else's module, and nobody knows which."""
_TEMPORARY = "/tmp"  # noqa: S108  # where Python makes them, unless TMPDIR says otherwise
ENVIRONMENT = {
    "os.getenv": 0, "os.getenvb": 0, "os.environ.get": 0, "os.environ.pop": 0,
    "os.environ.setdefault": 0, "os.environ.__getitem__": 0, "decouple.config": 0, "environs.Env()": 0,
    "environ.Env()": 0, "starlette.config.Config()": 0,
}  # fmt: skip
"""Calls that read the environment variable which their first argument names; the second is the default."""


def result(ev: Evaluator, target: Value, call: ast.Call, scope: Scope) -> Iterable[Value]:
    """What calling `target` gives."""
    if isinstance(target, Bound):
        if any(isinstance(one, ast.expr) for one in target.function.node.decorator_list) and _yields(target):
            return (target,)
        return access.returned(ev, target.function, call)
    if isinstance(target, ClassOf):
        return (Instance(target.cls, call, scope),)
    if isinstance(target, Symbol):
        return _of_symbol(ev, target.name, call, scope)
    if isinstance(target, Method):
        return _of_method(ev, target, call, scope)
    if isinstance(target, Made):
        return _of_symbol(ev, f"{target.name}()", call, scope)
    if isinstance(target, Instance):
        called = target.cls.method("__call__")
        return access.returned(ev, called, call) if called is not None else (COMPUTED,)
    return (target,) if isinstance(target, Unknown) else (COMPUTED,)


def _yields(target: Bound) -> bool:
    return target.function.generator


def _of_symbol(ev: Evaluator, name: str, call: ast.Call, scope: Scope) -> Iterable[Value]:
    if reads_environment(name):
        return _environment(ev, name, call, scope)
    known = _SYMBOLS.get(name)
    if known is not None:
        return known(ev, call, scope)
    if name.startswith("pathlib."):
        return _path(ev, call, scope)
    return (_made(name, call, scope),)


def _made(name: str, call: ast.Call, scope: Scope) -> Value:
    return Made(name, call, scope) if len(name) <= access.MOST_NAME else access.TOO_LONG


def reads_environment(name: str) -> bool:
    """Whether calling `name` gives an environment variable."""
    return name in ENVIRONMENT or name.startswith(("environs.Env().", "environs.env.", "environ.Env()."))


def _environment(ev: Evaluator, name: str, call: ast.Call, scope: Scope) -> Iterable[Value]:
    found = access.argument(ev, call, scope, at=0, names=("key", "varname", "option", "var"))
    names = ev.texts(*found) if found is not None else (Text(HOLE),)
    values = {one.text: ev.environment[one.text] for one in names if one.text in ev.environment}
    given = [access.environment(one.text) for one in names if one.text not in values]
    default = access.argument(ev, call, scope, at=1, names=("default",))
    rest = ev.values(*default) if default is not None and given else ()
    variable = given[0].variable if given else ""
    return (*map(Text, values.values()), *given, *(_tied(value, variable) for value in rest))


def _tied(value: Value, variable: str) -> Value:
    """A default, which counts only while the variable is not set."""
    return Text(value.text, value.why, value.variable or variable) if isinstance(value, Text) else value


def _args(ev: Evaluator, call: ast.Call, scope: Scope) -> list[Values]:
    if any(isinstance(one, ast.Starred) for one in call.args):
        return [(Text(HOLE, "it is put together from a list"),)]
    return [ev.values(one, scope) for one in call.args]


def _path(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    parts = _args(ev, call, scope) or [(Text("."),)]
    return (FilePath(*as_text(value)) for value in paths_joined(parts))


def _joined_path(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    return paths_joined(_args(ev, call, scope))


def paths_joined(parts: list[Values]) -> Values:
    """Paths below one another; an absolute one starts anew."""
    made: Values = ()
    for at, every in enumerate(parts):
        part = tuple(value for value in every if value != Const(None))  # None is no part of a path
        rooted = tuple(value for value in part if as_text(value).text.startswith(("/", "~")))
        below = tuple(value for value in part if value not in rooted)
        if not at:
            made = tuple(as_text(value) for value in part)
            continue
        longer = joined([made, below], "/") if below else ()
        made = distinct((*longer, *(as_text(value) for value in rooted)))
    return made


def _first(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    """Calls that give their first argument back, changed in nothing that matters here."""
    return ev.values(call.args[0], scope) if call.args else (COMPUTED,)


def _text(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    return (as_text(value) for value in _first(ev, call, scope))


def _number(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    for value in _first(ev, call, scope):
        if isinstance(value, Text) and HOLE not in value.text:
            digits = value.text.strip()
            yield Const(int(digits)) if digits.isdecimal() and len(digits) < 10 else COMPUTED
        else:
            yield value if isinstance(value, Const | Unknown) else Unknown(as_text(value).why or COMPUTED.why)


def _folder(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    for value in _first(ev, call, scope):
        text = as_text(value)
        yield Text(access.folder_of(text.text), text.why, text.variable)


def _last(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    for value in _first(ev, call, scope):
        text = as_text(value)
        yield Text(text.text.rpartition("/")[2], text.why, text.variable)


def _fixed(*values: Value) -> Callable[[Evaluator, ast.Call, Scope], Iterable[Value]]:
    return lambda ev, call, scope: values


def _second(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    return ev.values(call.args[1], scope) if len(call.args) > 1 else (COMPUTED,)


def _field(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    """`field(default=...)` of dataclasses and `Field(...)` of pydantic."""
    found = access.argument(ev, call, scope, at=0, names=("default",))
    if found is not None:
        return (value for value in ev.values(*found) if value != Const(...))
    factory = access.argument(ev, call, scope, at=None, names=("default_factory",))
    if factory is not None and isinstance(factory[0], ast.Lambda):
        return ev.values(factory[0].body, factory[1])
    return (Unknown("it is set when the object is made"),)


def _address(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    """`urljoin(base, path)`."""
    parts = _args(ev, call, scope)
    if len(parts) < 2:
        return (COMPUTED,)
    whole = tuple(value for value in parts[1] if "://" in as_text(value).text)
    below = tuple(value for value in parts[1] if value not in whole)
    return (*whole, *(joined([parts[0], below], "/") if below else ()))


def _attribute(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    """`getattr(thing, "name", default)`; of a library, a computed name may be any function."""
    if len(call.args) < 2 or any(isinstance(one, ast.Starred) for one in call.args):
        return
    for base in ev.values(call.args[0], scope):
        for name in ev.texts(call.args[1], scope):
            if HOLE not in name.text:
                yield from access.attribute(ev, base, name.text)
            else:
                yield BY_NAME if isinstance(base, Symbol) and base.name in HOLDERS else COMPUTED
    if len(call.args) > 2:
        yield from ev.values(call.args[2], scope)


def _module(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    """`importlib.import_module("a.b")`, and `__import__("a.b")`, which gives `a`."""
    top = isinstance(call.func, ast.Name) and call.func.id == "__import__"
    for name in ev.texts(call.args[0], scope) if call.args else ():
        dotted = name.text.partition(".")[0] if top else name.text
        if HOLE in name.text or not dotted or dotted.startswith("."):
            yield COMPUTED
        else:
            yield from naming.member(ev, scope.module.path, Imported(dotted, None))


def _dictionary(ev: Evaluator, call: ast.Call, scope: Scope) -> Iterable[Value]:
    return (Shape(call, scope),) if call.keywords or not call.args else _first(ev, call, scope)


_SYMBOLS: dict[str, Callable[[Evaluator, ast.Call, Scope], Iterable[Value]]] = {
    "builtins.str": _text, "builtins.int": _number, "builtins.dict": _dictionary,
    "os.path.join": _joined_path, "posixpath.join": _joined_path, "os.path.dirname": _folder,
    "os.path.basename": _last, "os.getcwd": _fixed(Text(".")), "pathlib.Path.cwd": _fixed(FilePath(".")),
    "pathlib.Path.home": _fixed(FilePath("~")), "tempfile.gettempdir": _fixed(Text(_TEMPORARY)),
    "tempfile.mkdtemp": _fixed(Text(f"{_TEMPORARY}/{HOLE}", "it is a temporary folder")),
    "urllib.parse.urljoin": _address, "dataclasses.field": _field, "pydantic.Field": _field,
    "typing.cast": _second, "builtins.getattr": _attribute, "builtins.__import__": _module,
    "importlib.import_module": _module,
    **dict.fromkeys(
        ("os.path.abspath", "os.path.realpath", "os.path.expanduser", "os.path.normpath", "os.fspath",
         "os.path.expandvars", "builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted",
         "builtins.frozenset", "builtins.reversed", "copy.copy", "copy.deepcopy", "types.MappingProxyType",
         "pydantic.SecretStr", "pydantic.HttpUrl", "httpx.URL", "yarl.URL"),
        _first,
    ),
}  # fmt: skip


def _of_method(ev: Evaluator, target: Method, call: ast.Call, scope: Scope) -> Iterable[Value]:
    receiver, name = target.receiver, target.name.rpartition(".")[2]
    if reads_environment(target.name):
        return _environment(ev, target.name, call, scope)
    if isinstance(receiver, FilePath):
        return _of_path(ev, receiver, name, call, scope)
    if isinstance(receiver, Text) and target.name == f"builtins.str.{name}":
        return _of_text(ev, receiver, name, call, scope)
    if isinstance(receiver, Shape):
        if name == "get" and call.args:
            found = access.item(ev, receiver, ev.values(call.args[0], scope))
            default = ev.values(call.args[1], scope) if len(call.args) > 1 else ()
            return (*found, *default)
        return (Method(f"{target.name}()", receiver),)
    if isinstance(receiver, Unknown) and name in ("strip", "rstrip", "lower", "get_secret_value"):
        return (receiver,)
    if name == "get_secret_value":
        return (receiver,)
    return (_made(target.name, call, scope),)


_SAME = (
    "strip",
    "rstrip",
    "lstrip",
    "lower",
    "upper",
    "removesuffix",
    "encode",
    "decode",
    "get_secret_value",
)
_SAME_PATH = ("resolve", "absolute", "expanduser", "as_posix", "with_suffix", "rename", "replace")


def _of_path(ev: Evaluator, path: FilePath, name: str, call: ast.Call, scope: Scope) -> Iterable[Value]:
    if name in ("joinpath", "__truediv__"):
        return (FilePath(*as_text(v)) for v in paths_joined([(path,), *_args(ev, call, scope)]))
    if name in ("glob", "rglob", "iterdir"):
        return (FilePath(f"{path.text}/{HOLE}", path.why or "it is found in a folder", path.variable),)
    if name == "with_name":
        parent = FilePath(access.folder_of(path.text), path.why, path.variable)
        return (FilePath(*as_text(v)) for v in paths_joined([(parent,), *_args(ev, call, scope)]))
    if name in _SAME_PATH:
        return (path,)
    return (Made(f"pathlib.Path().{name}", call, scope),)


def _of_text(ev: Evaluator, text: Text, name: str, call: ast.Call, scope: Scope) -> Iterable[Value]:
    if name in _SAME:
        bare = text.text.strip() if name.endswith("strip") else text.text
        cut = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == "/"
        return (Text(bare.rstrip("/") if cut and name == "rstrip" else bare, text.why, text.variable),)
    if name == "format":
        return filled(text, "{}", _args(ev, call, scope), named=_keywords(ev, call, scope))
    if name == "join" and call.args:
        return _laid_out(ev, text, call, scope)
    return (Text(HOLE, text.why or "it is computed from a text", text.variable),)


def _laid_out(ev: Evaluator, text: Text, call: ast.Call, scope: Scope) -> Iterable[Value]:
    for value in ev.values(call.args[0], scope):
        node = value.node if isinstance(value, Shape) else None
        if isinstance(node, ast.List | ast.Tuple) and isinstance(value, Shape) and len(node.elts) <= 64:
            yield from joined([ev.values(one, value.scope) for one in node.elts], text.text)
        else:
            yield Text(HOLE, "it is joined from a list")


def _keywords(ev: Evaluator, call: ast.Call, scope: Scope) -> dict[str, Values]:
    return {one.arg: ev.values(one.value, scope) for one in call.keywords if one.arg is not None}


def filled(text: Text, mark: str, given: list[Values], *, named: dict[str, Values] | None = None) -> Values:
    """A template with its marks (`%s`, `{}`, `{name}`) filled in order, or by name."""
    parts: list[Values] = []
    waiting = list(given)
    for piece, name in _pieces(text.text, mark):
        parts.append((Text(piece, text.why, text.variable),))
        if name is None:
            continue
        if named and name in named:
            parts.append(named[name])
        elif name == "" and waiting:
            parts.append(waiting.pop(0))
        elif name.isdecimal() and int(name[:4]) < len(given):
            parts.append(given[int(name[:4])])
        else:
            parts.append((Text(HOLE, f"{name or mark} is filled in elsewhere"),))
    return joined(parts)


def _pieces(text: str, mark: str) -> Iterable[tuple[str, str | None]]:
    """Text between marks, each with the name in the mark behind it; None at the end."""
    if mark == "%s":
        rest = text.replace("%d", "%s").split("%s")[:64]
        yield from ((piece, "") for piece in rest[:-1])
        yield rest[-1], None
        return
    at = 0
    for _ in range(64):
        start = text.find("{", at)
        end = text.find("}", start)
        if start < 0 or end < 0:
            break
        yield text[at:start], text[start + 1 : end].partition(":")[0].partition("!")[0].partition(".")[0]
        at = end + 1
    yield text[at:], None
