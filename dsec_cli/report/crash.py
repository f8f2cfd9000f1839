"""Writes an unforeseen failure down in a file, so that the terminal stays readable."""

from __future__ import annotations

import os


def write_crash(argv: list[str]) -> str:
    """Write versions, command line and the current traceback to a new file; its path."""
    import tempfile
    import time
    import traceback

    text = f"{' '.join(argv)}\ncwd {os.getcwd()}\n\n{_versions()}\n\n{traceback.format_exc()}"
    name = f"crash-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.txt"
    for folder in (os.environ.get("DSEC_HOME", ".dsec"), tempfile.gettempdir()):
        try:
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, name)
            # A command line may hold a secret, so nobody else reads it; nothing is written through a link.
            new = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with open(new, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return os.path.abspath(path)
    return ""


def _versions() -> str:
    from dsec_cli.report.versions import versions

    return "\n".join(f"{name} {version}" for name, version in versions())
