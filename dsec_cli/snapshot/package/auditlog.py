"""`audit_log.enc` before it is sealed: what was done and seen, each line bound to the one before. Pure.

Every line is canonical JSON with `n`, `previous` (the BLAKE3 of the line before; "" in the first) and `what`.
Taking a line out, or putting one in, breaks the chain; cutting lines off the end shows in the count that the
first one states. What DSec does and captures is here; what programs do that it does not see is not, and the
first line says so.
"""

from __future__ import annotations

import json

from dsec.codec import canonical
from dsec.hashing import blake3_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from dsec_cli.snapshot.manifest import Manifest, Plain

FORMAT = "dsec.audit-log/1"
COVERAGE = {
    "sources": ["capture of the snapshot", "journal of the run"],
    "not covered": "network calls and file accesses of the Steps' own programs",
}


class AuditError(Exception):
    """A log is not as it was written; caught where it is read."""


def events(manifest: Manifest, sections: Mapping[str, Plain]) -> Iterator[Plain]:
    """What a snapshot's sections tell; absent ones are told as such."""
    for section in manifest.sections:
        yield {
            "what": "captured", "section": section.name, "status": section.status, "reason": section.reason,
            "blake3": section.document or None,
        }  # fmt: skip
    code = sections.get("code")
    for one in code["redacted"] if code is not None else ():
        yield {"what": "redacted", **one}
    for one in code["withheld"] if code is not None else ():
        yield {"what": "withheld", **one}
    environment = sections.get("environment")
    for name, value in sorted(environment["values"].items()) if environment is not None else ():
        yield {"what": "variable", "name": name, "value": value}
    for name, digest in sorted(environment["hidden"].items()) if environment is not None else ():
        yield {"what": "hidden variable", "name": name, "digest": digest}
    mounts = sections.get("mounts")
    for one in mounts["mounts"] if mounts is not None else ():
        yield {"what": "mount", **one}
    run = sections.get("run")
    if run is not None:
        for one in run["steps"]:
            yield {"what": "step", "job": run["job"], **one}


def chained(manifest: Manifest, found: Iterable[Plain]) -> bytes:
    """The log."""
    rest = list(found)
    first = {
        "what": "log", "format": FORMAT, "snapshot": manifest.id, "name": manifest.name,
        "created_ms": manifest.created_ms, "entries": len(rest) + 1, "coverage": COVERAGE,
    }  # fmt: skip
    lines, previous, hashed = [], "", blake3_of()
    for number, event in enumerate([first, *rest]):
        line = canonical({**event, "n": number, "previous": previous})
        lines.append(line + b"\n")
        previous = hashed(line).hexdigest()
    return b"".join(lines)


def checked(log: bytes) -> list[Plain]:
    """The entries; raises AuditError naming the first line that does not follow from the one before."""
    entries, previous, hashed = [], "", blake3_of()
    for number, line in enumerate(log.splitlines()):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            raise AuditError(f"line {number + 1} is not JSON") from None
        if not isinstance(entry, dict) or entry.get("n") != number or entry.get("previous") != previous:
            raise AuditError(f"line {number + 1} does not follow from the one before")
        entries.append(entry)
        previous = hashed(line).hexdigest()
    if not entries or entries[0].get("format") != FORMAT or entries[0].get("entries") != len(entries):
        raise AuditError("lines are missing at its end")
    return entries
