"""Several contracts and one inventory: what they ask for together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import Ran

MACHINES = """name: five
cpu: 64
memory: 512Gi
gpus:
  - {type: a100-pcie-40gb, count: 5}
"""
CONTRACT = """baseline:
  gpu: {{count: 1, memory: 24Gi, type: a100-pcie-40gb}}
elasticity:
  gpu: {{min_count: 1, max_count: {most}}}
fault_tolerance: {{level: critical}}
dependencies: []
"""


def test_the_pool_is_shared(ds: Callable[..., Ran], tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(CONTRACT.format(most=2))
    (tmp_path / "machines.yaml").write_text(MACHINES)
    alone = ds("ds-contract-lint", "--inventory", "machines.yaml", "a.yaml")
    assert alone.returncode == 0, alone
    both = ds("ds-contract-lint", "--inventory", "machines.yaml", "a.yaml", "b.yaml")
    assert both.returncode == 1, both
    assert both.stdout.count(b"warning[DS206]") == 1
    assert b"2 contracts may grow by 2 GPUs together (1 + 1)" in both.stdout
