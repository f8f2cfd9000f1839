"""Documents of sections that somebody else wrote: anything in any place is refused in words, or harmless."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dsec.errors import DSecError
from dsec.store import Store
from dsec_cli.snapshot.diff import compare
from dsec_cli.snapshot.drift import drift
from dsec_cli.snapshot.hostcheck import check
from dsec_cli.snapshot.manifest import Manifest, identity
from dsec_cli.snapshot.package import auditlog, codemanifest, fingerprint, gpulayout
from dsec_cli.snapshot.redaction import Redactor
from dsec_cli.snapshot.replay import replay
from dsec_cli.snapshot.restoring import restore
from dsec_cli.snapshot.section import Wanted
from dsec_cli.snapshot.shapes import wrong
from dsec_cli.snapshot.shelf import View, document
from dsec_cli.snapshot.takingout import take_out
from dsec_cli.snapshot.views import diffhtml, diffjson, difftext, inspecting

from .kit import described, repository, scene, site, take, write

ODD = (None, True, -1, "x", "\x1b[2J", [], {}, [[]], {"x": {}}, ["a", "b"])


@pytest.fixture
def whole(tmp_path: Path, store: Store, state: Path) -> View:
    """A snapshot with something in every list that the code reads."""
    folder = repository(tmp_path / "p", {"train.py": "lr = 1\n", "x.py": "y = 1\n"})
    write(folder, {"train.py": "lr = 2\n", "new.py": "API_KEY = 'aRgV7Kq9mW2vB4nZ8pLt5'\n", ".netrc": "x"})
    sites = [site(tmp_path / "site", {"torch": "2.4"})]
    wanted = Wanted(data=("train.py:content",))
    environ = {"PATH": os.environ["PATH"], "HOME": str(state), "CUDA_HOME": "/c", "OTHER": "1", "SEED": "7"}
    more = {"sites": sites, "wanted": wanted, "environ": environ, "argv": ("dsec", "run")}
    found = scene(folder, store, state, inventory=described("h100-sxm-80gb", 2), **more)
    view = take(found, "v1")
    run = {
        "job": "a", "plan": "p", "outcome": "succeeded",
        "contract": {"file": "f", "hash": "h", "name": "n"},
        "steps": [{"id": "a", "key": "k", "attempts": 1, "failures": 0}],
        "results": [{"path": "x", "in_run": True, "hash": "blake3:0"}],
    }  # fmt: skip
    work = (("work", view.manifest.section("data").trees[0][1]),)  # type: ignore[union-attr]  # it is there
    return replaced(replaced(view, "run", run), "state", {"files": 1, "bytes": 2}, trees=work)


def replaced(view: View, name: str, data: Any, **more: Any) -> View:
    """The snapshot with another document in one section, and all ids as they then are."""
    new = view.store.put_bytes(json.dumps(data).encode())
    sections = tuple(
        one._replace(document=new, status="present", **more) if one.name == name else one
        for one in view.manifest.sections
    )
    return View(view.manifest._replace(sections=sections, id=identity(sections)), view.store)


def changed(data: Any) -> Iterator[Any]:
    """The document with one thing in it replaced, or left out."""
    yield from ODD
    if isinstance(data, dict):
        for key, value in data.items():
            yield {name: one for name, one in data.items() if name != key}
            yield from ({**data, key: one} for one in changed(value))
    elif isinstance(data, list) and data:
        yield from ([one, *data[1:]] for one in changed(data[0]))


def used(view: View, other: View, room: Path) -> Iterator[Callable[[], object]]:
    """Everything that reads documents."""
    side = view.side

    def shown() -> None:
        for one, two in ((view, other), (other, view)):
            found = compare(one, two)
            drift(found)
            difftext.render(found, "one", "two", paint=lambda text, _: text)
            diffhtml.render(found, "one", "two")
            diffjson.render(found, one.manifest, two.manifest, live=False)

    def taken_out() -> None:
        shutil.rmtree(room, ignore_errors=True)
        take_out(view, "data", str(room))

    def packaged() -> None:
        sections = {one.name: document(view.store, one) for one in view.manifest.sections}
        codemanifest.described(sections["code"], [])
        fingerprint.encoded(fingerprint.of_sections(sections["dependencies"], sections["libraries"]))
        gpulayout.rendered(sections["hardware"])
        auditlog.chained(view.manifest, auditlog.events(view.manifest, sections))

    yield lambda: inspecting.render(view, paint=lambda text, _: text)
    yield lambda: json.dumps(inspecting.document(view, 5))
    yield shown
    yield taken_out
    yield packaged
    yield lambda: check(side("hardware").data, other.side("hardware").data, caches="/c")
    yield lambda: check(other.side("hardware").data, side("hardware").data, caches="/c")
    yield lambda: replay(side("environment").data, {}, other.side("environment").data)


def survives(view: View, other: View, room: Path) -> bool:
    """Whether all of it works; that some is refused is right, that something breaks is not."""
    fine = True
    for act in used(view, other, room):
        try:
            act()
        except DSecError:
            fine = False
    return fine


NAMES = (
    *("code", "dependencies", "environment", "command", "hardware", "kernel", "mounts", "data", "seeds"),
    *("run", "settings", "state"),
)


@pytest.mark.battery
@pytest.mark.parametrize("name", NAMES)
def test_anything_in_any_place(name: str, whole: View, tmp_path: Path) -> None:
    assert survives(whole, whole, tmp_path / "room")
    data = whole.side(name).data
    refused = 0
    for at, other in enumerate(changed(data)):
        if at > 25 and at % 9:  # a part of them: each is a page, a comparison, and a package
            continue
        refused += not survives(replaced(whole, name, other), whole, tmp_path / "room")
    assert refused > 5


def test_every_section_that_is_taken_fits(whole: View) -> None:
    for one in whole.manifest.sections:
        assert wrong(one.name, whole.side(one.name).data) == "" or one.status == "absent"


def test_the_place_is_named() -> None:
    assert wrong("environment", {"values": {"A": 1}, "hidden": {}}) == "environment.values.A"
    assert wrong("mounts", {"mounts": [{"at": "/", "kind": "x", "source": ""}]}) == "mounts.mounts[0].options"
    assert wrong("code", []) == "code"
    assert wrong("of a later version", 5) == ""


@pytest.mark.parametrize("lost", ["trees", "document", "contents"])
def test_a_manifest_that_lacks_what_it_needs(lost: str, whole: View, tmp_path: Path) -> None:
    empty: Any = "" if lost == "document" else ()
    for at in range(len(whole.manifest.sections)):
        sections = tuple(
            one._replace(**{lost: empty}) if number == at else one
            for number, one in enumerate(whole.manifest.sections)
        )
        manifest: Manifest = whole.manifest._replace(sections=sections, id=identity(sections))
        survives(View(manifest, whole.store), whole, tmp_path / "room")


def test_paths_of_secrets_that_lead_out(whole: View, tmp_path: Path) -> None:
    """What stands here in place of a secret is put back only where the snapshot wrote the file itself."""
    (tmp_path / "victim").write_text("v")
    (tmp_path / "p" / "link").symlink_to(tmp_path / "victim")
    tree = whole.store.put_folder(os.fsencode(tmp_path / "p"), skip=lambda path, _: path == b".git").id
    for path in ("../../victim", str(tmp_path / "victim"), "link", "b64:Li4vLi4vdmljdGlt", "x\0y", ""):
        code = {**whole.side("code").data, "redacted": [{"path": path, "line": 1, "kind": "", "digest": ""}]}
        view = replaced(whole, "code", code, trees=(("code", tree),))
        made = restore(view, str(tmp_path / "out"), live=str(tmp_path / "x"), redactor=Redactor(b"k" * 32))
        assert made.filled == ()
        assert made.outward == ("link",)
        shutil.rmtree(tmp_path / "out")
    assert (tmp_path / "victim").read_text() == "v"


def test_places_of_data_that_lead_out(whole: View, tmp_path: Path) -> None:
    """A label, a path, or a link that another tree brought: nothing is written outside."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "link").symlink_to(tmp_path)
    store, file = whole.store, whole.side("data").trees["data-0"]
    links = store.put_folder(os.fsencode(tmp_path / "d")).id
    row = {"path": "d", "hash": None, "links": [], "attributes": {}}
    for second, label in (("d/link/evil", "data-1"), ("ok", "../../evil"), ("ok", str(tmp_path / "evil"))):
        data = {"dependencies": [], "named": [row, {**row, "path": second}]}
        view = replaced(whole, "data", data, trees=(("data-0", links), (label, file)))
        with pytest.raises(DSecError, match=r"leads out of it|two different things"):
            take_out(view, "data", str(tmp_path / "out"))
    for path in ("../../evil", "/etc/evil", ".."):
        data = {"dependencies": [], "named": [{**row, "path": path}]}
        view = replaced(whole, "data", data, trees=(("data-0", file),))
        take_out(view, "data", str(tmp_path / "out"))
        assert os.listdir(tmp_path / "out") == ["data-0"]
        shutil.rmtree(tmp_path / "out")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "out").exists()
