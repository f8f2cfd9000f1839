"""What the snapshot commands share: the store, the project, and the scene that is captured."""

from __future__ import annotations

import contextlib
import os
import signal

from dsec.errors import DSecError, FileProblem
from dsec.record import Record
from dsec.rundir import RunDir, keep_from_git, latest
from dsec.store import Missing, StoreProblem, open_store
from dsec.units import Bytes, UnitProblem, parse
from dsec_cli.commands.matching import meant
from dsec_cli.commands.nearest import HERE, contract_here
from dsec_cli.commands.statefolder import find, home, refuse_foreign, refuse_strange
from dsec_cli.exit import Terminated, UsageError
from dsec_cli.snapshot import acceptance
from dsec_cli.snapshot.package.form import SUFFIX
from dsec_cli.snapshot.redaction import Redactor
from dsec_cli.snapshot.redactionkey import redaction_key
from dsec_cli.snapshot.section import Scene, Wanted
from dsec_cli.snapshot.shelf import View
from dsec_cli.snapshot.shelf import find as find_snapshot
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from dsec.inventory import Inventory
    from dsec.store import Store
    from dsec_cli.snapshot.manifest import Manifest

BUDGET = 256 << 20
HERE_AND_NOW = "."


class Project(Record):
    """Where the code is, and where its snapshots are."""

    folder: str
    """Absolute."""
    state: str
    """The `.dsec` folder."""
    contract: str
    """Its file name; "": there is none."""


def project(path: str | None) -> Project:
    """The project of a contract or a folder; without one: around the present folder."""
    if path is not None and not os.path.lexists(path):
        raise FileProblem(say("{path} does not exist", path=path), hint="name a contract, or its folder")
    if path is not None and not os.path.isdir(path):
        folder = os.path.dirname(os.path.abspath(path))
        return Project(folder, home(folder, os.environ), os.path.basename(path))
    folder = os.path.abspath(path) if path is not None else _upwards(os.getcwd())
    return Project(folder, home(folder, os.environ), _contract_in(folder))


def _upwards(folder: str) -> str:
    """The nearest folder upwards with a contract, snapshots or a repository; else the one asked about.

    A repository that is the home folder itself (of its settings) is no project.
    """
    at = folder
    while True:
        marks = [f"{at}/.dsec/store", *(f"{at}/{name}" for name in HERE)]
        if at != os.path.expanduser("~"):
            marks.append(f"{at}/.git")
        found = [mark for mark in marks if os.path.exists(mark)]
        if found:
            if at != folder:
                refuse_foreign(found[0], os.environ)
            return at
        above = os.path.dirname(at)
        if above == at:
            return folder
        at = above


def _contract_in(folder: str) -> str:
    try:
        return os.path.basename(contract_here(folder))
    except FileProblem:
        return ""


_PARTS = (
    *("store", "store/packs", "store/records", "store/scratch", "store/cache", "cache", "cache/kernels"),
    *("accepted.json", "restored"),
)
"""What snapshots are kept in, and what is kept beside them."""


@contextlib.contextmanager
def store_of(place: Project, *, create: bool = False) -> Iterator[Store]:
    """The project's store, open for a while."""
    refuse_strange(place.state, _PARTS, os.environ)
    try:
        store = open_store(os.path.join(place.state, "store"), create=create)
    except Missing:
        raise StoreProblem(
            say("there are no snapshots in {state}", state=place.state),
            hint=say("go to the project's folder, or make one: dsec snapshot create"),
        ) from None
    if create:
        keep_from_git(place.state)
    with store:
        yield store


