"""The language server: answers of `dsec_cli.editor` and the linter in the protocol's words (the pygls door).

Editors send whole texts (no increments): the library counts U+2028 as a line end and editors do
not, so increments could land in the wrong line. A contract is small, and nothing is ever misplaced.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from dsec import __version__
from dsec.errors import DSecError
from dsec_cli.commands import lspwords as words
from dsec_cli.commands.checking import Checker
from dsec_cli.commands.configuring import Configuration
from dsec_cli.commands.language import speech
from dsec_cli.commands.lsppipe import talk
from dsec_cli.commands.speaking import teller, told
from dsec_cli.contract.memory import Memory
from dsec_cli.editor import complete, hover, mend, outline, page
from dsec_cli.editor.positions import UTF8, UTF16, UTF32, offset_of
from dsec_cli.languages import ENGLISH, of_locale
from dsec_cli.options import Args, command, defaults
from dsec_cli.report.format import as_it_is
from dsec_cli.source.text import SourceText

if TYPE_CHECKING:
    from dsec_cli.diagnostics import Diagnostic
    from dsec_cli.editor.page import Page
    from dsec_cli.report.format import Tell

QUICK_S, LONGEST_PAUSE_S = 0.1, 0.3
"""Most that is waited for the next key; less where the last lint was quick, so that long files lag little."""
REST_S = 2.0
"""How long nobody types before there is time to look for garbage."""
_UNITS = {
    types.PositionEncodingKind.Utf8: UTF8,
    types.PositionEncodingKind.Utf16: UTF16,
    types.PositionEncodingKind.Utf32: UTF32,
}


def serve() -> None:
    """Answer until the editor leaves."""
    server = Server()
    _begin(server)
    _follow(server)
    _answer(server)
    _offer(server)
    talk(server)


class Server(LanguageServer):
    """Open files, their pages and their findings."""

    def __init__(self) -> None:
        full = types.TextDocumentSyncKind.Full
        self.converter = words.converter()
        super().__init__(
            "dsec", __version__, text_document_sync_kind=full, converter_factory=lambda: self.converter
        )
        self.texts: dict[str, SourceText] = {}
        self.pages: dict[str, Page] = {}
        self.found: dict[str, tuple[SourceText, tuple[Diagnostic, ...]]] = {}
        self.memories: dict[str, Memory] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.told = ""
        self.tell: Tell = as_it_is
        self.took_s = 0.0
        self.rest: asyncio.TimerHandle | None = None
        # Looking for garbage among all there is takes longer than a lint, and a lint leaves none.
        gc.disable()

    @property
    def unit(self) -> str:
        """The unit in which this editor counts columns."""
        encoding = self.server_capabilities.position_encoding
        return _UNITS.get(types.PositionEncodingKind(encoding), UTF16) if encoding else UTF16

    def text_of(self, uri: str) -> SourceText:
        """An open file as it is now."""
        data = self.workspace.get_text_document(uri).source.encode("utf-8", "surrogatepass")
        known = self.texts.get(uri)
        if known is None or known.data != data:
            known = self.texts[uri] = SourceText.from_bytes(_name(uri), data)
        return known

    def page_of(self, uri: str) -> Page:
        """The page of an open file as it is now; read only when something is asked about a place."""
        text, known = self.text_of(uri), self.pages.get(uri)
        if known is None or known.text is not text:
            known = self.pages[uri] = page.read(text)
        return known

    def offset(self, here: Page, at: types.Position) -> int:
        """A position of the editor in code points."""
        return offset_of(here.text, at.line, at.character, unit=self.unit)

    def lint_soon(self, uri: str) -> None:
        """Lint when the typing pauses."""
        earlier = self.waiting.pop(uri, None)
        if earlier is not None:
            earlier.cancel()
        self.waiting[uri] = asyncio.get_running_loop().create_task(self._lint_later(uri))

    async def _lint_later(self, uri: str) -> None:
        await asyncio.sleep(min(max(self.took_s - QUICK_S, 0), LONGEST_PAUSE_S))
        self.waiting.pop(uri, None)
        self.lint(uri)

    def lint(self, uri: str) -> None:
        """Publish what the linter finds in the open text."""
        text = self.text_of(uri)
        self._rest_soon()
        found = words.diagnostics(self.checked(uri), text, uri, unit=self.unit, tell=self.tell)
        self._publish(uri, found, version=self.workspace.get_text_document(uri).version)

    def _rest_soon(self) -> None:
        """Look for garbage once nobody types."""
        if self.rest is not None:
            self.rest.cancel()
        self.rest = asyncio.get_running_loop().call_later(REST_S, _rest)

    def _publish(self, uri: str, found: list[words.Wire], *, version: int | None) -> None:
        told = {"uri": uri, "version": version, "diagnostics": found}
        self.protocol.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, told)

    def checked(self, uri: str) -> tuple[Diagnostic, ...]:
        """The findings of an open file as it is now, counted ones only."""
        text = self.text_of(uri)
        known = self.found.get(uri)
        if known is not None and known[0] is text:
            return known[1]
        begun = time.thread_time()  # on a busy machine, waiting more would only add to the waiting
        memory = self.memories.setdefault(uri, Memory())
        try:
            found = _lint(text, memory, isolated=False)
        except DSecError as problem:
            self._tell(str(problem))
            found = _lint(text, memory, isolated=True)
        counted = tuple(one for one in found if one.silenced is None)
        if self.tell is not as_it_is:
            counted = tuple(told(one, self.tell) for one in counted)
        self.found[uri] = (text, counted)
        self.took_s = time.thread_time() - begun
        return counted

    def sent(self, one: Diagnostic, uri: str) -> types.Diagnostic:
        """A finding as the editor was told it."""
        [wire] = words.diagnostics((one,), self.text_of(uri), uri, unit=self.unit, tell=self.tell)
        return self.converter.structure(wire, types.Diagnostic)

    def _tell(self, message: str) -> None:
        """Show a message once, not at every key."""
        if message != self.told:
            self.told = message
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    def forget(self, uri: str) -> None:
        """A file was closed: its findings go."""
        self.texts.pop(uri, None)
        self.pages.pop(uri, None)
        self.found.pop(uri, None)
        self.memories.pop(uri, None)
        waiting = self.waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._publish(uri, [], version=None)


def _rest() -> None:
    gc.collect()
    gc.freeze()  # what is still alive then mostly stays so: the rules, the library


def _lint(text: SourceText, memory: Memory, *, isolated: bool) -> tuple[Diagnostic, ...]:
    row = command("lint")
    assert row is not None, "lint is a command"
    checker = Checker(Args(defaults(row)), Configuration(isolated=isolated), memory=memory)
    return checker.check([text]).diagnostics


def _name(uri: str) -> str:
    """The name under which a file is linted: its path, relative where it lies below this folder."""
    path = to_fs_path(uri)
    if not path:
        return uri.rpartition("/")[2] or "untitled.yaml"
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


def _begin(server: Server) -> None:
    """What is learnt of the editor."""

    @server.feature(types.INITIALIZE)
    def begun(params: types.InitializeParams) -> None:
        configured = None
        with suppress(DSecError):  # the first lint tells what is wrong there
            configured = Configuration(isolated=False).here().text("lang")
        try:
            wanted = speech(None, configured)
        except DSecError as problem:
            server._tell(str(problem))
            return
        # The editor shows its menus in its own language, so that goes before the locale.
        language = wanted.asked or (of_locale(params.locale) if params.locale else wanted.local)
        server.tell = as_it_is if language == ENGLISH else teller(language, of_pages=True)


def _follow(server: Server) -> None:
    """What happens to files."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.lint(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.lint_soon(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.found.pop(params.text_document.uri, None)  # the configuration may have changed
        server.lint(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)


