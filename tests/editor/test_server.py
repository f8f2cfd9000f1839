"""`dsec lsp` driven by a real client over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

WRONG = """\
# 数据 🚀
baseline:
  gpu: {count: 2, memory: 24G, type: a100-pcie-40gb}
elasticity:
  gpu: {min_count: 2, max_count: 4}
fault_tolerance: {level: critical, checkpoint_grace_period: 30s}
dependencies: []
steps:
  - id: S1
    run: python load.py
    timeout: 60s
    resources: {gpu: {count: 2}}
  - {id: S2, run: "python 训练🚀.py", timeout: 60s, needs: [S1, S9]}
"""


class Editor(LanguageClient):
    """An editor that keeps what the server publishes."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.published: dict[str, list[types.Diagnostic]] = {}
        self.news = asyncio.Event()

    async def findings(self, uri: str) -> list[types.Diagnostic]:
        """The next publication for a file."""
        while uri not in self.published:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 20)
        return self.published.pop(uri)


def session(folder: Path, talk, *, encodings=None, locale=None) -> None:
    """Start the server in `folder`, let `talk(editor)` speak with it, and see it leave."""

    async def whole() -> None:
        editor = Editor()

        @editor.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            editor.published[params.uri] = list(params.diagnostics)
            editor.news.set()

        await editor.start_io(
            str(Path(sys.executable).with_name("dsec")), "lsp", cwd=folder, env=dict(os.environ)
        )
        try:
            general = types.GeneralClientCapabilities(position_encodings=encodings) if encodings else None
            await editor.initialize_async(
                types.InitializeParams(
                    capabilities=types.ClientCapabilities(general=general),
                    root_uri=folder.as_uri(),
                    locale=locale,
                )
            )
            editor.initialized(types.InitializedParams())
            await talk(editor)
            await editor.shutdown_async(None)
            editor.exit(None)
            code = await asyncio.wait_for(editor._server.wait(), 20)
            assert code == 0
        finally:
            if editor._server is not None and editor._server.returncode is None:
                editor._server.kill()
            await editor.stop()

    asyncio.run(whole())


def opened(folder: Path, text: str, name: str = "dsandbox.yaml") -> types.DidOpenTextDocumentParams:
    uri = (folder / name).as_uri()
    return types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "yaml", 1, text))


def at(text: str, mark: str, *, into: int = 0) -> types.Position:
    """Where `mark` stands, in UTF-16 units, `into` code points behind its start."""
    offset = text.index(mark) + into
    line = text.count("\n", 0, offset)
    before = text[text.rfind("\n", 0, offset) + 1 : offset]
    return types.Position(line, len(before.encode("utf-16-le")) // 2)


def test_findings_are_published_where_they_stand(tmp_path: Path) -> None:
    async def talk(editor: Editor) -> None:
        document = opened(tmp_path, WRONG)
        editor.text_document_did_open(document)
        found = await editor.findings(document.text_document.uri)
        assert [one.code for one in found] == ["DS106", "DS501"]
        step = found[1]
        assert step.range == types.Range(at(WRONG, "S9"), at(WRONG, "S9", into=2))
        assert step.severity is types.DiagnosticSeverity.Error
        assert "no Step has this id" in step.message

    session(tmp_path, talk)


@pytest.mark.battery
@pytest.mark.parametrize(
    ("locale", "asked", "said"),
    [
        ("zh-cn", None, "没有 Step 用这个 ID"),
        ("en-us", None, "no Step has this id"),
        ("zh-cn", "en", "no Step has this id"),
        (None, "zh", "没有 Step 用这个 ID"),
    ],
)
def test_findings_are_told_in_the_editors_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locale: str | None, asked: str | None, said: str
) -> None:
    if asked is not None:
        monkeypatch.setenv("DSEC_LANG", asked)

    async def talk(editor: Editor) -> None:
        document = opened(tmp_path, WRONG)
        editor.text_document_did_open(document)
        found = await editor.findings(document.text_document.uri)
        assert said in found[1].message
        actions = await editor.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(document.text_document.uri),
                found[1].range,
                types.CodeActionContext([found[1]]),
            )
        )
        excuse = actions[-1].title
        assert ("豁免" in excuse) == ("没有" in said)
        assert excuse.count("DS") == 1, excuse
        there = types.TextDocumentIdentifier(document.text_document.uri)
        hover = await editor.text_document_hover_async(types.HoverParams(there, at(WRONG, "timeout", into=2)))
        assert ("取值：时长，例如 `30s`。" in hover.contents.value) == ("没有" in said)
        assert ("一次尝试的最长运行时间" in hover.contents.value) == ("没有" in said)

    session(tmp_path, talk, locale=locale)