@contextlib.contextmanager
def tidily() -> Iterator[None]:
    """Let TERM and HUP end the block as an error does: what was begun is taken away."""
    before = {one: signal.signal(one, _terminate) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated


def key_of_user() -> bytes:
    """The key of this user's digests, made where there is none; raises FileProblem."""
    return redaction_key(os.environ)


def redactor(place: Project, accepted: tuple[str, ...] = ()) -> Redactor:
    """The engine with this user's key; what was accepted before is accepted still. Raises UsageError."""
    for digest in accepted:
        if not acceptance.is_digest(digest):
            raise UsageError(
                say("--accept {digest!r} is no digest: it has 16 digits of 0-9 and a-f", digest=digest),
                hint=say("dsec snapshot create prints it behind each value that it replaced"),
            )
    key = key_of_user()
    return Redactor(key, (*acceptance.accepted(place.state, key), *accepted))


def budget_of(text: str | None) -> int | None:
    """`--budget`: a size, or `none`; raises UsageError."""
    if text is None:
        return BUDGET
    if text == "none":
        return None
    try:
        return int(parse(Bytes, text))
    except UnitProblem as problem:
        raise UsageError(
            say("--budget {text!r} is no size: {why}", text=text, why=str(problem)),
            hint="such as 512MiB, or none",
        ) from None


def run_of(place: Project, job: str | None) -> RunDir | None:
    """The run that is meant: by its id, or the latest of the project; None: there is none."""
    if job is not None:
        return find(place.folder, os.environ, job)
    run = latest(place.state)
    if run is not None:
        refuse_foreign(run.path, os.environ, above=False)
    return run


def inventory_of(spec: str | None) -> Inventory | None:
    """A described machine; None: this one is measured."""
    if spec is None:
        return None
    from dsec_cli.commands.inventory import read_inventory

    return read_inventory(spec)


def exclusion(place: Project) -> Callable[[str], bool] | None:
    """What the contract's include-code leaves out; None: nothing, or the contract cannot be read."""
    if not place.contract:
        return None
    from dsec_cli.commands.opened import open_contract

    try:
        patterns = open_contract(os.path.join(place.folder, place.contract)).contract.exclude_patterns or ()
    except DSecError:
        return None
    if not patterns:
        return None
    return lambda path: bool(meant(os.path.join(place.folder, path), patterns, folder=place.folder))


def scene_of(
    place: Project, store: Store, wanted: Wanted, *, run: RunDir | None, inventory: Inventory | None = None
) -> Scene:
    """What is captured here and now."""
    return Scene(
        folder=place.folder,
        state=place.state,
        environ=dict(os.environ),
        store=store,
        redactor=redactor(place),
        wanted=wanted,
        run=run,
        inventory=inventory,
    )


def view_of(store: Store, name: str) -> View:
    """A snapshot by its name, or one in a package: what it holds is put in, and kept until the next prune."""
    if name.endswith(SUFFIX) and os.path.isfile(name):
        return _packaged(store, name)
    return View(find_snapshot(store, name), store)


def _packaged(store: Store, name: str) -> View:
    from dsec_cli.snapshot.package import reading  # only who names a package pays for what reads it

    if reading.is_package(name):
        with reading.opened(name) as package:
            reading.checked(package)
            return View(reading.put_in(package, store), store)
    return View(find_snapshot(store, name), store)


@contextlib.contextmanager
def live(place: Project, store: Store, before: View, *, inventory: Inventory | None = None) -> Iterator[View]:
    """This machine as it is now, captured like the snapshot `before` and kept nowhere.

    A store that cannot be written is left alone, and a passing one takes its place.
    """
    import tempfile

    from dsec_cli.snapshot.capture import capture

    data = before.side("data").data
    named = tuple(f"{one['path']}:hash" for one in data["named"]) if data is not None else ()
    wanted = Wanted(excluded=exclusion(place), data=named)
    with contextlib.ExitStack() as stack:
        if not os.access(os.path.join(place.state, "store"), os.W_OK):
            room = stack.enter_context(tempfile.TemporaryDirectory(prefix="dsec-live-"))
            store = stack.enter_context(open_store(room))
        scene = scene_of(place, store, wanted, run=None, inventory=inventory)
        manifest: Manifest = capture(scene, "now")
        yield View(manifest, store)
