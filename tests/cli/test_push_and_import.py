"""A file that is pushed and a file that is imported over REST are one session: neither way adds what the other brought."""

import json
import urllib.request
from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[2] / "cli" / "samples" / "relay-timer.jsonl"


def imported(hub, project, raw):
    request = urllib.request.Request(
        f"{hub.url}/v1/import?project_id={project}", raw, {"Authorization": f"Bearer {hub.token}"}, method="POST"
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        return json.load(answer)


def test_what_was_pushed_is_known_to_an_import(cli, rest, hub, project):
    pushed = cli.json("push", SAMPLE, "--project", project)
    head = rest.head()
    answer = imported(hub, project, SAMPLE.read_bytes())
    assert (answer["session_id"], answer["appended"], answer["duplicate"]) == (pushed["session_id"], 0, True)
    assert rest.head() == head


def test_what_was_imported_is_known_to_a_push(cli, hub, project):
    answer = imported(hub, project, SAMPLE.read_bytes())
    pushed = cli.json("push", SAMPLE, "--project", project)
    assert (pushed["session_id"], pushed["appended"], pushed["repeated"]) == (answer["session_id"], 0, 17)
    again = cli.json("push", SAMPLE, "--project", project)
    assert again["appended"] == 0
