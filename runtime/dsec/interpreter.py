"""Python processes of ours: they import from where this one does, never from the folder they run in.

`python -m` and `python -c` put the present folder in front of the standard library, and a clone may hold a
`ctypes.py`. So every interpreter of ours is isolated (-I), and told where to look. A worker imports what the
user wrote from the contract's folder: it is the only one that gets a folder of the user's (`WORKER`).
"""

from __future__ import annotations

import sys

WORKER = ("-P", "-m", "dsec.worker")
"""What starts a worker: packages of the user's environment count, and the present folder does not yet."""
APART = ("-I", "-S", "-c")
"""What starts a process of ours, before its code."""


def import_path() -> list[str]:
    """Where this process imports from, without what means another folder wherever one is."""
    return [name for name in sys.path if name.startswith("/")]


def apart(module: str, *argv: str) -> tuple[str, ...]:
    """The command line of a process that calls `main` of a module of ours; `sys.argv[1:]` is `argv`."""
    code = f"import sys; sys.path[:] = {import_path()!r}\nfrom {module} import main\nsys.exit(main())"
    return (sys.executable, *APART, code, *argv)
