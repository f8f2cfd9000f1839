"""The values that a scan answers with."""

from __future__ import annotations

from dataclasses import dataclass

TIERS = ("load", "reachable", "linked", "unknown")
"""When a need arises: when the plugin is loaded, when it is called, perhaps never, or nobody can tell."""
SEVERITIES = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a plugin that somebody must know: what it is, where, and what to do."""

    code: str
    severity: str
    """`error`, `warning` or `info`."""
    message: str
    action: str
    blind: bool = False
    """Whether it hides something from us, so that the answer is not complete."""
    tier: str = ""
    file: str = ""
    """The library of the package, "" for the plugin itself."""
    address: int | None = None
    chain: tuple[str, ...] = ()
    allowed: str = ""
    """Why the plugin's author says that it is meant, as the manifest has it."""


@dataclass(frozen=True, slots=True)
class Need:
    """One permission, with the nearest way to it."""

    permission: str
    """Without its target."""
    targets: tuple[str, ...]
    """Constant paths, names, hosts; "" among them: also what is not known."""
    tier: str
    chain: tuple[str, ...]
    uses: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One system call, with the nearest way to it."""

    name: str
    number: int
    tier: str
    chain: tuple[str, ...]
    direct: bool
    """Whether the plugin's own code enters the kernel for it, not libc's."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at, in numbers."""

    executable_bytes: int
    covered_bytes: int | None
    functions: int | None
    gates: int | None
    """Instructions that enter the kernel."""
    stray: int | None
    """Byte pairs that would enter the kernel if code ran there, but nothing that we found does."""
    indirect: int | None
    """Calls and jumps to where a register or memory says, and no constant was found."""
    invalid: int | None


@dataclass(frozen=True, slots=True)
class Identity:
    """Which file was scanned."""

    file: str
    size: int
    blake3: str
    build_id: str | None
    machine: str
    kind: str
    libc: str
    needed: tuple[str, ...]
    bundled: tuple[str, ...]
    """Libraries of its package that were scanned with it."""
    versions: tuple[str, ...]
    """Symbol versions that it needs."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All that a scan found out, ordered, without a time or a place in it."""

    identity: Identity
    needs: tuple[Need, ...]
    calls: tuple[Call, ...] | None
    """None where there was nothing to find them with."""
    loader: tuple[str, ...]
    """System calls that loading it takes, before any of its code is called."""
    findings: tuple[Finding, ...]
    coverage: Coverage
    assumptions: tuple[str, ...]
    tools: tuple[tuple[str, str], ...]
    """(what, version)"""

    def blind(self) -> tuple[Finding, ...]:
        """What could not be seen and nobody has accounted for."""
        return tuple(one for one in self.findings if one.blind and not one.allowed)

    def violations(self) -> tuple[Finding, ...]:
        """What must not be."""
        return tuple(one for one in self.findings if one.severity == "error" and not one.allowed)

    def verdict(self) -> str:
        """`violations`, `incomplete` or `ok`."""
        if self.violations():
            return "violations"
        return "incomplete" if self.blind() else "ok"
