"""What a Step tells of its seeds and of where it is in its data, for the snapshots of its run."""

from __future__ import annotations

import json
import os

from dsec.wholefile import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def seeds(environ: Mapping[str, str] | None = None, /, **named: int | str) -> None:
    """Take note of seeds and positions by name: `seeds(python=3, torch=3, cursor=batch * 32)`.

    The last call of a Step counts. Outside a run, and where the note cannot be written, nothing happens:
    a training does not end for it.
    """
    env = os.environ if environ is None else environ
    work, step = env.get("DSEC_RUN_DIR", ""), env.get("DSEC_STEP", "")
    if not work or not step or "/" in step:
        return
    folder = os.path.join(os.path.dirname(os.path.abspath(work)), "seeds")
    text = json.dumps({name: str(value) for name, value in sorted(named.items())})
    try:
        os.makedirs(folder, exist_ok=True)
        write_whole(os.path.join(folder, f"{step}.json"), [text.encode()], durable=False)
    except OSError:
        return
