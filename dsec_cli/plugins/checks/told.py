"""What the arguments of calls give away: made code, memory written past its protection, other programs."""

from __future__ import annotations

from dataclasses import replace

from dsec_cli.plugins.check import Check
from dsec_cli.plugins.reasons import finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.plugins.facts import Facts
    from dsec_cli.plugins.result import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """One finding for each use with a reason."""
    for use, judged in facts.judged:
        for code, why in judged.reasons:
            unsure = (code == "code-gen" and "no constant" in why) or code == "loader-walk"
            found = finding(code, why, facts, unit=use.unit, node=use.function, ip=use.ip)
            if code == "loader-walk" and found.tier == "linked":  # where Rust's panics look for their names
                yield replace(found, severity="info", blind=False)
            else:
                yield replace(found, severity="warning") if unsure else found


CHECK = Check(
    "told",
    ("code-gen", "self-mem", "exec-child", "dlopen-computed", "vdso-walk", "loader-walk", "ioctl-unknown"),
    check,
)
