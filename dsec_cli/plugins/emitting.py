"""Turns a scan into what enforces it: a seccomp profile, or the security section of a contract."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Need, Scan

_ALWAYS = ("exit", "exit_group", "restart_syscall", "rt_sigreturn")
"""What every process makes, or the kernel makes for it."""


def seccomp(found: Scan) -> str:
    """A profile in the shape that container engines read: errno for all that nothing here needs.

    `x-dsec` says which calls are for loading only, so that a runner can take them away after dlopen.
    """
    plugin = {call.name for call in found.calls or ()} | set(_ALWAYS)
    loading = sorted(set(found.loader) - plugin)
    profile = {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": 1,
        "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []}],
        "syscalls": [
            {"names": sorted(plugin), "action": "SCMP_ACT_ALLOW", "comment": "the plugin"},
            *([{"names": loading, "action": "SCMP_ACT_ALLOW", "comment": "its loading"}] if loading else []),
        ],
        "x-dsec": {
            "format": "dsec.plugin-seccomp/1",
            "blake3": found.identity.blake3,
            "complete": found.calls is not None and not found.blind(),
            "loading_only": loading,
        },
    }
    return json.dumps(profile, indent=2) + "\n"


def contract(found: Scan) -> str:
    """The `plugins` and `security_policy` sections that would allow what the plugin's own code asks for."""
    used = [need for need in found.needs if need.tier not in ("linked", "unknown")]
    perhaps = sorted({need.permission for need in found.needs if need.tier == "unknown"})
    lines = [f"# What {found.identity.file} uses, as scanned (blake3 {found.identity.blake3[:16]})."]
    if found.blind():
        count = len(found.blind())
        places = "1 place" if count == 1 else f"{count} places"
        lines.append(f"# {places} could not be seen: see ds-plugin-scan.")
    if perhaps:
        lines.append(f"# It may use as well, which the file does not tell: {', '.join(perhaps)}.")
    lines += ["plugins:", f"  - name: {_quoted(found.identity.file.split('.')[0])}"]
    granted = [_quoted(one) for need in used for one in _spelled(need)]
    lines += (
        ["    permissions:", *(f"      - {one}" for one in granted)] if granted else ["    permissions: []"]
    )
    lines += _filesystem(used)
    return "\n".join(lines) + "\n"


def _spelled(need: Need) -> list[str]:
    if "" in need.targets:
        return [need.permission]
    return [f"{need.permission}={target}" for target in need.targets]


def _filesystem(used: list[Need]) -> list[str]:
    lines = []
    for permission, key in (("read:fs", "read_allowed"), ("write:fs", "write_allowed")):
        targets = sorted({t for need in used if need.permission == permission for t in need.targets if t})
        if targets:
            lines += [f"    {key}:", *(f"      - {_quoted(one)}" for one in targets)]
    return ["security_policy:", "  filesystem:", *lines] if lines else []


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
