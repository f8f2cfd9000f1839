"""Lets the tests of this folder share `tree_invariants` and `suite_events`.

Under `--import-mode=importlib` a test's folder is not on the path.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
