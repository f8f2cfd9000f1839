"""Named tuples that cost a lint nothing: `Record` is `typing.NamedTuple` without its start-up.

Importing `typing` costs as much as a bare interpreter start, and `NamedTuple` compiles a
constructor for every class: with some forty classes that was a third of a whole lint. Type checkers
see the real thing; at run time fields, keywords, defaults, `_replace`, `_fields` and matching are
the same. Like it, a record is a tuple: equal to one, unpacked as one, never changed.
"""

from __future__ import annotations

__all__ = ["Record"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:
    from _collections import _tuplegetter  # as `collections.namedtuple` has them: half a property's time

    class Record(tuple):
        """A tuple whose items have the names that the class body annotates."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}  # noqa: RUF012 - each class gets its own, and none is changed

        def __init_subclass__(cls):
            names = tuple(cls.__annotations__)
            body = vars(cls)
            cls._fields = cls.__match_args__ = names
            cls._field_defaults = {name: body[name] for name in names if name in body}
            for at, name in enumerate(names):
                setattr(cls, name, _tuplegetter(at, None))

        def __new__(cls, *args, **named):
            """Items by place or by name, the others by default."""
            if named and tuple(named) == cls._fields[len(args) :]:
                # Most calls name their items in order; looking each up costs ten times as much.
                return tuple.__new__(cls, (*args, *named.values()))
            if named or len(args) != len(cls._fields):
                args = _completed(cls, args, named)
            return tuple.__new__(cls, args)

        _make = classmethod(tuple.__new__)
        """A record of items that are known to be complete: no Python code runs, and no count is checked."""

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__}.{name} cannot be set: records do not change")

        def __repr__(self):
            inside = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({inside})"

        def __getnewargs__(self):
            return tuple(self)

        def _replace(self, **named):
            kept = {name: named.pop(name, value) for name, value in zip(self._fields, self, strict=True)}
            if named:
                raise ValueError(f"{type(self).__name__} has no field {', '.join(sorted(named))}")
            return tuple.__new__(type(self), kept.values())

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

    def _completed(cls, args, named):
        """All items in order: positional, by name, by default; raises TypeError as a call would."""
        fields, defaults, left = cls._fields, cls._field_defaults, dict(named)
        rest = [left.pop(name) if name in left else defaults.get(name, left) for name in fields[len(args) :]]
        missing = [name for name, value in zip(fields[len(args) :], rest, strict=False) if value is left]
        if left or missing or len(args) > len(fields):
            wrong = (
                f"no value for {', '.join(missing)}"
                if missing
                else f"cannot take {', '.join(left) or args[-1]!r}"
            )
            raise TypeError(f"{cls.__name__}({', '.join(fields)}): {wrong}")
        return (*args, *rest)