def _answer(server: Server) -> None:
    """What is asked about a place."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        here = server.page_of(params.text_document.uri)
        found = hover.hover(here, server.offset(here, params.position), tell=server.tell)
        return None if found is None else words.hover(found, here.text, unit=server.unit)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def defined(params: types.DefinitionParams) -> types.Location | None:
        uri = params.text_document.uri
        here = server.page_of(uri)
        spot = page.spot_at(here, server.offset(here, params.position))
        span = None if spot is None else page.defined_at(here, spot)
        return None if span is None else types.Location(uri, words.range_(here.text, span, unit=server.unit))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def referred(params: types.ReferenceParams) -> list[types.Location]:
        uri = params.text_document.uri
        here = server.page_of(uri)
        spans = page.references(here, server.offset(here, params.position))
        return [types.Location(uri, words.range_(here.text, span, unit=server.unit)) for span in spans]

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outlined(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        here = server.page_of(params.text_document.uri)
        return [words.symbol(one, here.text, unit=server.unit) for one in outline.outline(here)]


def _offer(server: Server) -> None:
    """What may be written."""

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=[" ", ":", "-", "[", "{", ","]),
    )
    def completed(params: types.CompletionParams) -> types.CompletionList:
        here = server.page_of(params.text_document.uri)
        at = server.offset(here, params.position)
        return words.completions(
            complete.complete(here, at, tell=server.tell), here.text, at, unit=server.unit
        )

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def offered(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        here = server.page_of(uri)
        found = server.checked(uri)
        # Some editors name the findings of the whole line, wherever on it the cursor is.
        meant = [(known.code, known.range) for known in params.context.diagnostics]
        start, end = server.offset(here, params.range.start), server.offset(here, params.range.end)
        return [
            words.action(offer, server.sent(one, uri), here.text, uri, unit=server.unit, tell=server.tell)
            for one in found
            if (one.place.span.start <= end and start <= one.place.span.end)
            or (one.code, words.range_(here.text, one.place.span, unit=server.unit)) in meant
            for offer in mend.offers(one, here.text)
        ]
