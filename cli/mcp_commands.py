"""`tasuki mcp`: the hub's MCP tools over stdin and stdout, for agents that start a program rather than call an address.

It speaks REST to the hub, keeps nothing, and stays up while the hub is away: each call then says what to do.
"""

import argparse
import signal
import sys
from typing import Any

from cli.address import Address, find_address

_MORE = (
    "Serve the hub's MCP tools on stdin and stdout. An agent starts this; there is nothing to type. It speaks to the hub of"
    " TASUKI_URL with TASUKI_TOKEN; on the hub's own host both are found by themselves. Agents that can call an address need no"
    " program between: let them call <hub>/mcp with the header `Authorization: Bearer <token>`."
)
_EXAMPLES = """examples:
  claude mcp add tasuki -e TASUKI_URL=https://hub.example -e TASUKI_TOKEN=tsk_… -- tasuki mcp
  claude mcp add --transport http tasuki https://hub.example/mcp --header "Authorization: Bearer tsk_…"

in a file like Claude Code's .mcp.json, Cursor's mcp.json or Gemini's settings.json:
  {"mcpServers": {"tasuki": {"command": "tasuki", "args": ["mcp"],
    "env": {"TASUKI_URL": "https://hub.example", "TASUKI_TOKEN": "tsk_…"}}}}

in OpenCode's opencode.json:
  {"mcp": {"tasuki": {"type": "local", "command": ["tasuki", "mcp"],
    "environment": {"TASUKI_URL": "https://hub.example", "TASUKI_TOKEN": "tsk_…"}}}}

in Codex' config.toml:
  [mcp_servers.tasuki]
  command = "tasuki"
  args = ["mcp"]
  env = { TASUKI_URL = "https://hub.example", TASUKI_TOKEN = "tsk_…" }"""


def register(verbs: Any) -> None:
    """Add the verb."""
    verb = verbs.add_parser(
        "mcp",
        help="the hub's MCP tools over stdin and stdout, for an agent to start",
        description=_MORE,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.add_argument("--url", default="", help="address of the hub (default TASUKI_URL, else http://127.0.0.1:8808)")
    verb.set_defaults(run=run_mcp)


def run_mcp(options: argparse.Namespace) -> int:
    import anyio

    address = find_address(options.url)
    if sys.stdin.isatty():
        print("tasuki mcp is started by an agent and speaks MCP on stdin and stdout; see tasuki mcp --help.", file=sys.stderr)
    # The thread that reads stdin cannot be asked to stop: let Ctrl-C end the process, which holds nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve, address)
    return 0


async def _serve(address: Address) -> None:
    """Serve until stdin ends."""
    import anyio
    from mcp.server.stdio import stdio_server

    from cli.rest_hub import RestHub, open_http
    from transports.mcp.server import client_name, mcp_server
    from transports.mcp.watch import Watch

    async with open_http(address) as http, stdio_server() as (read_stream, write_stream):
        hub = RestHub(address, http)
        server = mcp_server(lambda context: hub.named(client_name(context)), Watch(anyio.Event()))
        await server.run(read_stream, write_stream, server.create_initialization_options())
