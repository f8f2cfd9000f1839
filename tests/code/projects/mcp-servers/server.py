import sqlite3

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("files", port=8931)
DB = "data/notes.db"


@mcp.tool()
def notes(limit: int = 10) -> list:
    """List notes."""
    with sqlite3.connect(DB) as db:
        return db.execute("select * from notes limit ?", (limit,)).fetchall()


@mcp.tool(name="forget", description="Forget a note.")
def forget_note(number: int) -> None:
    sqlite3.connect(DB).execute("delete from notes where id = ?", (number,))


if __name__ == "__main__":
    mcp.run(transport="streamable-http")
