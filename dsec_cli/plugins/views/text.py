"""A scan as text, for people: verdict, signature, what it may do, and what we did not see."""

from __future__ import annotations

from dsec_cli.cells import shown, wrap
from dsec_cli.plugins.result import TIERS
from dsec_cli.plugins.view import Signature, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.result import Call, Finding, Need, Scan

_WIDTH = 80
_SHOWN_TARGETS = 6
_SHOWN_OF_A_CODE = 3
_SHOWN_STEPS = 3
"""Of a long way: so many functions where it begins, and as many where it ends."""
_TIER_WORDS = {
    "load": "when it is loaded",
    "reachable": "when it is called",
    "linked": "linked, no way found",
    "unknown": "perhaps (the file does not tell)",
}
_VERDICTS = {
    "ok": "ok: nothing that must not be, and nothing hidden",
    "incomplete": "incomplete: part of it could not be seen",
    "violations": "violations: it must not be used as it is",
}


def render(found: Scan, path: str, signature: Signature) -> str:
    """The whole text."""
    return _rendered(found, path, signature, _Fold(full=True))


def folded(found: Scan, path: str, signature: Signature) -> str:
    """The text with long ways cut in their middle, and of each code the first findings."""
    fold = _Fold(full=False)
    text = _rendered(found, path, signature, fold)
    return f"{text}\n--full prints what is left out here.\n" if fold.cut else text


class _Fold:
    """How much of a report is shown, and whether anything was left out."""

    def __init__(self, *, full: bool) -> None:
        self.full = full
        self.cut = False

    def way(self, chain: tuple[str, ...]) -> str:
        """A way in one line; a gap of one or two functions is not worth a fold."""
        words = [shown(word) for word in chain]
        over = len(words) - 2 * _SHOWN_STEPS
        if not self.full and over > 2:
            self.cut = True
            words[_SHOWN_STEPS:-_SHOWN_STEPS] = [f"... {over} more ..."]
        return " -> ".join(words)

    def parted(self, rows: list[tuple[Finding, int]]) -> tuple[list[tuple[Finding, int]], dict[str, int]]:
        """The findings that are shown, and how many of each code and severity are not."""
        kept: list[tuple[Finding, int]] = []
        seen: dict[str, int] = {}
        for one, count in rows:
            key = f"{one.severity} {one.code}"
            seen[key] = seen.get(key, 0) + 1
            if self.full or seen[key] <= _SHOWN_OF_A_CODE or one.allowed:
                kept.append((one, count))
        shown_of = {key: sum(f"{one.severity} {one.code}" == key for one, _ in kept) for key in seen}
        left = {key: count - shown_of[key] for key, count in seen.items() if count > shown_of[key]}
        self.cut = self.cut or bool(left)
        return kept, left


def _rendered(found: Scan, path: str, signature: Signature, fold: _Fold) -> str:
    lines = [f"{shown(path)}: {_VERDICTS[found.verdict()]}", ""]
    lines += _head(found, signature)
    for title, part in (
        ("Permissions", _permissions(found, fold)),
        ("Must not be", _list(found.violations(), fold)),
        ("What I could not see", _unseen(found, fold)),
        ("Hardening and remarks", _list(_rest(found), fold)),
        ("System calls", _calls(found)),
        ("What the sandbox will allow", _sandbox(found)),
        ("Assumed", [row for one in found.assumptions for row in _hang("  ", shown(one))]),
        ("Versions", [f"  {name} {version}" for name, version in found.tools]),
    ):
        body = list(part)
        if body:
            lines += ["", title, *body]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _head(found: Scan, signature: Signature) -> Iterator[str]:
    one = found.identity
    yield f"  signature  {signature.status}{f' ({signature.detail})' if signature.detail else ''}"
    kind = f"{one.machine} {one.kind}, {one.size:,} bytes, build id {one.build_id or 'none'}"
    yield from _hang("  file       ", kind)
    yield f"  blake3     {one.blake3}"
    if one.libc:
        yield f"  libc       {shown(one.libc)}"
    if one.needed:
        yield from _hang("  needs      ", ", ".join(map(shown, one.needed)))
    if one.bundled:
        yield from _hang("  scanned with it  ", ", ".join(map(shown, one.bundled)))


def _hang(head: str, text: str) -> list[str]:
    rows = wrap(text, _WIDTH - len(head)) or [""]
    return [head + rows[0], *(" " * len(head) + row for row in rows[1:])]


