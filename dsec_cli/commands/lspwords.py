"""Findings and answers as the language server protocol writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from dsec_cli.diagnostics import Severity
from dsec_cli.editor.positions import range_of
from dsec_cli.report.format import as_it_is
from dsec_cli.words import say

if TYPE_CHECKING:
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.editor.complete import Offer
    from dsec_cli.editor.hover import Hover
    from dsec_cli.editor.mend import Offered
    from dsec_cli.editor.outline import Heading
    from dsec_cli.report.format import Tell
    from dsec_cli.source.text import SourceText, Span

_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
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


def diagnostic(
    one: Diagnostic, text: SourceText, uri: str, *, unit: str, tell: Tell = as_it_is
) -> types.Diagnostic:
    """A finding: message, reason and advice in one text, related places beside it."""
    parts = [one.message, one.reason, one.help]
    related = [
        types.DiagnosticRelatedInformation(
            types.Location(uri, range_(text, place.span, unit=unit)), label or tell(say("see also"))
        )
        for place, label in one.related
        if place.file == one.place.file
    ]
    return types.Diagnostic(
        range=range_(text, one.place.span, unit=unit),
        message="\n".join(part for part in parts if part),
        severity=_SEVERITIES[one.severity],
        code=one.code,
        source="dsec",
        related_information=related or None,
        data={"name": one.name, "path": one.path},
    )


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
    offer: Offered, one: Diagnostic, text: SourceText, uri: str, *, unit: str, tell: Tell = as_it_is
) -> types.CodeAction:
    """A change that the reader may choose."""
    edits = [types.TextEdit(range_(text, edit.span, unit=unit), edit.text) for edit in offer.edits]
    return types.CodeAction(
        title=f"{one.code}: {tell(offer.title)}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[diagnostic(one, text, uri, unit=unit, tell=tell)],
        is_preferred=offer.preferred or None,
        edit=types.WorkspaceEdit(changes={uri: edits}),
    )
