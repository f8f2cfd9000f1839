import mcp.types as types
from mcp.server import Server

server = Server("low")


@server.list_tools()
async def tools() -> list:
    return [types.Tool(name="echo", description="Say it again.", inputSchema={"type": "object"})]


@server.call_tool()
async def call(name: str, arguments: dict) -> list:
    return [types.TextContent(type="text", text=arguments["text"])]
