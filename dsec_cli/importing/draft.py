"""What a file says, in the words of a contract: the value between an importer and the YAML it becomes."""

from __future__ import annotations

from dsec.record import Record


class Gpu(Record):
    """GPUs of one Step, as the source names them."""

    count: int  # type: ignore[assignment] # a tuple's method of this name is never used here
    type: str = ""
    """As the card table spells it where it knows the type; "" when the source does not say."""
    memory_bytes: int | None = None


class Command(Record):
    """What a Step runs: exactly one of the three is given, or none where the source has no command."""

    line: str = ""
    """One program with its arguments, as a line without shell syntax."""
    argv: tuple[str, ...] = ()
    script: str = ""
    """For a shell."""


class Step(Record):
    """One Step; what the source does not say is None or empty."""

    id: str
    command: Command
    name: str = ""
    needs: tuple[str, ...] = ()
    gpu: Gpu | None = None
    cpu_m: int | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    timeout_ns: int | None = None
    expected_ns: int | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = ""
    retries: int = 0
    remark: str = ""
    """Said in a comment above the Step."""


class Mount(Record):
    """A folder that the job sees."""

    path: str
    source: str
    writable: bool = False


class Draft(Record):
    """A whole contract before it is written."""

    name: str
    origin: str
    """What it was made of, for the first line: `dvc.yaml`, `train.slurm and eval.slurm`."""
    steps: tuple[Step, ...]
    base: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    """Given to all Steps."""
    secrets: tuple[str, ...] = ()
    """Names of variables whose values were left behind: each is read from the environment instead."""
    mounts: tuple[Mount, ...] = ()
