"""MCP: the tools and resources of the hub, over streamable HTTP in the server and over stdio beside a client."""
