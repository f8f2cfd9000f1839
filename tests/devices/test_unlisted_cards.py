"""Cards that the table lacks, cards without a memory size, and output that lists no GPU."""

from __future__ import annotations

import pytest

from dsec import cards
from dsec.devices.smi import from_output, is_output
from dsec.errors import DSecError

HEAD = "index, name, uuid, memory.total [MiB], memory.free [MiB]\n"
ROWS = (
    ("NVIDIA GeForce RTX 5060 Ti", "16311 MiB", "rtx-5060ti"),
    (
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        "97887 MiB",
        "rtx-pro-6000-blackwell-workstation-edition",
    ),
    ("NVIDIA GB10", "[N/A]", "gb10"),
    ("Graphics Device", "16311 MiB", ""),
)


@pytest.mark.parametrize(("model", "memory", "kind"), ROWS)
def test_a_card_is_called_by_its_name_where_the_table_lacks_it(model: str, memory: str, kind: str) -> None:
    text = f"{HEAD}0, {model}, GPU-00000000-0000-0000-0000-000000000001, {memory}, {memory}\n"
    assert is_output(text)
    (device,) = from_output(text, "a.csv").devices
    assert (device.type, device.model) == (kind, model)
    if kind:
        assert kind in (cards.resolve(model) or (cards.spelt(model),))
        assert cards.spelt(kind) == kind, "a contract may name the type as the inventory does"


@pytest.mark.parametrize(
    "written", ["rtx-5060ti", "RTX 5060 Ti", "GeForce RTX 5060 Ti", "nvidia geforce rtx 5060 ti"]
)
def test_a_demand_is_spelt_as_the_device_is(written: str) -> None:
    assert cards.resolve(written) == ()
    assert cards.spelt(written) == "rtx-5060ti"


def test_a_matrix_of_peers_is_told_apart_from_one_of_links() -> None:
    text = "\tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tCNS\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
    assert is_output(text)
    with pytest.raises(DSecError, match="topo -p2p"):
        from_output(text, "p.txt")
