"""The agent's code listens on a fixed port.

Why: Two runs on one machine cannot both have the port, and the second fails or talks to the first. On
`0.0.0.0` every machine that reaches this one can call it.

Bad (yaml):
    # agent-train-sandbox.yaml
    # code: import http.server as h; h.HTTPServer(("127.0.0.1", 8765), h.BaseHTTPRequestHandler)
    base: deepseek/dsec-python311-cu121:v1

Good (yaml):
    # agent-train-sandbox.yaml
    # code: import http.server as h; h.HTTPServer(("127.0.0.1", 0), h.BaseHTTPRequestHandler)
    base: deepseek/dsec-python311-cu121:v1

Source: SPEC B6. The contract has no key for ports that are listened on, so nothing is to be added to it.
"""

from __future__ import annotations

from dsec_cli.diagnostics import Finding, Severity
from dsec_cli.lint.held import held
from dsec_cli.lint.rule import Facts, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def check(facts: Facts) -> Iterator[Finding]:
    """What the code was found to need, where code was read."""
    return held(facts, RULE.code)


RULE = Rule("DS807", "port-listened-on", Severity.INFO, check, when=("given:code",))
