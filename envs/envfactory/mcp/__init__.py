"""Any MCP server over stdio as a toolkit. docs/envfactory-bring-your-own.md shows how to describe one."""

from envrl.envs.envfactory.mcp.session import McpSession
from envrl.envs.envfactory.mcp.source import McpSource, open_mcp
from envrl.envs.envfactory.mcp.spec import McpSpec

__all__ = ["McpSession", "McpSource", "McpSpec", "open_mcp"]
