"""Whoever connects an agent finds each tool, its arguments and what it returns in the documents."""

import re

from transports.mcp.results import TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN
from transports.mcp.tools import LIMIT_DEFAULT, TOOLS, WAIT_S_DEFAULT, WAIT_S_MAX
from transports.mcp.watch import LISTENERS_MAX, SESSIONS_PER_LISTENER_MAX


def test_every_tool_is_in_the_protocol_with_its_arguments_and_what_it_returns(repository):
    section = mcp_section(repository)
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section, re.MULTILINE))
    for tool in TOOLS:
        arguments, _, returns = rows[tool.name].partition(" | ")
        told = re.findall(r"(\w+)(\??)", re.sub(r"\(.*?\)", "", arguments))
        properties, required = tool.input_schema["properties"], set(tool.input_schema["required"])
        assert {name for name, _ in told} == set(properties), tool.name
        assert {name for name, mark in told if not mark} == required, tool.name
        assert set(tool.output_schema["required"]) <= set(re.findall(r"\w+", returns)), tool.name


def test_the_numbers_in_the_protocol_are_those_of_the_tools(repository):
    section = mcp_section(repository)
    (read,) = (line for line in section.splitlines() if line.startswith("| `read_session`"))
    assert f"limit? ({LIMIT_DEFAULT}), wait_seconds? ({WAIT_S_DEFAULT}), max_tokens? ({TOKENS_DEFAULT})" in read
    for told in (f"{WAIT_S_MAX} s", f"{TOKENS_MIN} to {TOKENS_MAX:,}", f"{LISTENERS_MAX}, {SESSIONS_PER_LISTENER_MAX}"):
        assert f"| {told} |" in section


def test_the_readme_says_how_to_connect_an_agent_both_ways(repository):
    readme = (repository / "README.md").read_text("utf-8")
    assert "claude mcp add --transport http tasuki $URL/mcp" in readme
    assert ".venv/bin/tasuki mcp" in readme


def mcp_section(repository) -> str:
    protocol = (repository / "docs" / "protocol.md").read_text("utf-8")
    return str(protocol.partition("\n## MCP\n")[2].partition("\n## ")[0])
