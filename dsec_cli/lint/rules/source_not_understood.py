"""The source of a dependency, or of the data, has a scheme that nobody knows, or is malformed.

Why: What a job loads is fetched before the first Step. A source that no one can look for stops the
run only then, on a machine that already holds its GPUs.

Bad (yaml):
    dependencies:
      - name: reward_model_v2
        version: 1.3.0
        type: model
        source: dss://models/reward/2024q3

Good (yaml):
    dependencies:
      - name: reward_model_v2
        version: 1.3.0
        type: model
        source: ds://models/reward/2024q3

Source: seed A sections 2.1 (`ds://`, `git+ssh://`) and 4.1 (`data_source`). A source without a scheme
is a path.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.nearest import did_you_mean
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.contract.values import Contract
    from dsec_cli.source.tree import Path

SCHEMES = frozenset(
    (
        *("ds", "file", "http", "https", "s3", "ssh", "git", "git+ssh", "git+https", "git+http", "git+file"),
        *("gs", "gcs", "oss", "cos", "obs", "tos", "r2", "minio", "swift", "az", "abfs", "abfss", "wasb"),
        *("wasbs", "hdfs", "webhdfs", "viewfs", "ftp", "sftp", "nfs", "smb", "dvc", "lakefs", "wandb"),
        *(
            "mlflow",
            "runs",
            "hf",
            "huggingface",
            "modelscope",
            "oci",
            "docker",
            "pypi",
            "configmap",
            "secret",
        ),
    )
)
"""Where things are known to be kept; DSec itself fetches ds, file, http(s) and s3."""
_OF_SECRETS = ("vault", "env")
GIT_HOST = "git@"
WELL_FORMED = frozenset("abcdefghijklmnopqrstuvwxyz0123456789+-.")


def check(facts: Facts) -> Iterator[Finding]:
    """Each stated source, as the runtime will read it."""
    for path, source in _sources(facts.contract):
        wide = _narrowed(source)
        if wide:
            yield _full_width(facts, path, source, wide)
            continue
        scheme, problem = _problem(source)
        if problem:
            yield Finding(
                code=RULE.code,
                severity=RULE.severity,
                where=path,
                message=say("source {source!r}: {problem}", "source", source=source, problem=problem),
                reason=say("what nobody can look for stops the run before its first Step"),
                help=_advice(scheme),
            )


def _narrowed(source: str) -> str:
    """The source with ASCII signs where its scheme is followed by full-width ones; "" for any other."""
    if source.isascii():
        return ""
    from unicodedata import normalize  # few sources have such signs

    plain = normalize("NFKC", source)
    scheme, mark, rest = plain.partition("://")
    if not mark or source.startswith(f"{scheme}://") or scheme.lower() not in SCHEMES:
        return ""
    return f"{scheme.lower()}://{rest}"


def _full_width(facts: Facts, path: Path, source: str, meant: str) -> Finding:
    found = Finding(
        code=RULE.code,
        severity=RULE.severity,
        where=path,
        message=say(
            "source {source!r}: its colon or slashes are full-width letters", "full-width", source=source
        ),
        reason=say("what nobody can look for stops the run before its first Step"),
        help=say("write {meant}", meant=meant),
    )
    from dsec_cli.lint.mend import with_value  # only a finding pays for it

    return with_value(facts, found, path, meant, safe=True)


def _sources(contract: Contract) -> Iterator[tuple[Path, str]]:
    for dependency in contract.dependencies:
        if dependency.package is None and dependency.source is not None:
            yield (*dependency.path, "source"), dependency.source
    stated = [(one.path, one.source) for one in contract.env_vars]
    stated += [(one.path, one.source) for one in contract.mounts]
    for path, source in stated:
        # Where secrets and folders come from is a wider set; only a slash that is missing is told.
        low, colon, rest = (source or "").partition(":")
        if colon and rest[:1] == "/" and rest[:2] != "//" and low in (*SCHEMES, *_OF_SECRETS):
            yield (*path, "source"), source or ""
    if contract.data_source is not None:
        yield ("data_source",), contract.data_source


def _problem(source: str) -> tuple[str, str]:
    """The scheme and what is wrong; "" for a path and for what is right."""
    if source.startswith(GIT_HOST):
        return "", ""
    scheme, mark, rest = source.partition("://")
    low = scheme.lower()
    if not mark:
        low, colon, rest = source.lower().partition(":")
        if colon and low in (*SCHEMES, *_OF_SECRETS) and low != "file":
            return low, say("{scheme}: must be followed by two slashes", scheme=low)
        low, slashes, rest = source.lower().partition("//")
        if slashes and rest and low in (*SCHEMES, *_OF_SECRETS):
            return low, say("the colon is missing behind {scheme}", scheme=low)
        return "", ""
    if not scheme or not WELL_FORMED.issuperset(low) or not low[:1].isalpha():
        return "", ""
    if low not in SCHEMES:
        return low, say("nobody knows the scheme {scheme}", scheme=low)
    if not rest.strip("/"):
        return low, say("nothing stands behind {scheme}://", scheme=low)
    if low == "ds" and any(part in ("", ".", "..") for part in rest.rstrip("/").split("/")):
        return low, say("a path in a registry has no empty, . and .. parts")
    return "", ""


def _advice(scheme: str) -> str:
    if scheme in (*SCHEMES, *_OF_SECRETS):
        return say("write {scheme}://HOST/PATH, or {scheme}://PATH", scheme=scheme)
    meant = did_you_mean(scheme, SCHEMES)
    if meant.startswith("did"):
        return meant
    return say("write ds://PATH, a path, or a URL that begins with https://, s3:// or git+ssh://")


RULE = Rule("DS401", "source-not-understood", Severity.ERROR, check, when=("source-stated",))
