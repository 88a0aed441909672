"""
Tools of MCP servers, as remote tools. Needs the extra ``mcp``.

The SDK is imported when a server is asked for the first time, not here.
"""

from nr_agent_core.adapters.mcp.reports import RemoteToolReport, ServerReport, ServerState
from nr_agent_core.adapters.mcp.servers import McpServers
from nr_agent_core.adapters.mcp.settings import HttpServer, RemoteTool, StdioServer

__all__ = [
    "HttpServer",
    "McpServers",
    "RemoteTool",
    "RemoteToolReport",
    "ServerReport",
    "ServerState",
    "StdioServer",
]
