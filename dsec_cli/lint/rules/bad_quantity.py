"""A quantity without a unit, or with a unit that does not fit.

Why: `24`, `24G` and `24GB` are three different amounts to three different readers. Every amount
carries a unit, and only units with one meaning are accepted.

Bad (yaml):
    # ds_config.yaml
    steps:
      - id: load
        run: python load.py
        timeout: 300

Good (yaml):
    # ds_config.yaml
    steps:
      - id: load
        run: python load.py
        timeout: 300s

Source: seed A section 2.1 (`24Gi`, `1Gbps`, `30s`), seed B section 3.1 (`64GB`, `3.2 TB/s`).
"""

from __future__ import annotations

from dsec_cli.diagnostics import Severity
from dsec_cli.lint.rule import Facts, Rule, structural
from dsec_cli.source.text import Span
from dsec_cli.source.tree import Scalar
from dsec_cli.words import arguments

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dsec_cli.diagnostics import Finding


def check(facts: Facts) -> Iterator[Finding]:
    """What building the contract has noted under this code, with the nearest legal spelling."""
    for finding in structural(facts, RULE.code):
        nearest = arguments(finding.help).get("nearest")
        if nearest is None or isinstance(finding.where, Span):
            yield finding
            continue
        # Only a document with a wrong amount pays for the import.
        from dsec_cli.lint.mend import with_value

        written = facts.node(finding.where)
        # Words of another language have one meaning; a unit that is missing or wrong may have several.
        translated = isinstance(written, Scalar) and not written.text.isascii()
        yield with_value(facts, finding, finding.where, str(nearest), safe=translated)


RULE = Rule("DS106", "bad-quantity", Severity.ERROR, check, when=("DS106",))
