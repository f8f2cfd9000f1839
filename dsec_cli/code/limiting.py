"""Finds how often the code lets itself call: rate-limit decorators and limiters."""

from __future__ import annotations

import ast

from dsec_cli.code import access
from dsec_cli.code.abstract import Const, Made, Symbol
from dsec_cli.code.naming import MOST_CALLERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.code.evaluate import Evaluator
    from dsec_cli.code.symbols import Function, Scope

_LIMITS: dict[str, tuple[tuple[str, ...], tuple[str, ...], int]] = {
    "ratelimit.limits": (("calls",), ("period",), 900),
    "ratelimit.RateLimitDecorator": (("calls",), ("period",), 900),
    "aiolimiter.AsyncLimiter": (("max_rate",), ("time_period",), 60),
    "asyncio_throttle.Throttler": (("rate_limit",), ("period",), 1),
}
"""Names of the number of calls and of the seconds, and the library's default for these."""
MOST_PASSED_ON = 8
"""Calls from a limited function down to the one that reaches the network."""
MOST_OF_A_RATE = 10**12
_UNITS = ((1, "s"), (60, "min"), (3600, "h"), (86400, "day"))


def rates(ev: Evaluator) -> dict[Function, str]:
    """What the functions limit themselves to, as `15req/min`."""
    found: dict[Function, str] = {}
    for module in ev.modules.values():
        for function in module.functions:
            for decorator in function.node.decorator_list:
                if isinstance(decorator, ast.Call):
                    _keep(found, function, _rate(ev, decorator, function.outer))
        for node, scope in module.entered:
            for value in ev.values(node, scope) if scope.function is not None else ():
                if isinstance(value, Made) and value.name in _LIMITS and value.call and value.scope:
                    _keep(found, scope.function, _rate(ev, value.call, value.scope))
    for _ in range(MOST_PASSED_ON):
        more = {one: rate for one in _functions(ev) if one not in found and (rate := _of_callers(found, one))}
        if not more:
            break
        found.update(more)
    return found


def _functions(ev: Evaluator) -> Iterator[Function]:
    for module in ev.modules.values():
        yield from module.functions


def _of_callers(found: dict[Function, str], function: Function) -> str | None:
    """The limit of all who call a function, when nobody else can."""
    if not 0 < len(function.callers) <= MOST_CALLERS or function.handed or function.tool:
        return None
    rates = {found.get(scope.function) if scope.function else None for _, scope, _ in function.callers}
    return rates.pop() if len(rates) == 1 else None


def _keep(found: dict[Function, str], function: Function | None, rate: str | None) -> None:
    if rate is not None and function is not None:
        found.setdefault(function, rate)


def _rate(ev: Evaluator, call: ast.Call, scope: Scope) -> str | None:
    for target in ev.values(call.func, scope):
        form = _LIMITS.get(target.name) if isinstance(target, Symbol) else None
        if form is None:
            continue
        calls = _number(ev, call, scope, at=0, names=form[0])
        given = access.argument(ev, call, scope, at=1, names=form[1])
        seconds = _number(ev, call, scope, at=1, names=form[1]) if given is not None else form[2]
        if calls and seconds:
            return spelled(calls, seconds)
    return None


def _number(ev: Evaluator, call: ast.Call, scope: Scope, *, at: int, names: tuple[str, ...]) -> int | None:
    given = access.argument(ev, call, scope, at=at, names=names)
    for value in ev.values(*given) if given is not None else ():
        number = value.value if isinstance(value, Const) else None
        if type(number) in (int, float) and isinstance(number, int | float) and 0 < number < MOST_OF_A_RATE:
            return int(number) if float(number).is_integer() else None
    return None


def spelled(calls: int, seconds: int) -> str | None:
    """A request rate as contracts spell it; None when no unit fits."""
    for length, unit in _UNITS:
        if length >= seconds and not calls * length % seconds:
            return f"{calls * length // seconds}req/{unit}"
    return None
