"""What calls a function that it is given, with arguments that it is given behind it."""

from __future__ import annotations

FUNCTIONS: dict[str, int] = {
    "to_thread": 0, "run_sync": 0, "run_in_threadpool": 0, "partial": 0,
}  # fmt: skip
"""Last names of functions, and where the function stands among their arguments."""
METHODS: dict[str, int] = {
    "run_in_executor": 1, "submit": 0, "call_soon": 0, "call_soon_threadsafe": 0, "call_later": 1,
    "to_thread": 0, "run_sync": 0, "run_in_threadpool": 0, "partial": 0,
}  # fmt: skip
"""The same for methods."""
THREADS = ("Thread", "Process", "apply_async", "apply", "Timer")
"""Those that are given the arguments as one."""
ARGS = "args"
