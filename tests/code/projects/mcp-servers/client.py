import os

from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

parameters = StdioServerParameters(
    command="npx",
    args=["-y", "@modelcontextprotocol/server-brave-search"],
    env={"BRAVE_API_KEY": os.environ["BRAVE_API_KEY"]},
)
fleet = MultiServerMCPClient(
    {
        "math": {"command": "python", "args": ["server.py"], "transport": "stdio"},
        "weather": {"url": "http://weather.internal:8000/sse", "transport": "sse"},
    }
)


async def main() -> None:
    async with stdio_client(parameters) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()
    async with sse_client("https://mcp.example.com/sse") as streams:
        pass
