"""A closed set of named texts: `enum.Enum` without its start-up, which is a tenth of a whole lint.

Type checkers see the real thing. At run time members are found by name and by value, are the same
object wherever they come from, and have `name` and `value`; a set is not iterated, as that takes a
metaclass: write its members down as a tuple beside it.
"""

from __future__ import annotations

__all__ = ["Choice"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import Enum as Choice
else:

    class Choice:
        """Subclasses name their members: `ERROR = "error"`."""

        def __init_subclass__(cls):
            cls._members = {}
            for name, value in list(vars(cls).items()):
                if isinstance(value, str) and not name.startswith("_"):
                    member = cls._members[value] = object.__new__(cls)
                    member.__dict__.update(name=name, value=value)
                    setattr(cls, name, member)

        def __new__(cls, value):
            """The member that has the value; raises ValueError for one that none has."""
            found = cls._members.get(value)
            if found is None:
                raise ValueError(f"{value!r} is no {cls.__name__}")
            return found

        def __setattr__(self, name, value):
            raise AttributeError(f"{type(self).__name__}.{self.name} cannot be changed")

        def __repr__(self):
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __str__(self):
            return f"{type(self).__name__}.{self.name}"

        def __reduce__(self):
            return type(self), (self.value,)
