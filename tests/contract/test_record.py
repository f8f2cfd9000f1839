"""`Record` behaves as the `NamedTuple` that type checkers take it for."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import pytest

from dsec.record import Record


class Point(Record):
    x: int
    y: int = 2


class Named(NamedTuple):
    x: int
    y: int = 2


CALLS: list[tuple[tuple[int, ...], dict[str, int]]] = [
    *(((1,), {}), ((1, 3), {}), ((), {"x": 1, "y": 3}), ((), {"y": 3, "x": 1}), ((), {"x": 1})),
    *(((1,), {"y": 5}), ((), {}), ((1,), {"x": 5}), ((1, 2), {"y": 3}), ((1, 2, 3), {})),
    *(((1,), {"z": 3}), ((), {"y": 1})),
]


def outcome(kind: Any, args: tuple[int, ...], named: dict[str, int]) -> object:
    try:
        return tuple(kind(*args, **named))
    except TypeError:
        return TypeError


@pytest.mark.parametrize(("args", "named"), CALLS)
def test_calls_are_those_of_a_named_tuple(args: tuple[int, ...], named: dict[str, int]) -> None:
    assert outcome(Point, args, named) == outcome(Named, args, named)


def test_values_are_those_of_a_named_tuple() -> None:
    point, named = Point(1), Named(1)
    assert point == named == (1, 2)
    assert (point.x, point.y, point._fields) == (named.x, named.y, named._fields)
    assert repr(point) == repr(named).replace("Named", "Point")
    assert point._replace(y=5) == named._replace(y=5)
    assert point._asdict() == named._asdict()
    assert copy.copy(point) == pickle.loads(pickle.dumps(point)) == point
    assert type(point._replace(x=2)) is Point
    match point:
        case Point(x, y=2):
            assert x == 1
        case _:
            pytest.fail("patterns do not see the fields")


def test_values_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Point(1).x = 5  # type: ignore[misc]
    with pytest.raises(ValueError, match="no field z"):
        Point(1)._replace(z=5)  # type: ignore[call-arg]