def _permissions(found: Scan, fold: _Fold) -> Iterator[str]:
    if not found.needs:
        yield "  none: nothing in its own code asks for more than memory, threads and time"
    for tier in TIERS:
        needs = [need for need in found.needs if need.tier == tier]
        if needs:
            yield f"  {_TIER_WORDS[tier]}:"
        for need in needs:
            yield from _need(need, fold)


def _need(need: Need, fold: _Fold) -> Iterator[str]:
    named = [shown(target) for target in need.targets if target]
    more = f" and {len(named) - _SHOWN_TARGETS} more" if len(named) > _SHOWN_TARGETS else ""
    target = "=" + ", ".join(named[:_SHOWN_TARGETS]) + more if named else ""
    other = " and others that are not constant" if named and "" in need.targets else ""
    yield from _hang("    ", f"{need.permission}{target}{other}")
    if need.chain:
        yield from _hang("      ", fold.way(need.chain))


def _list(findings: tuple[Finding, ...], fold: _Fold) -> Iterator[str]:
    kept, left = fold.parted(_joined(findings))
    for one, count in kept:
        where = f"{shown(one.file)}: " if one.file else ""
        times = f" ({count} places)" if count > 1 else ""
        yield from _hang("  ", f"{one.severity} {one.code}  {where}{shown(one.message)}{times}")
        if one.chain:
            yield from _hang("      ", fold.way(one.chain))
        if one.allowed:
            yield from _hang("      ", f"allowed: {shown(one.allowed)}")
        else:
            yield from _hang("      ", one.action)
    for key, count in left.items():
        yield f"  {key}  and {count} more"


def _joined(findings: tuple[Finding, ...]) -> list[tuple[Finding, int]]:
    """Each code with each message once, with the number of places where it holds."""
    found: dict[tuple[str, str, str], tuple[Finding, int]] = {}
    for one in findings:
        key = (one.code, one.message, one.file)
        first, count = found.get(key, (one, 0))
        found[key] = (first, count + 1)
    return list(found.values())


def _unseen(found: Scan, fold: _Fold) -> Iterator[str]:
    blind = tuple(one for one in found.findings if one.blind and one.severity != "error")
    errors = tuple(one for one in found.violations() if one.blind)
    if not blind and not errors:
        yield "  nothing that we know of"
    yield from _list(blind, fold)
    for code in sorted({one.code for one in errors}):
        yield f"  see above: {code}"
    yield from _coverage(found)


def _coverage(found: Scan) -> Iterator[str]:
    one = found.coverage
    if one.functions is None or one.covered_bytes is None:
        yield f"  looked at: tables of the file; not all of its {one.executable_bytes:,} bytes of code"
        return
    share = 100 * one.covered_bytes / one.executable_bytes if one.executable_bytes else 100.0
    text = (
        f"looked at: {one.functions:,} functions, {share:.1f} % of {one.executable_bytes:,} "
        f"executable bytes; {one.gates} gates into the kernel in known code, "
        f"{one.stray} byte pairs elsewhere that would be one; "
        f"{one.indirect:,} calls go where a register or memory says; {one.invalid} undecodable instructions"
    )
    yield from _hang("  ", text)


def _rest(found: Scan) -> tuple[Finding, ...]:
    return tuple(one for one in found.findings if not one.blind and (one.severity != "error" or one.allowed))


def _calls(found: Scan) -> Iterator[str]:
    if found.calls is None:
        yield "  not determined: that takes code for x86-64, a disassembler (pip install 'dsec[scan]') and"
        yield "  the target's C library (glibc; --libc or --sysroot)"
        return
    for tier in TIERS:
        calls = [call for call in found.calls if call.tier == tier]
        if calls:
            yield f"  {_TIER_WORDS[tier]} ({len(calls)}):"
            yield from _hang("    ", ", ".join(_named(call) for call in calls))


def _named(call: Call) -> str:
    return call.name + ("*" if call.direct else "")


def _sandbox(found: Scan) -> Iterator[str]:
    if found.calls is None:
        yield "  nothing can be derived without the system calls"
        return
    direct = any(call.direct for call in found.calls)
    loading = len(set(found.loader) - {call.name for call in found.calls})
    yield f"  {len(found.calls)} system calls for the plugin, and {loading} others while it is loaded"
    if direct:
        yield "  * entered by the plugin's own code, not by libc"


VIEW = View("text", render, folded)