@pytest.mark.battery
def test_findings_follow_a_change_and_go_with_the_file(tmp_path: Path) -> None:
    async def talk(editor: Editor) -> None:
        document = opened(tmp_path, WRONG)
        uri = document.text_document.uri
        editor.text_document_did_open(document)
        assert await editor.findings(uri)
        mended = WRONG.replace("24G,", "24Gi,").replace(", S9", "")
        for version, text in enumerate([WRONG + "#", mended], 2):
            editor.text_document_did_change(
                types.DidChangeTextDocumentParams(
                    types.VersionedTextDocumentIdentifier(version, uri),
                    [types.TextDocumentContentChangeWholeDocument(text)],
                )
            )
        while await editor.findings(uri):
            pass  # the first change may have been linted by itself
        editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert await editor.findings(uri) == []

    session(tmp_path, talk)


def test_hover_completion_and_the_way_to_a_step(tmp_path: Path) -> None:
    async def talk(editor: Editor) -> None:
        document = opened(tmp_path, WRONG)
        there = types.TextDocumentIdentifier(document.text_document.uri)
        editor.text_document_did_open(document)
        hover = await editor.text_document_hover_async(types.HoverParams(there, at(WRONG, "timeout", into=2)))
        assert "**timeout**" in hover.contents.value
        offer = await editor.text_document_completion_async(
            types.CompletionParams(there, at(WRONG, "level: ", into=7))
        )
        assert [item.label for item in offer.items] == ["critical", "pauseable", "elastic", "discardable"]
        position = at(WRONG, "S1, S9", into=1)
        home = await editor.text_document_definition_async(types.DefinitionParams(there, position))
        assert home.range.start == at(WRONG, "S1")
        uses = await editor.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(True), there, position)
        )
        assert len(uses) == 2
        outline = await editor.text_document_document_symbol_async(types.DocumentSymbolParams(there))
        assert [one.name for one in outline[-1].children] == ["S1", "S2"]

    session(tmp_path, talk)


@pytest.mark.battery
def test_a_fix_is_offered_and_mends(tmp_path: Path) -> None:
    text = WRONG.replace("24G,", "24Gi,").replace(", S9", "").replace("level: critical", "levle: critical")

    async def talk(editor: Editor) -> None:
        document = opened(tmp_path, text)
        uri = document.text_document.uri
        editor.text_document_did_open(document)
        wrong = next(one for one in await editor.findings(uri) if one.code == "DS101")
        actions = await editor.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri), wrong.range, types.CodeActionContext([wrong])
            )
        )
        [edit] = actions[0].edit.changes[uri]
        assert (edit.range, edit.new_text) == (wrong.range, "level")
        assert actions[0].is_preferred

    session(tmp_path, talk)


@pytest.mark.battery
@pytest.mark.parametrize("encoding", ["utf-8", "utf-32"])
def test_columns_count_as_the_editor_asks(tmp_path: Path, encoding: str) -> None:
    async def talk(editor: Editor) -> None:
        document = opened(tmp_path, WRONG)
        editor.text_document_did_open(document)
        step = (await editor.findings(document.text_document.uri))[1]
        line = WRONG.splitlines()[step.range.start.line]
        before = line[: line.index("S9")]
        want = len(before.encode()) if encoding == "utf-8" else len(before)
        assert step.range.start.character == want

    session(tmp_path, talk, encodings=[types.PositionEncodingKind(encoding)])


@pytest.mark.battery
def test_a_wrong_configuration_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    (tmp_path / ".dsec.toml").write_text("[lint]\nselct = ['DS1']\n")

    async def talk(editor: Editor) -> None:
        messages: list[str] = []

        @editor.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            messages.append(params.message)

        document = opened(tmp_path, WRONG)
        editor.text_document_did_open(document)
        assert await editor.findings(document.text_document.uri)
        assert "selct" in messages[0]

    session(tmp_path, talk)


@pytest.mark.battery
def test_any_text_is_answered(tmp_path: Path) -> None:
    texts = ["", "\0", "a: [", "﻿a: b\r\n", "- " * 300, "{" * 400, "x: &a [*a]\n", "a: b\u2028c: d\n\ud83d"]

    async def talk(editor: Editor) -> None:
        for number, text in enumerate(texts):
            document = opened(tmp_path, text.encode("utf-16", "ignore").decode("utf-16"), f"{number}.yaml")
            there = types.TextDocumentIdentifier(document.text_document.uri)
            editor.text_document_did_open(document)
            await editor.findings(document.text_document.uri)
            for column in (0, 1, 5, 10_000):
                await editor.text_document_hover_async(types.HoverParams(there, types.Position(0, column)))
                await editor.text_document_completion_async(
                    types.CompletionParams(there, types.Position(0, column))
                )

    session(tmp_path, talk)
