"""Files of tools whose caller chooses them: from the arguments, or told as the model's choice."""

from __future__ import annotations

import pytest

from dsec_cli.code.analyse import analyse
from dsec_cli.code.knowledge import lookup
from dsec_cli.commands.knowing import shipped

GIVEN = {
    "reader": (
        "from llama_index.core import SimpleDirectoryReader; SimpleDirectoryReader('docs').load_data()",
        {("docs", "read")},
    ),
    "reader-files": (
        "from llama_index.core import SimpleDirectoryReader as R; R(input_files=['/d/a.md', '/d/b.md'])",
        {("/d/a.md", "read"), ("/d/b.md", "read")},
    ),
    "toolkit": (
        "from langchain_community.agent_toolkits import FileManagementToolkit as T; T(root_dir='/work/out')",
        {("/work/out", "read"), ("/work/out", "write")},
    ),
    "crew-reader": (
        "from crewai_tools import FileReadTool; FileReadTool(file_path='/d/in.txt')",
        {("/d/in.txt", "read")},
    ),
    "crew-task": (
        "from crewai import Task; Task(description='d', output_file='/o/report.md')",
        {("/o/report.md", "write")},
    ),
    "executor": (
        "from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor as E; E(work_dir='/w')",
        {("/w", "read"), ("/w", "write")},
    ),
    "loaders": (
        "from langchain_community.document_loaders import DirectoryLoader, PyPDFLoader\n"
        "PyPDFLoader('/d/a.pdf').load(), DirectoryLoader(path='/d/md', glob='*.md').load()",
        {("/d/a.pdf", "read"), ("/d/md", "read")},
    ),
    "vectors": (
        "from langchain_chroma import Chroma; Chroma.from_documents([], persist_directory='/o/c')",
        {("/o/c", "read"), ("/o/c", "write")},
    ),
    "index": (
        "from llama_index.core import StorageContext; StorageContext.from_defaults(persist_dir='/o/i')",
        {("/o/i", "read")},
    ),
    "executor-default": (
        "from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor as E; E()",
        set(),
    ),
    "data-set": ("import datasets; datasets.load_dataset('openai/gsm8k')", set()),
}


def _needs(reading, text: str):
    known = shipped()
    return analyse(reading.project(a=text), lookup=lambda name: lookup(known, name))


@pytest.mark.parametrize("name", GIVEN)
def test_files_that_arguments_name(name: str, reading) -> None:
    text, files = GIVEN[name]
    needs = _needs(reading, text)
    assert {(one.path, one.mode) for one in needs.files if not one.path.startswith("~")} == files
    assert not [one for one in needs.unknowns if one.kind == "file"]


def test_files_that_the_model_chooses_are_said(reading) -> None:
    needs = _needs(reading, "from crewai_tools import FileWriterTool; FileWriterTool()")
    (one,) = (one for one in needs.unknowns if one.kind == "file")
    assert one.reason == "the path to write is not known: the model chooses it"
    assert not needs.files


def test_a_path_that_is_computed_is_said(reading) -> None:
    needs = _needs(reading, "import os\nfrom crewai_tools import FileReadTool; FileReadTool(os.environ['P'])")
    (one,) = (one for one in needs.unknowns if one.kind == "file")
    assert one.variable == "P"


def test_the_parameters_of_a_server_are_told_where_they_are_made(reading) -> None:
    made = (
        "from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams\n"
        "McpWorkbench(StdioServerParams(command='uvx', args=['mcp-server-fetch']))"
    )
    needs = _needs(reading, made)
    assert [(one.program, one.fixed) for one in needs.subprocesses] == [("uvx", True)]
    assert not needs.unknowns
    other = _needs(reading, "from autogen_ext.tools.mcp import McpWorkbench\nMcpWorkbench(given())")
    assert [one.kind for one in other.unknowns] == ["egress"]


@pytest.mark.parametrize(
    ("more", "runs"), [("", 1), (", executor_type='local'", 1), (", executor_type='e2b'", 0)]
)
def test_an_agent_that_writes_code_runs_it(more: str, runs: int, reading) -> None:
    needs = _needs(reading, f"from smolagents import CodeAgent; CodeAgent(tools=[], model=m{more})")
    assert [one.what for one in needs.execution] == ["code"] * runs
