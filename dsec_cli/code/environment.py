"""Finds which environment variables the code reads, sets, and falls back from."""

from __future__ import annotations

import ast

from dsec_cli.code import access
from dsec_cli.code.abstract import HOLE, Const, Shape, Symbol, Text, as_text
from dsec_cli.code.found import place
from dsec_cli.code.needs import Unknown, Variable
from dsec_cli.code.results import reads_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.found import Found, Site
    from dsec_cli.code.symbols import Class, Module, Scope

SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PWD", "CREDENTIALS", "CREDENTIAL", "DSN")
_NO_SECRET = ("PUBLIC_KEY", "MAX_TOKEN", "PWD", "OLDPWD")
_SETTINGS = ("pydantic_settings.BaseSettings", "pydantic.BaseSettings")
_WHOLE = "all of the environment is taken"
_ALL = tuple(f"{name}.{what}" for name in access.ENVIRON for what in ("copy", "items", "values"))


def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret, as names go."""
    words = name.upper().split("_")
    return name.upper() not in _NO_SECRET and any(word in SECRET for word in words)


def variables(site: Site) -> bool:
    """Add the variable that a call reads; False when it reads none."""
    if site.name in _ALL:
        site.unknown("environment", _WHOLE)
        return True
    if not reads_environment(site.name) or site.name == "os.environ.pop":
        return False
    names = site.texts(0, ("key", "varname", "option", "var"))
    if names is None:
        return True
    default = site.texts(1, ("default",))
    if default is None:
        default = _fallback(site.ev, site.call, site.scope)
    lenient = site.name in ("os.getenv", "os.environ.get", "os.getenvb")
    for name in names:
        required = default is None and (not lenient or is_secret(name.text))
        if site.name == "os.environ.setdefault":
            site.found.provided.add(name.text)
        _add(
            site.found, site.scope, site.call, by=site.name, name=name,
            default=default, required=required,
        )  # fmt: skip
    return True


def _fallback(ev: Evaluator, node: ast.expr, scope: Scope) -> tuple[Text, ...] | None:
    """`os.getenv("X") or "default"`."""
    other = scope.module.fallbacks.get(node)
    return ev.texts(other, scope) if other is not None else None


def _add(
    found: Found,
    scope: Scope,
    node: ast.expr,
    *,
    by: str,
    name: Text,
    default: tuple[Text, ...] | None,
    required: bool,
) -> None:
    where = place(scope.module, node)
    if HOLE in name.text or not name.text.isprintable():
        why = f"the name of the variable is not known: {name.why or 'it is computed'}"
        found.add(Unknown("environment", why, "", by, where, ()), scope)
        return
    text = default[0].text if default and HOLE not in default[0].text else None
    text = None if text == "None" else text
    secret = is_secret(name.text)
    found.add(Variable(name.text, None if secret and text else text, required, secret, by, where, ()), scope)


def subscripts(ev: Evaluator, found: Found, module: Module) -> None:
    """`os.environ["X"]`, read or set."""
    for node, scope in module.subscripts:
        if not _is_environ(ev, node.value, scope):
            continue
        for name in ev.texts(node.slice, scope):
            if isinstance(node.ctx, ast.Load):
                default = _fallback(ev, node, scope)
                _add(found, scope, node, by="os.environ", name=name, default=default, required=True)
            elif HOLE not in name.text:
                found.provided.add(name.text)


def tests(ev: Evaluator, found: Found, module: Module) -> None:
    """`"X" in os.environ`."""
    for key, container, scope in module.tests:
        if _is_environ(ev, container, scope):
            for name in ev.texts(key, scope):
                found.optional.add(name.text)
                _add(found, scope, key, by="os.environ", name=name, default=None, required=False)


def whole(ev: Evaluator, found: Found, module: Module) -> None:
    """`dict(os.environ)`, `env=os.environ`, `for name in os.environ`: any variable may matter."""
    taken: list[tuple[ast.Name | ast.Attribute, Scope]] = [*module.attributes, *module.names]
    for node, scope in taken:
        name = node.attr if isinstance(node, ast.Attribute) else node.id
        if (name.startswith("environ") or name in module.imported) and _is_environ(ev, node, scope):
            if _is_alias(node, module):
                continue
            where = place(module, node)
            found.add(Unknown("environment", _WHOLE, "", "os.environ", where, ()), scope)


def _is_alias(node: ast.expr, module: Module) -> bool:
    """`env = os.environ`: what is read through the name is found by itself."""
    return any(binding.what is node for bindings in module.scope.bindings.values() for binding in bindings)


def _is_environ(ev: Evaluator, node: ast.expr, scope: Scope) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else None
    if name is not None and not name.startswith("environ"):
        return False
    return any(isinstance(v, Symbol) and v.name in access.ENVIRON for v in ev.values(node, scope))


def settings(ev: Evaluator, found: Found, module: Module) -> None:
    """Classes whose fields are environment variables (pydantic's `BaseSettings`)."""
    for cls in module.classes:
        if any(isinstance(one, Symbol) and one.name in _SETTINGS for one in access.mro(ev, cls)):
            _fields(ev, found, cls)


def _fields(ev: Evaluator, found: Found, cls: Class) -> None:
    prefix = _prefix(ev, cls)
    for name, bindings in cls.scope.bindings.items():
        binding = bindings[-1]
        if binding.note is None or name.startswith("_") or name == "model_config":
            continue
        values = ev.values(binding.what, cls.scope) if isinstance(binding.what, ast.expr) else None
        node = binding.what if isinstance(binding.what, ast.expr) else binding.note
        default = None if values is None or values == (Const(...),) else tuple(map(as_text, values))
        _add(
            found, cls.scope, node, by=cls.name, name=Text(f"{prefix}{name}".upper()),
            default=default, required=default is None,
        )  # fmt: skip


def _prefix(ev: Evaluator, cls: Class) -> str:
    """`model_config = SettingsConfigDict(env_prefix="APP_")`, or the older inner class `Config`."""
    for binding in cls.scope.bindings.get("model_config", ()):
        call = binding.what
        if isinstance(call, ast.Call):
            found = access.argument(ev, call, cls.scope, at=None, names=("env_prefix",))
            return ev.texts(*found)[0].text if found is not None else ""
        if isinstance(call, ast.Dict):
            values = access.item(ev, Shape(call, cls.scope), (Text("env_prefix"),))
            return next((one.text for one in values if isinstance(one, Text)), "")
    return ""
