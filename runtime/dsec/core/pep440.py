"""Versions of Python packages compared as PEP 440 says; the grammar of ranges is in `dsec.versions`.

An installed pre-release may satisfy a range: PEP 440 leaves pre-releases out of a search for
something to install, "unless they are already present on the system".
"""

from __future__ import annotations

import re

from dsec.record import Record
from dsec.versions import OPERATORS

_VERSION = re.compile(
    r"v?(?:(?P<epoch>[0-9]+)!)?(?P<release>[0-9]+(?:\.[0-9]+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>[0-9]*))?"
    r"(?:-(?P<post_bare>[0-9]+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>[0-9]*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>[0-9]*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
_LONGEST = 400
"""No version is longer; Python refuses to read numbers of some thousand digits."""
_PRE = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_FINAL = ("z", 0)
"""Comes after every pre-release (`a`, `b`, `rc`)."""
_BEFORE_ALL = ("", 0)
"""A development release without more comes before them."""


class Version(Record):
    """One version, taken apart."""

    epoch: int
    release: tuple[int, ...]
    """As written, trailing zeros included."""
    pre: tuple[str, int] | None
    post: int | None
    dev: int | None
    local: tuple[int | str, ...]

    @property
    def early(self) -> bool:
        """A pre-release or a development release."""
        return self.pre is not None or self.dev is not None


def parse(text: str) -> Version | None:
    """The version that `text` is; None: it is none."""
    found = _VERSION.fullmatch(text.strip().lower()) if len(text) <= _LONGEST else None
    if found is None:
        return None
    pre, local = found["pre"], found["local"]
    post = found["post_bare"] or (found["post_n"] or "0" if found["post"] else None)
    return Version(
        epoch=int(found["epoch"] or 0),
        release=tuple(int(part) for part in found["release"].split(".")),
        pre=(_PRE.get(pre, pre), int(found["pre_n"] or 0)) if pre else None,
        post=None if post is None else int(post),
        dev=int(found["dev_n"] or 0) if found["dev"] else None,
        local=tuple(int(part) if part.isdigit() else part for part in re.split("[-_.]", local))
        if local
        else (),
    )


_Part = tuple[int, int, str]
Public = tuple[int, tuple[int, ...], tuple[str, int], int, tuple[int, int]]
"""Epoch, release without trailing zeros, pre-release, post-release, development release."""
Key = tuple[int, tuple[int, ...], tuple[str, int], int, tuple[int, int], tuple[_Part, ...]]


def _key(version: Version) -> Key:
    """What orders versions, the local label included."""
    local = tuple((1, part, "") if isinstance(part, int) else (0, 0, part) for part in version.local)
    return (*public(version), local)


def public(version: Version) -> Public:
    """What orders versions whose local label does not count."""
    only_dev = version.pre is None and version.post is None and version.dev is not None
    pre = version.pre or (_BEFORE_ALL if only_dev else _FINAL)
    post = -1 if version.post is None else version.post
    dev = (1, 0) if version.dev is None else (0, version.dev)
    return version.epoch, _trimmed(version.release), pre, post, dev


def _trimmed(release: tuple[int, ...]) -> tuple[int, ...]:
    while release and not release[-1]:
        release = release[:-1]
    return release


def satisfies(wanted: str, version: str) -> bool:
    """Whether `version` is in the range `wanted`, or is the one version that `wanted` names."""
    clauses = [clause.strip() for clause in wanted.split(",")]
    return all(_holds(clause, version) for clause in clauses if clause)


def _holds(clause: str, text: str) -> bool:
    operator = next((known for known in OPERATORS if clause.startswith(known)), "")
    bound = clause[len(operator) :].strip()
    if operator == "===":
        return bound.lower() == text.strip().lower()
    version = parse(text)
    if version is None:
        return False
    if bound.endswith(".*"):
        prefix = parse(bound[:-2])
        return prefix is not None and _begins(version, prefix) is (operator == "==")
    limit = parse(bound)
    return limit is not None and _compare(operator or "==", version, limit)


def _compare(operator: str, version: Version, limit: Version) -> bool:
    match operator:
        case "==":
            return _equal(version, limit)
        case "!=":
            return not _equal(version, limit)
        case "<=":
            return public(version) <= public(limit)
        case ">=":
            return public(version) >= public(limit)
        case "<":
            return _below(version, limit)
        case ">":
            return _above(version, limit)
        case "~=":
            prefix = Version(limit.epoch, limit.release[:-1], None, None, None, ())
            return public(version) >= public(limit) and _begins(version, prefix)
        case _:
            raise AssertionError(f"{operator} is not among {OPERATORS}")


def _equal(version: Version, limit: Version) -> bool:
    return _key(version) == _key(limit) if limit.local else public(version) == public(limit)


def _below(version: Version, limit: Version) -> bool:
    """`<2.0` leaves out the pre-releases of 2.0 as well, unless the bound itself is one."""
    return public(version) < public(limit if limit.early else limit._replace(dev=0))


def _above(version: Version, limit: Version) -> bool:
    """`>1.0` leaves out the post-releases of 1.0 as well, unless the bound itself is one."""
    later = version.post is not None and limit.post is None and limit.dev is None
    if later and public(version._replace(post=None, dev=None)) == public(limit):
        return False
    return public(version) > public(limit)


def _begins(version: Version, prefix: Version) -> bool:
    """Whether the release numbers begin with the prefix's; missing ones are zeros."""
    length = len(prefix.release)
    padded = (*version.release, *[0] * length)[:length]
    return version.epoch == prefix.epoch and padded == prefix.release
