"""What becomes of errors in a block: some are expected, those of the system are told in the store's words.

Classes of our own, because importing `contextlib` takes as long as the modules of this package together.
"""

from __future__ import annotations

from dsec.store.values import StoreProblem
from dsec.words import say, system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType


class Expected:
    """A block may end with one of these errors: then the rest of it is left out."""

    __slots__ = ("_kinds",)

    def __init__(self, *kinds: type[Exception]) -> None:
        self._kinds = kinds

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(
        self, kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> bool:
        return kind is not None and issubclass(kind, self._kinds)


class Told:
    """A block in which what the system refuses is a StoreProblem that names the store.

    `failed` is called first when the block ends with any error.
    """

    __slots__ = ("_failed", "_path")

    def __init__(self, path: str, failed: Callable[[], None] | None = None) -> None:
        self._path, self._failed = path, failed

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if error is not None and self._failed is not None:
            with Told(self._path):
                self._failed()
        if isinstance(error, OSError):
            name = error.filename if isinstance(error.filename, str) else self._path
            raise StoreProblem(
                say("{path}: {why}", path=name, why=system(error)),
                hint=say("the store is as it was; it is at {path}", path=self._path),
            ) from None
