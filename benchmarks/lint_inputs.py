"""Makes the files that linters are measured on: a contract, a workflow and a template of any length.

A contract is the small one's head and as many Steps of 22 lines as fit: ids, commands, needs on two
of the three in the layer above, levels in turn, times, resources (every third Step with a GPU),
environment, a file of the layer above that is read, one that is written, and a comment. Its only
finding is the number of its Steps.
A workflow has a job of 22 lines, a template a queue of 12, again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

SMALL = Path(__file__).with_name("small.yaml")
LEVELS = ("pauseable", "elastic", "discardable")
WIDTH = 3
"""Steps that wait for the same layer, each for two of it."""
FILES = 200


def write(folder: Path) -> dict[str, Path]:
    """Write every input below `folder`; their paths by name, and 200 small contracts in `many`."""
    texts = {
        "small": SMALL.read_text(),
        "large": contract(10_000),
        "huge": contract(100_000),
        "small workflow": workflow(60),
        "large workflow": workflow(10_000),
        "small template": template(60),
    }
    found = {name: folder / f"{name.replace(' ', '-')}.yaml" for name in texts}
    for name, text in texts.items():
        found[name].write_text(text)
    (folder / "many").mkdir()
    for number in range(FILES):
        text = texts["small"].replace("name: small", f"name: small-{number}")
        (folder / "many" / f"contract-{number:03}.yaml").write_text(text)
    return found


def contract(lines: int) -> str:
    """A contract of at least so many lines."""
    head, _, _ = SMALL.read_text().partition("steps:\n")
    return _repeated(f"{head}steps:\n", step, lines)


def step(at: int) -> str:
    """One Step."""
    above = at - at % WIDTH - WIDTH
    needs = f"[S{above + at % WIDTH}, S{above + (at + 1) % WIDTH}]" if above >= 0 else "[]"
    gpu = "      gpu:\n        count: 1\n        memory: 16Gi\n" if at % 3 == 1 else ""
    reads = f'    inputs:\n      - "{{run}}/part-{above + at % WIDTH}.npy"\n' if above >= 0 else ""
    level = LEVELS[at % len(LEVELS)]
    grace = "" if level == "discardable" else "    checkpoint_grace_period: 30s\n"
    return (
        f"  # part {at}\n"
        f"  - id: S{at}\n"
        f"    name: Part{at}\n"
        f"    run: python work.py --part {at} --seed {at % 7}\n"
        f"    needs: {needs}\n"
        f"    level: {level}\n"
        f"    timeout: {30 + at % 30}m\n"
        f"{grace}"
        f"    expected_duration: {1 + at % 20}m\n"
        "    retries: 2\n"
        "    resources:\n"
        f"      cpu: {1 + at % 4}\n"
        f"      memory: {2 + at % 6}GiB\n"
        f"{gpu}"
        "    env:\n"
        f'      PART: "{at}"\n'
        "      MODE: train\n"
        f"{reads}"
        "    outputs:\n"
        f'      - "{{run}}/part-{at}.npy"\n'
        "\n"
    )


def workflow(lines: int) -> str:
    """A workflow of at least so many lines, in the form that zizmor reads."""
    return _repeated("name: generated\non: [push]\npermissions: {}\njobs:\n", _job, lines)


def _job(at: int) -> str:
    return (
        f"  job{at}:\n"
        f"    name: Job {at}\n"
        "    runs-on: ubuntu-24.04\n"
        f"    timeout-minutes: {5 + at % 20}\n"
        "    permissions:\n"
        "      contents: read\n"
        "    env:\n"
        f'      PART: "{at}"\n'
        "      MODE: train\n"
        "    steps:\n"
        "      - name: Check out\n"
        "        uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2\n"
        "        with:\n"
        "          persist-credentials: false\n"
        f"      - name: Build part {at}\n"
        "        run: |\n"
        f"          make part-{at}\n"
        "          make check\n"
        f"      - name: Test part {at}\n"
        "        shell: bash\n"
        "        env:\n"
        f'          SEED: "{at % 7}"\n'
        f"        run: python work.py --part {at}\n"
    )


def template(lines: int) -> str:
    """A CloudFormation template of at least so many lines."""
    head = 'AWSTemplateFormatVersion: "2010-09-09"\nDescription: generated\nResources:\n'
    return _repeated(head, _queue, lines)


def _queue(at: int) -> str:
    return (
        f"  Queue{at}:\n"
        "    Type: AWS::SQS::Queue\n"
        "    Properties:\n"
        f"      QueueName: part-{at}\n"
        f"      DelaySeconds: {at % 60}\n"
        f"      VisibilityTimeout: {30 + at % 30}\n"
        "      MessageRetentionPeriod: 345600\n"
        "      ReceiveMessageWaitTimeSeconds: 10\n"
        "      Tags:\n"
        "        - Key: part\n"
        f'          Value: "{at}"\n'
    )


def _repeated(head: str, part: Callable[[int], str], lines: int) -> str:
    parts = [head]
    count = head.count("\n")
    at = 0
    while count < lines:
        text = part(at)
        parts.append(text)
        count += text.count("\n")
        at += 1
    return "".join(parts).rstrip("\n") + "\n"
