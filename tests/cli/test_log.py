"""`tasuki log`: where the log stands, whether it is whole, and a new name for it."""

import psycopg
import pytest


@pytest.fixture(scope="module")
def hub(own_hub):
    """This file renames the log, and breaks it at the end."""
    return own_hub


@pytest.fixture
def told(cli, pushed):
    """What the log says of itself, with a session in it."""
    return cli.json("log", "head")


def test_the_head_names_the_log_and_its_newest_event(cli, told, pushed, rest):
    seq = rest.append(pushed, "one more")
    said = cli.json("log", "head")
    assert (said["log_id"], said["head_seq"]) == (told["log_id"], seq)
    assert said["live"] in ("notify", "polling")
    assert f"head_seq  {seq}\n" in cli.out("log", "head")


def test_a_whole_log_is_found_whole(cli, told):
    found = cli.json("log", "check")
    assert (found["dense"], found["events"], found["first_missing"]) == (True, told["head_seq"], None)
    assert cli.out("log", "check").startswith("dense: ")


def test_a_new_epoch_is_another_log_with_the_same_events(cli, told):
    made = cli.json("log", "new-epoch")
    assert (made["replaced"], made["head_seq"]) == (told["log_id"], told["head_seq"])
    assert cli.json("log", "head")["log_id"] == made["log_id"] != told["log_id"]


def test_a_missing_event_is_found_and_has_its_exit_code(cli, told, module_database):
    with psycopg.connect(module_database, autocommit=True) as admin:
        admin.execute("set session_replication_role = replica")  # past the trigger that keeps the log whole
        admin.execute("delete from store.log where seq = 3")
    done = cli.run("log", "check")
    assert (done.returncode, done.stdout) == (1, f"NOT dense: 1 event missing below {told['head_seq']}, first 3\n")
    doctor = cli.run("doctor")
    assert (doctor.returncode, "1 event missing, first 3" in doctor.stdout) == (1, True)
