"""What DSec itself costs per Step, as `benchmarks/RESULTS.md` has it."""

from __future__ import annotations

START_US, CALL_US = 1300, 100
"""CPU microseconds per Step that is started as a process, and per call into a warm worker."""
TIMES = 100
"""A Step of so many times its cost loses one per cent to it."""
