"""`tasuki snapshot`, `snapshots` and `fork`: name a point, go on from it."""

SAMPLE_MESSAGES = 17


def test_a_snapshot_is_of_the_newest_message_unless_told_otherwise(cli, rest, pushed):
    seqs = [message["seq"] for message in rest.messages(pushed)]
    assert cli.json("snapshot", pushed, "-m", "whole")["up_to_seq"] == seqs[-1]
    assert cli.json("snapshot", pushed, "--up-to-seq", seqs[3])["up_to_seq"] == seqs[3]
    listed = cli.json("snapshots", pushed)["snapshots"]
    assert [(one["commit_msg"], one["up_to_seq"]) for one in listed] == [("whole", seqs[-1]), ("", seqs[3])]


def test_people_are_told_the_id(cli, pushed):
    said = cli.out("snapshot", pushed, "-m", "for people")
    snapshot_id = said.split()[0]
    assert said.startswith("snap_")
    assert f"of {pushed} up to seq" in said
    assert f"{snapshot_id}  " in cli.out("snapshots", pushed)
    assert "    for people" in cli.out("snapshots", pushed)


def test_a_fork_reads_what_was_before_and_goes_on_alone(cli, pushed, rest):
    seqs = [message["seq"] for message in rest.messages(pushed)]
    snapshot_id = cli.json("snapshot", pushed, "--up-to-seq", seqs[4])["snapshot_id"]
    fork_id = cli.json("fork", snapshot_id)["session_id"]
    rest.append(fork_id, "another way")
    assert [message["seq"] for message in rest.messages(fork_id)][:-1] == seqs[:5]
    assert len(rest.messages(pushed)) == SAMPLE_MESSAGES
    shown = cli.out("show", fork_id)
    assert f"inherits from {pushed} up to seq {seqs[4]} ({snapshot_id})" in shown
    assert shown.count("· inherited") == 5


def test_a_fork_can_go_to_another_project(cli, rest, pushed):
    snapshot_id = cli.json("snapshot", pushed)["snapshot_id"]
    fork_id = cli.json("fork", snapshot_id, "--project", "elsewhere")["session_id"]
    assert [one["session_id"] for one in rest.sessions("elsewhere")] == [fork_id]
    assert f"fork of {snapshot_id}" in cli.out("sessions", "--project", "elsewhere")


def test_the_same_append_id_makes_one_snapshot_and_one_fork(cli, pushed):
    made = [cli.json("snapshot", pushed, "-m", "once", "--append-id", "s1")["snapshot_id"] for _ in range(2)]
    assert len(set(made)) == 1
    forks = [cli.json("fork", made[0], "--append-id", "f1")["session_id"] for _ in range(2)]
    assert len(set(forks)) == 1
    assert "which was there already" in cli.out("fork", made[0], "--append-id", "f1")


def test_what_is_not_there_is_said(cli):
    assert "[snapshot_not_found]" in cli.run("fork", "snap_999999").stderr
    assert "[session_not_found]" in cli.run("snapshot", "ses_01890000-0000-7000-8000-000000000000").stderr
    assert cli.run("fork", "snap_999999").returncode == 1


def test_help_shows_examples(cli):
    for verb in ("sessions", "show", "tail", "push", "snapshot", "snapshots", "fork", "doctor", "demo"):
        assert "examples:\n  tasuki " in cli.out(verb, "--help").replace("TASUKI_URL=…", "")
