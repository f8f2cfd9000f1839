"""The snapshots in a store: found by name, by the beginning of an id, or as the newest."""

from __future__ import annotations

import json

from dsec.errors import DSecError, StoredFormError
from dsec.record import Record
from dsec.store import Missing
from dsec.words import say
from dsec_cli.snapshot.manifest import ABSENT, Manifest, is_name, parse
from dsec_cli.snapshot.section import Side
from dsec_cli.snapshot.shapes import lacks_tree, wrong

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec.store import Store
    from dsec_cli.snapshot.manifest import Plain, Section

LATEST = "@latest"
_LEAST_ID = 4


class SnapshotProblem(DSecError):
    """A snapshot cannot be found or read."""


class View(Record):
    """A snapshot together with where its content is."""

    manifest: Manifest
    store: Store
    own: bool = False
    """It was made by this process: what it says has the right form."""

    def side(self, name: str) -> Side:
        """One section of it; one that it does not have is absent."""
        section = self.manifest.section(name)
        if section is None:
            return Side(ABSENT, "it has no such section", None, {}, {}, self.store, self.manifest.key)
        data = document(self.store, section, own=self.own)
        return Side(
            section.status,
            section.reason,
            data,
            dict(section.trees),
            dict(section.contents),
            self.store,
            self.manifest.key,
        )


def document(store: Store, section: Section, *, own: bool = False) -> Plain:
    """A section's JSON, None where it has none; raises StoredFormError for one that is not as it must be."""
    if not section.document:
        if section.status != ABSENT:
            raise _damaged(section, "it is not there")
        return None
    try:
        data = json.loads(store.get_bytes(section.document))
    except (ValueError, RecursionError) as problem:
        raise _damaged(section, str(problem)) from None
    if lacks_tree(section.name, dict(section.trees)):
        raise _damaged(section, "its files are not there")
    if not own and (where := wrong(section.name, data)):
        raise _damaged(section, f"{where} is not what it must be")
    return data


def _damaged(section: Section, why: str) -> StoredFormError:
    return StoredFormError(say("section {id} is damaged: {why}", id=section.name, why=why))


def listed(store: Store) -> list[Manifest]:
    """All snapshots that can be read, the oldest first; records that are no snapshots are not ours."""
    return _sorted_out(store)[0]


def unread(store: Store) -> list[tuple[str, str]]:
    """Names of those that cannot be read (damaged, or of a later version), and why."""
    return _sorted_out(store)[1]


def _sorted_out(store: Store) -> tuple[list[Manifest], list[tuple[str, str]]]:
    found: list[Manifest] = []
    odd: list[tuple[str, str]] = []
    for record in store.records():
        if not is_snapshot(record.document):
            continue
        try:
            found.append(parse(record.document, record.name))
        except StoredFormError as problem:
            odd.append((record.name, str(problem.what)))
    return sorted(found, key=lambda one: (one.created_ms, one.name)), sorted(odd)


def is_snapshot(data: bytes) -> bool:
    """Whether a record is a snapshot, of this form or of a later one."""
    return b'"format":"dsec.snapshot/' in data[:4096] or b'"format":"dsec.snapshot/' in data


def find(store: Store, name: str) -> Manifest:
    """The snapshot called `name`, the only one whose id begins so, or the newest (`@latest`)."""
    if is_name(name):
        try:
            record = store.get_record(name)
        except Missing:
            pass
        else:
            manifest = parse(record.document, record.name)
            if manifest.name != name:
                why = say("its record is that of {name}", name=manifest.name)
                raise StoredFormError(
                    say("snapshot {name} is damaged: {why}", name=name, why=why),
                    hint="dsec snapshot verify tells what else is",
                )
            return manifest
    known = listed(store)
    if name == LATEST and known:
        return known[-1]
    hits = [one for one in known if len(name) >= _LEAST_ID and one.id.startswith(name.lower())]
    ids = {one.id for one in hits}
    if len(ids) == 1:
        return hits[-1]
    if len(ids) > 1:
        raise SnapshotProblem(
            say("{count} snapshots have an id that begins with {name!r}", count=len(ids), name=name),
            hint="write more of it, or the name",
        )
    raise SnapshotProblem(say("there is no snapshot {name!r}", name=name), hint=_known(known))


def _known(known: list[Manifest]) -> str:
    if not known:
        return say("there are none yet: dsec snapshot create makes one")
    return say("the newest are: {names}", names=", ".join(one.name for one in known[-5:]))
