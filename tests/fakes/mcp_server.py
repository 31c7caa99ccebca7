"""A real MCP server, written with the official library, for a process of its own.

python -m tests.fakes.mcp_server            over standard streams
python -m tests.fakes.mcp_server --http     over HTTP on a free loopback port, which is the first line it prints
"""

import base64
import os
import socket
import sys

from mcp.server.mcpserver import Context, Image, MCPServer

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
server = MCPServer("calculator")


@server.tool(description=os.environ.get("ADD_DESCRIPTION", "Add two numbers."))
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
def fail(reason: str) -> str:
    """Fail with a reason."""
    raise ValueError(reason)


@server.tool()
def environment(name: str) -> str:
    """What the server sees of its environment."""
    return os.environ.get(name, "")


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=PICTURE, format="png")


@server.tool()
def much(letters: int) -> str:
    """A long text."""
    return "x" * letters


@server.tool()
async def steps(context: Context) -> str:
    """Report progress."""
    await context.report_progress(1, 2, "half")
    return "done"


@server.tool()
def end() -> str:
    """End without an answer."""
    print("the ground gave way", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
async def wait() -> str:
    """Answer never."""
    import anyio

    await anyio.sleep_forever()
    return ""


@server.tool()
async def grow(context: Context) -> str:
    """Offer one more tool."""
    server.add_tool(lambda: "grown", name="grown", description="It was not there before.")
    await context.session.send_tool_list_changed()
    return "grown"


def main() -> None:
    if "--http" not in sys.argv:
        server.run("stdio")
        return
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run([listener])


if __name__ == "__main__":
    main()
