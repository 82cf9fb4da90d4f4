"""What a transcript says about its session: title, place, versions, ancestry, who started which sub-agent."""

from adapters.claude_code.origin import INTERRUPTED
from adapters.claude_code.records import AGENT, Line
from adapters.conversion import Json
from adapters.values import text_of

TITLE_CHARS_MAX = 80
LOOKED_AT_CHARS = 1000  # of a prompt that may be very long


class Facts:
    """Collects line by line: the first working directory (the file belongs there), the last titles, branch, version."""

    def __init__(self) -> None:
        self.titles: dict[str, str] = {}
        self.first: dict[str, str] = {}
        self.last: dict[str, str] = {}
        self.forked_from: Json = {}
        self.subagents: dict[str, str] = {}

    def add(self, line: Line, record: Json) -> None:
        for key in ("cwd", "sessionId", "agentId"):
            if value := text_of(record, key):
                self.first.setdefault(key, value)
        for key in ("gitBranch", "version", "agentName", "tag"):
            if value := text_of(record, key):
                self.last[key] = value
        for key in ("customTitle", "aiTitle", "summary"):
            if value := text_of(record, key):
                self.titles[key] = value
        if not self.forked_from and isinstance(record.get("forkedFrom"), dict):
            self.forked_from = record["forkedFrom"]
        self._add_prompt(line, record)
        self._add_subagent(line, record)

    @property
    def version(self) -> str:
        return self.last.get("version", "")

    def session(self, session_id: str) -> Json:
        """Return the meta of the session. What is not known is not in it."""
        titles = (self.titles.get(key) for key in ("customTitle", "aiTitle", "summary", "prompt"))
        known = {
            "title": next((title for title in titles if title), ""),
            "agent_source": AGENT,
            "agent_version": self.version,
            "native_session_id": session_id,
            "cwd": self.first.get("cwd", ""),
            "git_branch": self.last.get("gitBranch", ""),
            "agent_name": self.last.get("agentName", ""),
            "tag": self.last.get("tag", ""),
            "forked_from": self.forked_from,
        }
        return {key: value for key, value in known.items() if value}

    def _add_prompt(self, line: Line, record: Json) -> None:
        if "prompt" in self.titles or line.type != "user" or line.told.is_meta or line.told.has_result:
            return
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            content = next((text_of(block, "text") for block in content if isinstance(block, dict)), "")
        start = content.lstrip()[:LOOKED_AT_CHARS] if isinstance(content, str) else ""
        if start and not start.startswith(("<", INTERRUPTED)):
            self.titles["prompt"] = start.splitlines()[0].rstrip()[:TITLE_CHARS_MAX]

    def _add_subagent(self, line: Line, record: Json) -> None:
        result, data = record.get("toolUseResult"), record.get("data")
        if isinstance(result, dict) and line.told.results and (agent_id := text_of(result, "agentId")):
            self.subagents[agent_id] = line.told.results[0]
        elif isinstance(data, dict) and (agent_id := text_of(data, "agentId")) and (call := text_of(record, "parentToolUseID")):
            self.subagents.setdefault(agent_id, call)
