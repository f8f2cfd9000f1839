"""Files of keys: made once, for their owner alone, and whole from the first moment."""

from __future__ import annotations

import contextlib
import os


def made_once(path: str, data: bytes) -> bool:
    """Make the file; False: another process made it meanwhile, and that one counts. Raises OSError.

    What a killed process left beside it is removed, whoever it was.
    """
    folder, name = os.path.split(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    aside = f"{path}.{os.urandom(8).hex()}.tmp"
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.link(aside, path)
        _remove_others(folder, name)
    except FileExistsError:
        return False
    except FileNotFoundError:  # the one who was first removed ours
        if not os.path.lexists(path):
            raise
        return False
    finally:
        with contextlib.suppress(OSError):
            os.unlink(aside)
    return True


def _remove_others(folder: str, name: str) -> None:
    for one in os.listdir(folder):
        if one.startswith(f"{name}.") and one.endswith(".tmp"):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, one))
