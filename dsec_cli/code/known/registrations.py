"""How frameworks are told that a function is a tool: decorators, constructors, base classes."""

from __future__ import annotations

from dsec.record import Record

LANGCHAIN, LLAMAINDEX, AUTOGEN, CREWAI, MCP = "langchain", "llamaindex", "autogen", "crewai", "mcp"
PLAIN = "plain"

DECORATORS: dict[str, str] = {
    "langchain.tools.tool": LANGCHAIN, "langchain_core.tools.tool": LANGCHAIN,
    "langchain.agents.tool": LANGCHAIN, "langchain.tools.base.tool": LANGCHAIN,
    "langchain_core.tools.convert.tool": LANGCHAIN, "crewai.tools.tool": CREWAI,
    "crewai_tools.tool": CREWAI, "crewai.tools.base_tool.tool": CREWAI, "smolagents.tool": "smolagents",
    "agents.function_tool": "openai-agents", "mcp.server.fastmcp.FastMCP().tool": MCP,
    "fastmcp.FastMCP().tool": MCP, "mcp.server.FastMCP().tool": MCP, "mcp.server.Server().call_tool": MCP,
    "mcp.server.lowlevel.Server().call_tool": MCP, "pydantic_ai.Agent().tool": "pydantic-ai",
    "pydantic_ai.Agent().tool_plain": "pydantic-ai", "haystack.tools.tool": "haystack",
    "semantic_kernel.functions.kernel_function": "semantic-kernel", "agno.tools.tool": "agno",
    "strands.tool": "strands",
}  # fmt: skip
METHODS = {
    "register_for_llm": AUTOGEN,
    "register_for_execution": AUTOGEN,
    "function_tool": PLAIN,
    "tool": PLAIN,
}
"""Decorators by their last name, where it is not known whose they are."""


class Form(Record):
    """Where a constructor takes what the tool is made of."""

    framework: str
    function_at: int | None
    function: tuple[str, ...]
    name_at: int | None
    summary_at: int | None


_FUNCTION = ("func", "coroutine", "fn", "async_fn", "f", "callback")
CONSTRUCTORS: dict[str, Form] = {
    **{
        f"{package}.Tool": Form(LANGCHAIN, 1, _FUNCTION, 0, 2)
        for package in ("langchain.tools", "langchain.agents", "langchain_core.tools", "langchain.tools.base",
                        "langchain_core.tools.simple")
    },
    **{
        f"{package}.{name}.from_function": Form(LANGCHAIN, 0, _FUNCTION, 2 if name[0] == "S" else 1, None)
        for package in ("langchain.tools", "langchain.agents", "langchain_core.tools", "langchain.tools.base")
        for name in ("Tool", "StructuredTool")
    },
    **{
        f"{package}.FunctionTool.from_defaults": Form(LLAMAINDEX, 0, _FUNCTION, 1, 2)
        for package in ("llama_index.core.tools", "llama_index.tools", "llama_index.core.tools.function_tool")
    },
    **{
        f"{package}.QueryEngineTool{way}": Form(LLAMAINDEX, None, (), None, None)
        for package in ("llama_index.core.tools", "llama_index.tools")
        for way in ("", ".from_defaults")
    },
    "autogen.register_function": Form(AUTOGEN, 0, _FUNCTION, None, None),
    "autogen_core.tools.FunctionTool": Form(AUTOGEN, 0, _FUNCTION, None, 1),
    "google.adk.tools.FunctionTool": Form("google-adk", 0, _FUNCTION, None, None),
    "mcp.types.Tool": Form(MCP, None, (), 0, None),
    "mcp.Tool": Form(MCP, None, (), 0, None),
    "mcp.server.fastmcp.FastMCP().add_tool": Form(MCP, 0, _FUNCTION, 1, None),
    "fastmcp.FastMCP().add_tool": Form(MCP, 0, _FUNCTION, None, None),
}  # fmt: skip

BASES: dict[str, str] = {
    "langchain": LANGCHAIN, "langchain_core": LANGCHAIN, "langchain_community": LANGCHAIN,
    "crewai": CREWAI, "crewai_tools": CREWAI, "smolagents": "smolagents", "transformers": "smolagents",
    "llama_index": LLAMAINDEX, "autogen_core": AUTOGEN,
}  # fmt: skip
"""Packages whose `BaseTool` (or `Tool`) a project's class may extend."""
BASE_NAMES = ("BaseTool", "Tool", "StructuredTool")
RUNS = ("_run", "_arun", "forward", "run", "call", "__call__")
"""Methods by which such a class is run."""

FRAMEWORKS: dict[str, str] = {
    "langchain": LANGCHAIN, "langgraph": LANGCHAIN, "langchain_openai": LANGCHAIN, "llama_index": LLAMAINDEX,
    "autogen": AUTOGEN, "autogen_agentchat": AUTOGEN, "crewai": CREWAI, "openai": "openai",
    "smolagents": "smolagents", "agents": "openai-agents",
    "pydantic_ai": "pydantic-ai", "google": "google-adk", "ollama": "ollama", "litellm": "litellm",
}  # fmt: skip
"""Frameworks by the package of the call that is given `tools=[...]`."""
TAKING = ("bind_tools", "ToolNode", "create_react_agent", "initialize_agent", "create_tool_calling_agent")
"""Calls that take tools by place: the first that is a list of them."""

SERVERS: tuple[str, ...] = (
    "langchain_mcp_adapters.client.MultiServerMCPClient", "agents.mcp.MCPServerStdio",
    "agents.mcp.MCPServerSse", "agents.mcp.MCPServerStreamableHttp", "pydantic_ai.mcp.MCPServerStdio",
    "pydantic_ai.mcp.MCPServerSSE", "pydantic_ai.mcp.MCPServerStreamableHTTP", "fastmcp.Client",
    "crewai_tools.MCPServerAdapter", "smolagents.ToolCollection.from_mcp", "smolagents.MCPClient",
    "autogen_ext.tools.mcp.StdioServerParams", "autogen_ext.tools.mcp.SseServerParams",
    "autogen_ext.tools.mcp.StreamableHttpServerParams", "llama_index.tools.mcp.BasicMCPClient",
)  # fmt: skip
"""Clients of MCP servers: they start a program or call an address."""
