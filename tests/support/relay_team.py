"""The real agents and one hub: each agent is on a host of its own, which only the hub connects to the others."""

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import agent_codex
import agent_dsh
import agent_gemini
import agent_hermes
import agent_opencode
import pytest
from hubs import HubProcess
from pulling import Host
from real_agents import Agent
from scripted_model import ANSWER

OPENERS: Mapping[str, tuple[str, Callable[[Path], AbstractContextManager[Agent]]]] = {
    "opencode": (agent_opencode.PROGRAM, agent_opencode.opencode_in),
    "dsh": (agent_dsh.PROGRAM, agent_dsh.dsh_in),
    "hermes": (agent_hermes.PROGRAM, agent_hermes.hermes_in),
    "codex": (agent_codex.PROGRAM, agent_codex.codex_in),
    "gemini": (agent_gemini.PROGRAM, agent_gemini.gemini_in),
}


class Team:
    """Agents are opened when they are first asked for, and closed with the stack. Skips a test that wants one that is missing."""

    def __init__(self, hub: HubProcess, folder: Path, stack: ExitStack, project: str) -> None:
        self._hub, self._folder, self._stack, self._project = hub, folder, stack, project
        self._agents: dict[str, Agent] = {}

    def agent(self, name: str) -> Agent:
        if name not in self._agents:
            program, opened_in = OPENERS[name]
            if not program:
                pytest.skip(f"there is no {name}: make relay-test")
            folder = self._folder / name
            folder.mkdir()
            self._agents[name] = self._stack.enter_context(opened_in(folder))
        return self._agents[name]

    def host(self, name: str) -> Host:
        """The command line on the host of an agent."""
        return Host(self._hub, self.agent(name).home)

    def begun(self, name: str, prompt: str, command: str) -> str:
        """Begin an agent's first session, with a tool call; push it; return the hub's id of it."""
        agent = self.agent(name)
        agent.will_call(command)
        assert ANSWER in agent.begin(prompt)
        (pushed,) = self.host(name).json("push", "--all", "--agent", name, "--project", self._project)["sessions"]
        assert pushed["appended"] >= 4
        return str(pushed["session_id"])

    def pulled(self, name: str, session: str) -> str:
        """Install a session of the hub in an agent's own store; return the agent's id of it."""
        agent = self.agent(name)
        where = ("--install", "--cwd", agent.work, *agent.pull_options)
        told = self.host(name).json("pull", session, "--to", name, *where)
        assert told["native_session_id"] in told["command"]
        return str(told["native_session_id"])

    def pushed(self, name: str, native_id: str, project: str = "") -> Any:
        """Push an agent's session, or what is new of it; return what is said of it."""
        told = self.host(name).json("push", native_id, "--agent", name, "--project", project or self._project)
        (pushed,) = told["sessions"]
        return pushed

    def messages(self, name: str, session: str) -> list[Any]:
        """The hub's messages of a session, as the command line on an agent's host shows them."""
        done = self.host(name).run("show", session, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]
