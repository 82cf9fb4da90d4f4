"""The skins over the one service: REST, MCP and the web page."""
