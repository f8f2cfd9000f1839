"""Object storage is mounted without `cache_ttl`.

Why: A mounted bucket looks like a folder, and the kernel keeps an entry for every object ever seen.
Without a limit these fill its memory: 10 TB of objects took 45 GB, and reading slowed from 1.2 to
0.3 GB/s after ten hours.

Bad (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      mounts:
        - path: /workspace/data
          source: s3://ds-bucket/finetune-datasets/v2/

Good (yaml):
    # sandbox.yaml
    base: deepseek/dsec-python311-cu121:1.4.0
    runtime_context:
      mounts:
        - path: /workspace/data
          source: s3://ds-bucket/finetune-datasets/v2/
          cache_ttl: 300s

Source: seed B section 4.5 (`cache_ttl: 300s` for mounts from S3).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.rule import Facts, Rule
from dsec_cli.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

STORES = frozenset(
    (
        "s3",
        "s3a",
        "s3n",
        "gs",
        "gcs",
        "oss",
        "cos",
        "obs",
        "tos",
        "r2",
        "minio",
        "swift",
        "az",
        "abfs",
        "abfss",
    )
)


def check(facts: Facts) -> Iterator[Finding]:
    """Mounts from an object store that say nothing of caching."""
    for mount in facts.contract.mounts:
        scheme, mark, _ = (mount.source or "").partition("://")
        if not mark or scheme.lower() not in STORES or mount.cache_ttl is not None:
            continue
        if not facts.lacks((*mount.path, "cache_ttl")):
            continue
        found = Finding(
            code=RULE.code,
            severity=RULE.severity,
            where=(*mount.path, "source"),
            message=say(
                "{path} is mounted from {source} without cache_ttl",
                "no-ttl",
                path=mount.target or "?",
                source=mount.source,
            ),
            reason=say("the kernel keeps an entry for every object seen, until reading slows down"),
            help=say("add `cache_ttl: 300s`"),
        )
        from dsec_cli.lint.mend import with_entry  # only a finding pays for it

        yield with_entry(facts, found, mount.path, "cache_ttl", "300s")


RULE = Rule("DS405", "object-mount-without-cache-ttl", Severity.WARNING, check, when=("mount",))
