"""A scan as one JSON document, for programs; see `scandoc` for its shape."""

from __future__ import annotations

import json

from dsec_cli.plugins.scandoc import document
from dsec_cli.plugins.view import Signature, View

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dsec_cli.plugins.result import Scan


def render(found: Scan, path: str, signature: Signature) -> str:
    """The document; it does not say where the file lay."""
    del path
    held = document(found, (signature.status, signature.detail))
    return json.dumps(held, ensure_ascii=False, indent=2) + "\n"


VIEW = View("json", render)
