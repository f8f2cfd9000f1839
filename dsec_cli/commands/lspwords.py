"""Findings and answers as the language server protocol writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.protocol import default_converter

from dsec_cli.diagnostics import Severity
from dsec_cli.editor.positions import UTF32, range_of
from dsec_cli.report.format import as_it_is
from dsec_cli.words import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cattrs import Converter

    from dsec_cli.diagnostics import Diagnostic, Place
    from dsec_cli.editor.complete import Offer
    from dsec_cli.editor.hover import Hover
    from dsec_cli.editor.mend import Offered
    from dsec_cli.editor.outline import Heading
    from dsec_cli.report.format import Tell
    from dsec_cli.source.text import SourceText, Span

Wire = dict[str, object]
"""A part of a message as JSON has it."""
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error.value,
    Severity.WARNING: types.DiagnosticSeverity.Warning.value,
    Severity.INFO: types.DiagnosticSeverity.Information.value,
}
_KINDS = {
    "key": types.CompletionItemKind.Field,
    "value": types.CompletionItemKind.EnumMember,
    "step": types.CompletionItemKind.Reference,
    "sample": types.CompletionItemKind.Value,
}


def range_(text: SourceText, span: Span, *, unit: str) -> types.Range:
    """A span in the editor's units."""
    start, end = range_of(text, span, unit=unit)
    return types.Range(types.Position(*start), types.Position(*end))


def converter() -> Converter:
    """The library's own, but for findings, which `diagnostics` writes as they are sent.

    They are many, and they are sent at every key: objects of the protocol made of each and taken
    apart again took a fifth of the time that an editor waits.
    """
    found: Converter = default_converter()  # type: ignore[no-untyped-call] # the library's
    found.register_unstructure_hook(
        types.PublishDiagnosticsNotification,
        lambda sent: {"jsonrpc": sent.jsonrpc, "method": sent.method, "params": sent.params},
    )
    return found


def diagnostics(
    found: Iterable[Diagnostic], text: SourceText, uri: str, *, unit: str, tell: Tell = as_it_is
) -> list[Wire]:
    """Findings: message, reason and advice in one text, related places beside it."""
    # Where every code point is one unit, and no line ends in two, positions are known already.
    even = "\r" not in text.text and (unit == UTF32 or text.text.isascii())

    def range_of_place(place: Place) -> Wire:
        if even:
            (line, column), (last, end) = place.start, place.end
            return _range(line - 1, column - 1, last - 1, end - 1)
        start, stop = range_of(text, place.span, unit=unit)
        return _range(*start, *stop)

    return [_diagnostic(one, uri, range_of_place, tell) for one in found]


def _range(line: int, column: int, last: int, end: int) -> Wire:
    return {"start": {"line": line, "character": column}, "end": {"line": last, "character": end}}


def _diagnostic(one: Diagnostic, uri: str, range_of_place: Callable[[Place], Wire], tell: Tell) -> Wire:
    parts = (one.message, one.reason, one.help)
    wire: Wire = {
        "range": range_of_place(one.place),
        "severity": _SEVERITIES[one.severity],
        "code": one.code,
        "source": "dsec",
        "message": "\n".join(filter(None, parts)),
        "data": {"name": one.name, "path": one.path},
    }
    related = [
        {
            "location": {"uri": uri, "range": range_of_place(place)},
            "message": label or tell(say("see also")),
        }
        for place, label in one.related
        if place.file == one.place.file
    ]
    if related:
        wire["relatedInformation"] = related
    return wire


def hover(found: Hover, text: SourceText, *, unit: str) -> types.Hover:
    """A page shown at the cursor."""
    content = types.MarkupContent(types.MarkupKind.Markdown, found.markdown)
    return types.Hover(content, range_(text, found.span, unit=unit))


def completions(offer: Offer, text: SourceText, at: int, *, unit: str) -> types.CompletionList:
    """What may be written, each replacing the word that was begun."""
    from dsec_cli.source.text import Span

    place = range_(text, Span(at - offer.back, at), unit=unit)
    items = [
        types.CompletionItem(
            label=item.label,
            kind=_KINDS[item.kind],
            detail=item.detail or None,
            documentation=types.MarkupContent(types.MarkupKind.Markdown, item.about) if item.about else None,
            sort_text=f"{index:04d}",
            filter_text=item.label,
            text_edit=types.TextEdit(place, item.text),
        )
        for index, item in enumerate(offer.items)
    ]
    return types.CompletionList(is_incomplete=False, items=items)


def symbol(one: Heading, text: SourceText, *, unit: str) -> types.DocumentSymbol:
    """A line of the outline, with what lies below it."""
    return types.DocumentSymbol(
        name=one.name or "(unnamed)",
        kind=types.SymbolKind.Function if one.step else types.SymbolKind.Module,
        range=range_(text, one.whole, unit=unit),
        selection_range=range_(text, one.head, unit=unit),
        children=[symbol(inner, text, unit=unit) for inner in one.below],
    )


def action(
    offer: Offered, sent: types.Diagnostic, text: SourceText, uri: str, *, unit: str, tell: Tell = as_it_is
) -> types.CodeAction:
    """A change that the reader may choose for a finding that was sent."""
    edits = [types.TextEdit(range_(text, edit.span, unit=unit), edit.text) for edit in offer.edits]
    return types.CodeAction(
        title=f"{sent.code}: {tell(offer.title)}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[sent],
        is_preferred=offer.preferred or None,
        edit=types.WorkspaceEdit(changes={uri: edits}),
    )
