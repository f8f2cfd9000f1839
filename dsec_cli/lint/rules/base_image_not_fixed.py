"""The base is whatever image is newest, or is built for another CUDA than what runs in it.

Why: `latest` is another image tomorrow, so the environment that worked cannot be had again. A package
built for one CUDA in an image with another one may load, and fail in the middle of a run. A DSec base
whose CUDA is not the certified 12.1 is only mentioned.

Bad (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:latest

Good (yaml):
    # agent-train-sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0

Source: seed A section 5.1 (CUDA is fixed at 12.1 and all nodes use one image), seed B section 2.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Related, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LATEST = "latest"
CERTIFIED = "12.1"


def check(facts: Facts) -> Iterator[Finding]:
    """The tag of the base, its CUDA, and the CUDA of the packages that run in it."""
    base = facts.contract.base
    if base is None:
        return
    name, tag, digest = _parts(base)
    if not digest and (tag == LATEST or (not tag and _is_image(name))):
        yield _newest(base, tag)
    cuda = _cuda(f"{name}:{tag}")
    if cuda:
        yield from _packages(facts, cuda)
        if cuda != CERTIFIED and name.rpartition("/")[2].startswith("dsec-"):
            yield _uncertified(cuda)


def _parts(base: str) -> tuple[str, str, str]:
    """Name, tag and digest of `registry:5000/name:tag@sha256:...`."""
    image, _, digest = base.partition("@")
    folder, slash, last = image.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{folder}{slash}{name}", tag, digest


def _is_image(name: str) -> bool:
    """Whether a name without a tag is an image's: `org/name`, and no path."""
    return "/" in name and name[0] not in "./~"


def _newest(base: str, tag: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=("base",),
        message=say("the base {base} is whatever image is newest", "latest", base=base)
        if tag
        else say("the base {base} names no tag, so it is whatever image is newest", "no-tag", base=base),
        reason=say("the environment that worked today cannot be had again tomorrow"),
        help=say("name a version, or the digest: {name}@sha256:...", name=base.removesuffix(f":{LATEST}")),
    )


def _cuda(text: str) -> str:
    """`cu121`, `cuda12.1` and `cuda-12.1` as `12.1`; "" when none is named."""
    low = text.lower()
    at = low.find("cu")
    while at >= 0:
        starts = at == 0 or not low[at - 1].isalnum()
        rest = low[at + 2 :].removeprefix("da").lstrip("-_:")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789."))].strip(".")
        if starts and digits.isdigit() and len(digits) == 3:
            return f"{digits[:2]}.{digits[2]}"
        if starts and digits.count(".") >= 1:
            return ".".join(digits.split(".")[:2])
        at = low.find("cu", at + 2)
    return ""


def _packages(facts: Facts, cuda: str) -> Iterator[Finding]:
    for dependency in facts.contract.dependencies:
        if dependency.package is None or dependency.version is None or "+cu" not in dependency.version:
            continue
        own = _cuda(dependency.version.partition("+")[2])
        if own and own != cuda:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=(*dependency.path, "version"),
                message=say(
                    "{package} {version} is built for CUDA {own}, the base has CUDA {cuda}",
                    "mixed",
                    package=dependency.package,
                    version=dependency.version,
                    own=own,
                    cuda=cuda,
                ),
                reason=say("mixed CUDA versions may load, and then fail in the middle of a run"),
                help=say(
                    "take the build +cu{digits}, or a base with CUDA {own}",
                    digits=cuda.replace(".", ""),
                    own=own,
                ),
                related=(Related(("base",), say("the base has CUDA {cuda}", cuda=cuda)),),
            )


def _uncertified(cuda: str) -> Finding:
    return Finding(
        code=RULE.code,
        severity=Severity.INFO,
        where=("base",),
        message=say(
            "the base has CUDA {cuda}; DSec's certified version is {certified}",
            "uncertified",
            cuda=cuda,
            certified=CERTIFIED,
        ),
        reason=say("what was certified was tested together with the driver"),
        help=say("nothing to do if newer cards need it and the driver fits"),
    )


RULE = Rule("DS403", "base-image-not-fixed", Severity.WARNING, check, when=("base",))
