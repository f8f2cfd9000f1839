import httpx
from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.tools import FunctionTool, QueryEngineTool, ToolMetadata

client = httpx.AsyncClient(base_url="https://notes.example.com/api", timeout=10)


async def add_note(text: str) -> str:
    """Add a note."""
    answer = await client.post("/notes", json={"text": text})
    return answer.text


def multiply(a: float, b: float) -> float:
    """Multiply two numbers."""
    return a * b


index = VectorStoreIndex.from_documents(SimpleDirectoryReader("notes").load_data())
tools = [
    FunctionTool.from_defaults(fn=multiply),
    FunctionTool.from_defaults(async_fn=add_note, name="note", description="Write a note down."),
    QueryEngineTool(
        query_engine=index.as_query_engine(),
        metadata=ToolMetadata(name="notes", description="Answers from the notes."),
    ),
]


def divide(a: float, b: float) -> float:
    """Divide."""
    return a / b


agent = FunctionAgent(tools=[*tools, divide], system_prompt="Be short.")
