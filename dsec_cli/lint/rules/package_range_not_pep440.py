"""The version of a Python package is no PEP 440 version or range, or a range that nothing satisfies.

Why: The environment is built from this text. A range that cannot be read installs nothing, or
worse, whatever is newest.

Bad (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    dependencies:
      - package: transformers
        version: 4.40.0,4.42.0

Good (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    dependencies:
      - package: transformers
        version: ">=4.40.0,<4.42.0"

Source: seed B section 2 (PEP 440 versions).
"""

from __future__ import annotations

from dsec.versions import (
    COMPARES_NOTHING,
    EMPTY,
    NO_SIGN,
    NO_VERSION,
    empty_range,
    range_fault,
    range_problem,
)
from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """Versions of the dependencies that are Python packages."""
    for dependency in facts.contract.dependencies:
        if dependency.package is None or dependency.version is None:
            continue
        why = _why(dependency.version)
        if why:
            found = Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*dependency.path, "version"),
                message=say(
                    "{version!r} is no version range for {package}: {why}",
                    "version-range",
                    version=dependency.version,
                    package=dependency.package,
                    why=why,
                ),
                reason=say("the environment is built from this text, and pip would not read it"),
                help=_next(dependency.version),
            )
            meant = _meant(dependency.version)
            if not meant:
                yield found
                continue
            from dsec_cli.lint.mend import with_value  # only a finding pays for it

            yield with_value(facts, found, (*dependency.path, "version"), meant)


_FAULTS = {
    EMPTY: "it is empty",
    NO_SIGN: "{clause!r} has no comparison sign",
    NO_VERSION: "{clause!r} is not a version",
    COMPARES_NOTHING: "{clause!r} compares with no version",
}
"""The faults in words that can be translated."""


def _why(version: str) -> str:
    template, clause = range_fault(version)
    if template:
        return say(_FAULTS[template], clause=clause)
    low, high = empty_range(version)
    return say("no version is both {low} and {high}", low=low, high=high) if low else ""


def _next(version: str) -> str:
    low, high = _ends(version)
    if low:
        return say('write ">={parts},<{parts2}" if that range is meant', parts=low, parts2=high)
    meant = _meant(version)
    if meant:
        return say('write "{meant}" if that is meant', meant=meant)
    return say('write one version (4.12.0) or a range such as ">=4.40.0,<4.42.0"')


def _meant(version: str) -> str:
    """The range that is most likely meant; "" where nobody can tell."""
    low, high = _ends(version)
    if low:
        return f">={low},<{high}"
    meant = _of_other_managers(version.strip())
    return "" if range_problem(meant) else meant


def _of_other_managers(version: str) -> str:
    """`0.43.*`, and what people write who know conda, npm or poetry."""
    sign, number = version[:1], version[1:]
    if sign == "=":
        return f"=={number}"
    if sign == "^":
        return _caret(number)
    clauses = version.replace(",", " ").split()
    if len(clauses) > 1 and all(clause[0] in "<>!~=" and clause[-1].isdecimal() for clause in clauses):
        joined = ",".join(clauses)
        return joined if joined != "".join(version.split()) else ""
    if version[:1] in "<>" and version.endswith((".x", ".*")):
        return version[:-2]
    stem = version.removesuffix(".x").removesuffix(".*")
    return f"=={stem}.*" if stem != version else ""


def _caret(number: str) -> str:
    """The `^1.2` of npm and poetry: up to the next change of the first part that is not 0."""
    parts = number.split(".")
    if not all(part.isascii() and part.isdecimal() for part in parts):
        return ""
    at = next((at for at, part in enumerate(parts) if int(part)), len(parts) - 1)
    return f">={number},<{'.'.join((*parts[:at], str(int(parts[at]) + 1)))}"


def _ends(version: str) -> tuple[str, str]:
    """Both ends of a range that lost its comparison signs; "" when it is no such range."""
    parts = [part.strip() for part in version.split(",")]
    if len(parts) != 2 or any(range_problem(part) or part[:1] in "<>=!~" for part in parts):
        return "", ""
    return parts[0], parts[1]


RULE = Rule("DS108", "package-range-not-pep440", Severity.ERROR, check, when=("package",))
