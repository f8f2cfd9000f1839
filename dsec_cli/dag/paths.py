"""Which Steps write the file that an input names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dsec_cli.contract.values import Step


RUN = "{run}"


def normal(text: str) -> str:
    """One spelling per file: `./a//x/../b/` is `a/b`, as POSIX reads it where no link leads elsewhere.

    `..` stays at the beginning, and behind `{run}`, of which nobody knows how many folders it is.
    """
    if "./" not in text and "//" not in text and text[-1:] not in ("/", ".", ""):
        return text  # `.` and `..` stand before a slash or at the end
    parts: list[str] = []
    rooted = text.startswith("/")
    for part in text.split("/"):
        if part == ".." and parts and parts[-1] != ".." and RUN not in parts[-1]:
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and rooted and not parts):
            parts.append(part)
    return ("/" if rooted else "") + "/".join(parts) or "."


def previous(text: str) -> bool:
    """Whether the path is one of the iteration before."""
    return "{previous}" in text


class Outputs:
    """Writers by output path; an output that ends in `/` is a folder and stands for all below it."""

    __slots__ = ("_files", "_folders")

    def __init__(self, steps: Iterable[Step]) -> None:
        self._files: dict[str, list[str]] = {}
        self._folders: dict[str, list[str]] = {}
        for step in steps:
            for _, text in step.outputs:
                _add(self._files, normal(text), step.id)
                if text.endswith("/"):
                    _add(self._folders, normal(text), step.id)

    def writers(self, text: str) -> list[str]:
        """Steps that write the file `text` in the same iteration, in document order of writing."""
        name = normal(text)
        found = list(self._files.get(name, ()))
        if self._folders:
            parts = name.split("/")
            for end in range(1, len(parts)):
                found += [w for w in self._folders.get("/".join(parts[:end]), ()) if w not in found]
        return found

    def earlier_writers(self, text: str) -> list[str]:
        """Steps whose `{iteration}` output of the iteration before is the `{previous}` input `text`."""
        return self.writers(text.replace("{previous}", "{iteration}"))


def _add(table: dict[str, list[str]], name: str, writer: str) -> None:
    writers = table.setdefault(name, [])
    if writer not in writers:
        writers.append(writer)
