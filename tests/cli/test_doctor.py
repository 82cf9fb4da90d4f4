"""`tasuki doctor`: one line for each thing that could stand in the way, with what to do."""

import json
import os

import pytest
from hubs import running_hub


def checks(done):
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_with_a_hub_that_runs_all_is_well(cli):
    found = checks(cli.run("doctor", "--json"))
    for name in ("python", "postgresql", "redaction", "hub", "hub database", "hub token", "log"):
        assert (name, found[name]["status"]) == (name, "ok")
    assert found["live"]["status"] in ("ok", "warn")
    assert cli.run("doctor").returncode == 0


def test_without_a_hub_it_looks_at_this_host_and_says_how_to_start_one(tmp_path, cli_of):
    done = cli_of(tmp_path).run("doctor", "--json", TASUKI_PORT="9")
    found = checks(done)
    assert (done.returncode, found["hub"]["status"], "tasuki serve" in found["hub"]["advice"]) == (0, "warn", True)
    assert "log" not in found


def test_a_hub_that_was_named_and_is_not_there_is_a_failure(tmp_path, cli_of):
    done = cli_of(tmp_path).run("doctor", "--json", TASUKI_URL="http://127.0.0.1:9")
    assert (done.returncode, json.loads(done.stdout)["ok"], checks(done)["hub"]["status"]) == (1, False, "fail")


def test_a_token_that_the_hub_does_not_know_is_a_failure(cli):
    done = cli.run("doctor", "--json", TASUKI_TOKEN="tsk_unknown")
    assert (done.returncode, checks(done)["hub token"]["status"]) == (1, "fail")


def test_a_hub_that_keeps_secrets_is_said(cli, module_database):
    with running_hub(module_database, redaction="off") as careless:
        found = checks(cli.run("doctor", "--json", TASUKI_URL=careless.url, TASUKI_TOKEN=careless.token))
    assert found["hub redaction"]["status"] == "warn"


@pytest.mark.skipif(os.name != "posix", reason="no file modes here")
def test_a_token_that_others_can_read_is_a_failure_with_the_command_that_mends_it(cli):
    token = cli.home / "data" / "token"
    token.parent.mkdir()
    token.write_text("tsk_x\n")
    token.chmod(0o644)
    found = checks(cli.run("doctor", "--json"))["token"]
    assert (found["status"], found["advice"]) == ("fail", f"chmod 600 {token}")
    token.chmod(0o600)
    assert checks(cli.run("doctor", "--json"))["token"]["status"] == "ok"


@pytest.mark.parametrize(
    ("settings", "status", "advice"),
    [
        (None, "warn", 'Write {"cleanupPeriodDays": 3650} to '),
        ('{"model": "opus"}', "warn", 'Add "cleanupPeriodDays": 3650 to the object in '),
        ('{"cleanupPeriodDays": 7}', "warn", 'Set "cleanupPeriodDays": 3650 in '),
        ('{"cleanupPeriodDays": 3650}', "ok", ""),
        ("no json", "warn", "It must be a JSON object."),
    ],
)
def test_transcripts_that_will_be_deleted_are_said_with_the_exact_edit(cli, settings, status, advice):
    home = cli.home / ".claude"
    home.mkdir()
    if settings is not None:
        (home / "settings.json").write_text(settings)
    found = checks(cli.run("doctor", "--json"))["claude-code"]
    assert (found["status"], found["advice"].startswith(advice)) == (status, True)
    if status == "warn" and advice.startswith(("Write", "Add", "Set")):
        assert str(home / "settings.json") in found["advice"]


def test_a_host_without_claude_code_is_well(cli):
    assert checks(cli.run("doctor", "--json"))["claude-code"]["status"] == "ok"


def test_people_get_a_line_each(cli):
    lines = cli.out("doctor").splitlines()
    assert lines[0].startswith("ok    python")
    assert all(line[:4].strip() in ("ok", "warn", "") for line in lines)
