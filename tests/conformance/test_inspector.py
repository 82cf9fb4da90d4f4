"""The MCP inspector, as people use it from a shell: it lists our tools, has no complaint about their schemas, calls them."""

import json

import pytest
from hubs import running_hub

INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@pytest.fixture(scope="module")
def inspect(node, module_database, tmp_path_factory):
    """Ask a hub through the inspector's `--cli` and return the answer."""
    home = tmp_path_factory.mktemp("home")
    with running_hub(module_database) as hub:

        def ask(method, *options):
            header = f"Authorization: Bearer {hub.token}"
            done = node(
                INSPECTOR,
                "--cli",
                f"{hub.url}/mcp",
                "--transport",
                "http",
                "--header",
                header,
                "--method",
                method,
                *options,
                home=home,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return json.loads(done.stdout)

        yield ask


@pytest.fixture
def call(inspect):
    """Call a tool and return its structured content."""

    def ask(tool, **arguments):
        options = [part for name, value in arguments.items() for part in ("--tool-arg", f"{name}={value}")]
        answer = inspect("tools/call", "--tool-name", tool, *options)
        assert not answer.get("isError"), answer
        return answer["structuredContent"]

    return ask


def test_it_lists_the_tools_and_has_nothing_to_say_against_their_schemas(inspect):
    listed = inspect("tools/list", "--strict")

    names = {tool["name"] for tool in listed["tools"]}
    assert {"create_session", "append_message", "read_session", "create_snapshot", "load_snapshot", "list_sessions"} <= names
    assert all(tool["description"] and tool["outputSchema"]["type"] == "object" for tool in listed["tools"])


def test_a_session_is_written_read_and_forked_through_it(inspect, call):
    session_id = call("create_session", project_id="inspected")["session_id"]
    written = call("append_message", session_id=session_id, message='{"role": "user", "content": "hello", "append_id": "m1"}')
    snapshot_id = call("create_snapshot", session_id=session_id, commit_msg="inspected")["snapshot_id"]
    fork = call("load_snapshot", snapshot_id=snapshot_id)["session_id"]

    read = call("read_session", session_id=fork, after_seq=0)
    whole = inspect("resources/read", "--uri", f"session://{fork}/messages/{written['seq']}")

    assert [message["content"] for message in read["messages"]] == ["hello"]
    assert json.loads(whole["contents"][0]["text"])["append_id"] == "m1"
