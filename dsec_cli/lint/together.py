"""What contracts that are linted together may take together."""

from __future__ import annotations

from dsec.record import Record
from dsec_cli.contract.build import build_all
from dsec_cli.diagnostics import Place
from dsec_cli.source.locate import locate
from dsec_cli.source.yaml import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dsec_cli.contract.values import Contract
    from dsec_cli.source.text import SourceText


class Growth(Record):
    """How many GPUs a contract may add to its baseline."""

    file: str
    document: int
    gpus: int
    place: Place
    """Of its `max_count`."""


def growth(contract: Contract) -> int:
    """`max_count` less the baseline's count; 0 where either is not said."""
    gpu = contract.baseline.gpu if contract.baseline is not None else None
    elastic = contract.elasticity.gpu if contract.elasticity is not None else None
    if gpu is None or elastic is None or gpu.count is None or elastic.max_count is None:
        return 0
    return max(elastic.max_count - gpu.count, 0)


def growths(texts: Iterable[SourceText]) -> tuple[Growth, ...]:
    """Every contract of the texts that may grow, in order."""
    return tuple(one for text in texts for one in _of(text))


def _of(text: SourceText) -> Iterator[Growth]:
    tree = parse(text)
    documents = {document.index: document for document in tree.documents}
    for built in build_all(tree, text.name) if tree.documents else ():
        gpus, at = growth(built.contract), built.contract.document
        if gpus:
            span = locate(documents[at], ("elasticity", "gpu", "max_count"))
            place = Place(text.name, span, text.position(span.start), text.position(span.end))
            yield Growth(text.name, at, gpus, place)
