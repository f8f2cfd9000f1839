"""A name for each diagnostic that survives moving and reformatting: what baselines and code hosts go by."""

from __future__ import annotations

import os

from dsec_cli.report.format import SECRETS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.source.text import SourceText


def fingerprints(
    diagnostics: Iterable[Diagnostic],
    texts: Mapping[str, SourceText],
    *,
    folder: str = "",
    called: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """One per diagnostic (32 hexadecimal digits), from what it says and not from where.

    Made of rule, file (as seen from `folder`, default: the current one), logical path with Step ids
    and offending text; equal ones are told apart by their order. Lines, columns, indentation and the
    language of the message play no part. `called` are files to take by another name.
    """
    from hashlib import sha256

    seen: dict[str, int] = {}
    found: list[str] = []
    names: dict[str, str] = dict(called or {})
    for one in diagnostics:
        file = one.place.file
        if file not in names:
            names[file] = seen_from(folder, file)
        said = _value(one, texts) if one.path else _template(one)
        key = "\0".join((one.code, names[file], one.path, said))
        seen[key] = seen.get(key, 0) + 1
        data = f"{key}\0{seen[key]}".encode("utf-8", "surrogatepass")
        found.append(sha256(data).hexdigest()[:32])
    return tuple(found)


def seen_from(folder: str, file: str) -> str:
    """The name of `file` relative to `folder` (the current one when empty); absolute when it is not below."""
    if not folder and not os.path.isabs(file):
        path = os.path.normpath(file)
        if path.split(os.sep)[0] != os.pardir:
            return path
    path = os.path.relpath(file or os.curdir, folder or None)
    return os.path.abspath(file) if path.split(os.sep)[0] == os.pardir else path


def _template(one: Diagnostic) -> str:
    """The English message, whatever language it is shown in."""
    from dsec_cli.words import english

    return english(one.message)


def _value(one: Diagnostic, texts: Mapping[str, SourceText]) -> str:
    """The offending text, where it is one line and no secret (a digest of a short one can be undone)."""
    place = one.place
    if one.code in SECRETS or place.start.line != place.end.line:
        return ""
    return " ".join(texts[place.file].text[place.span.start : place.span.end].split())
