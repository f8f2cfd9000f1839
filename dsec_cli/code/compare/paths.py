"""Files that the code touches outside what the contract allows."""

from __future__ import annotations

from dsec_cli.code.compare.missing import Missing, label, places, quoted, related
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.code.needs import FileUse, Needs
    from dsec_cli.contract.values import Contract, Mount

CODE = "DS803"
FILESYSTEM = ("security_policy", "filesystem")
SYSTEM = ("/dev", "/proc", "/sys", "/usr", "/lib", "/lib64", "/bin", "/etc/ssl", "/etc/hosts",
          "/etc/resolv.conf", "/etc/localtime", "/opt/conda")  # fmt: skip
"""What every program reads."""
_ANY = "*"


def missing_paths(needs: Needs, contract: Contract) -> Iterator[Missing]:
    """One finding per folder and way of touching it."""
    policy = contract.security_policy
    steps = [text for step in contract.steps for _, text in step.outputs]
    write = (*(policy.write_allowed if policy else ()), *steps)
    read = (
        *write,
        *(policy.read_allowed if policy else ()),
        *(mount.target for mount in contract.mounts if mount.target),
        *(text for step in contract.steps for _, text in step.inputs),
        *SYSTEM,
    )
    groups: dict[tuple[str, bool], list[FileUse]] = {}
    for one in needs.files:
        reading = one.mode == "read"
        if known(one.path) and not (reading and not one.path.startswith(("/", "~", ".."))):
            groups.setdefault((folder(one.path), reading), []).append(one)
    for (place, reading), uses in groups.items():
        mount = None if reading else _read_only(contract.mounts, place)
        if mount is not None:
            yield _mounted(mount, uses)
            continue
        outside = [one for one in uses if not allowed(one.path, read if reading else write)]
        if outside and not (place.startswith("/dev") and not reading):
            yield _missing(place, outside, reading=reading, stated=policy is not None)


def known(path: str) -> bool:
    """Whether at least the folder is known."""
    return not path.startswith(_ANY) and (_ANY not in path or "/" in path.partition(_ANY)[0])


def folder(path: str) -> str:
    """The folder in which a path lies, as far as it is known."""
    head = path.partition(_ANY)[0] if _ANY in path else path
    above, slash, last = head.rpartition("/")
    if _ANY in path or "." in last:
        return (above or "/") if slash else "."
    return path


def allowed(path: str, lists: Iterable[str]) -> bool:
    """Whether a path lies in, or below, one of the listed ones."""
    head = path.partition(_ANY)[0].rstrip("/") if _ANY in path else path
    return any(_below(head or "/", one) for one in lists)


def _below(path: str, entry: str) -> bool:
    root = entry.rstrip("*").rstrip("/") if entry not in ("/", ".", "./") else entry.rstrip("/")
    root = root.removeprefix("./") or ("/" if entry.startswith("/") else ".")
    if root == "/":
        return path.startswith("/")
    if root == ".":
        return not path.startswith(("/", "~", ".."))
    return path == root or path.startswith(f"{root}/")


def _read_only(mounts: Iterable[Mount], path: str) -> Mount | None:
    for mount in mounts:
        if mount.target and mount.mode in (None, "ro", "ro-encrypted") and _below(path, mount.target):
            return mount
    return None


def _mounted(mount: Mount, uses: list[FileUse]) -> Missing:
    message = say(
        "the code writes to {path}, which is mounted read-only", "read-only-mount", path=uses[0].path
    )
    reason = say("a write there fails; {label} ({places})", label=label(uses[0]), places=places(uses))
    advice = say("write elsewhere, or mount it with mode: rw")
    where = (*mount.path, "mode")
    return Missing(Finding(CODE, Severity.WARNING, where, message, reason, advice, related=related(uses)))


def _missing(place: str, uses: list[FileUse], *, reading: bool, stated: bool) -> Missing:
    key = "read_allowed" if reading else "write_allowed"
    path = (*FILESYSTEM, key)
    first = uses[0]
    if reading:
        message = say("the code reads {path}, which is not allowed", "read", path=first.path)
    elif first.mode == "delete":
        message = say("the code deletes {path}, which is not allowed", "delete", path=first.path)
    else:
        message = say("the code writes {path}, which is not allowed", "write", path=first.path)
    refused = (
        say("what security_policy.filesystem does not list is refused")
        if stated
        else say("there is no security_policy, and a sandbox refuses what is not listed")
    )
    reason = say("{refused}; {label} ({places})", refused=refused, label=label(first), places=places(uses))
    item = quoted(place)
    advice = say("add to security_policy.filesystem.{key}: - {item}", key=key, item=item)
    finding = Finding(CODE, Severity.WARNING, path, message, reason, advice, related=related(uses))
    return Missing(finding, path, item)
