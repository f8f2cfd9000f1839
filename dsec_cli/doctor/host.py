"""This machine as checks see it: small files, the environment, and the facts of its GPUs, each read once."""

from __future__ import annotations

import os
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from dsec_cli.doctor.gpufacts import Gpus

_NVML_S = 8.0
CRASHED, SILENT = -1, -2
"""Codes of `Gpus` where the NVIDIA library took its process along, or did not answer."""


class Host:
    """What checks may ask of the machine; `root` is the file system that /proc and /sys are read from."""

    def __init__(
        self, environ: Mapping[str, str], folder: str, *, root: str = "/", gpus: Gpus | None = None
    ) -> None:
        """`folder`: of the runs' state; `gpus`: their facts, where another machine's output has them."""
        self.environ = environ
        self.folder = folder
        self.root = root
        self._gpus = gpus
        self._lock = allocate_lock()

    def text(self, path: str) -> str | None:
        """A small file's text; None when it is not there or not ours to read."""
        try:
            with open(os.path.join(self.root, path.lstrip("/")), encoding="utf-8", errors="replace") as file:
                return file.read(1 << 20)
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """A file's whole number."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def names(self, path: str) -> list[str]:
        """Names in a folder; none where it is not there."""
        try:
            return sorted(os.listdir(os.path.join(self.root, path.lstrip("/"))))
        except OSError:
            return []

    def there(self, path: str) -> bool:
        """Whether something has this path."""
        return os.path.lexists(os.path.join(self.root, path.lstrip("/")))

    def gpus(self) -> Gpus:
        """The facts of the GPUs, asked for once however many checks want them."""
        with self._lock:
            if self._gpus is None:
                self._gpus = _read_apart(self.environ)
            return self._gpus


def _read_apart(environ: Mapping[str, str]) -> Gpus:
    """By a process of its own; a crash or silence is a fact, too."""
    import json
    import subprocess  # a run, which brings the facts along, does without

    from dsec.codec import decode
    from dsec.errors import StoredFormError
    from dsec.interpreter import apart
    from dsec_cli.doctor.gpufacts import Gpus
    from dsec_cli.shortage import reraise

    try:
        done = subprocess.run(
            apart("dsec_cli.doctor.gpufacts"),
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_NVML_S,
            check=False,
        )
        if done.returncode > 0 and not done.stdout:
            reraise(done.stderr)
        return decode(Gpus, json.loads(done.stdout), where="the GPUs' facts")
    except subprocess.TimeoutExpired:
        return Gpus(SILENT, "", "", None, "", ())
    except (ValueError, StoredFormError):
        return Gpus(CRASHED, "", "", None, "", ())
