"""`tasuki show` and `sessions`: a session as a person reads it, and as a program does."""

import json
import os
import subprocess
import sys

import pytest

from cli.terminal import display_width, one_line, safe, shorten, wrap


def test_every_message_says_who_and_when(cli, pushed):
    shown = cli.out("show", pushed)
    assert "user  2026-11-28 09:12:00 +0000" in shown
    assert "assistant  2026-11-28 09:12:06 +0000 · claude-opus-4-6" in shown
    assert "    thinking" not in shown
    assert "    A lap is lost at a hand-over" in shown


def test_calls_are_shown_with_their_arguments_and_results_with_the_calls_name(cli, pushed):
    shown = cli.out("show", pushed)
    assert "    → Read\n      file_path: /home/ann/relay/lap_timer.py\n" in shown
    assert "tool  2026-11-28 09:12:23 +0000 · Bash · error" in shown


def test_a_long_result_is_cut_and_what_is_left_out_is_counted(cli, pushed, rest):
    text = "\n".join(f"line {number}" for number in range(1, 41))
    rest.append(pushed, {"role": "tool", "tool_call_id": "c", "content": text})
    assert "    line 10\n    … 30 more lines, 240 characters (--full)\n" in cli.out("show", pushed)
    assert "    line 40\n" in cli.out("show", pushed, "--full")
    assert "(--full)" not in cli.out("show", pushed, "--full")


@pytest.mark.skipif(os.name != "posix", reason="no shell of this kind here")
def test_a_reader_that_goes_away_is_no_error(cli, pushed):
    command = f"{sys.executable} -m cli.main show {pushed} --full | head -c 10"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], env=cli.env, cwd=cli.home, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_any_text_is_printed_whatever_the_locale(cli, pushed, rest):
    rest.append(pushed, "襷 é 🏃")
    for env in ({"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}):
        assert "襷 é 🏃" in cli.out("show", pushed, **env)


def test_only_what_was_asked_for_is_shown(cli, pushed):
    everything = cli.lines("show", pushed)
    seqs = [message["seq"] for message in everything]
    assert cli.lines("show", pushed, "--after", seqs[2], "--limit", 4) == everything[3:7]


def test_images_are_named_and_not_printed(cli, pushed, rest):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 5000}}
    rest.append(pushed, {"role": "user", "content": [{"type": "text", "text": "look"}, picture]})
    shown = cli.out("show", pushed)
    assert "    look\n    [image_url, " in shown
    assert "AAAA" not in shown


def test_nothing_of_a_message_reaches_the_terminal_as_a_command(cli, pushed, rest):
    rest.append(pushed, {"role": "user", "content": "\x1b]0;title\x07\x1b[2J\u202egnp.exe\r\nnext"})
    shown = cli.out("show", pushed)
    assert not any(char in shown for char in "\x1b\x07\u202e\r")
    assert "␛]0;title␇␛[2J\\u202egnp.exe\n    next" in shown


def test_a_message_with_anything_in_it_can_be_shown(cli, project, rest):
    session_id = rest.create(project)
    rest.append(session_id, '{"role": "assistant", "content": null, "tool_calls": null, "thinking": {"items": [{"data": "x"}]}}')
    rest.append(
        session_id, '{"role": "user", "content": "half \\ud83d and nul \\u0000", "created_at": "9999-12-31T23:59:59-23:59"}'
    )
    rest.append(
        session_id, '{"role": "user", "content": [{"type": "odd", "n": 1e400}], "metadata": {"redactions": [], "subagent": 1}}'
    )
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{not json"}}
    rest.append(session_id, {"role": "assistant", "content": "", "tool_calls": [call]})
    shown = cli.out("show", session_id)
    for part in ("[thinking that only its provider can read]", "half \\ud83d and nul ␀", "[odd, ", "{not json"):
        assert part in shown


def test_sessions_are_listed_newest_first_with_title_and_count(cli, project, pushed, rest):
    newer = rest.create(project)
    listed = cli.json("sessions", "--project", project)["sessions"]
    assert [session["session_id"] for session in listed] == [newer, pushed]
    assert "17 messages  claude-code  Fix the lap that is lost at a hand-over" in cli.out("sessions", "--project", project)
    found = cli.json("sessions", "--project", project, "--title", "LAP")["sessions"]
    assert [session["session_id"] for session in found] == [pushed]


def test_a_list_says_that_there_is_more_and_gives_it(cli, project, rest):
    ids = [rest.create(project) for _ in range(5)]
    page = cli.json("sessions", "--project", project, "--limit", 2)
    assert (len(page["sessions"]), page["next"] is None) == (2, False)
    assert "there are more" in cli.out("sessions", "--project", project, "--limit", 2)
    everything = cli.json("sessions", "--project", project, "--all")
    assert [session["session_id"] for session in everything["sessions"]] == ids[::-1]
    assert everything["next"] is None


def test_no_sessions_are_no_error(cli, project):
    assert cli.out("sessions", "--project", project) == "No such sessions.\n"


@pytest.mark.skipif(os.name != "posix", reason="no pseudo-terminals here")
@pytest.mark.parametrize("columns", [80, 120])
def test_at_a_terminal_no_line_is_wider_than_it(cli, pushed, columns):
    shown = in_terminal([sys.executable, "-m", "cli.main", "show", pushed], cli, columns)
    assert "\x1b[" in shown
    widths = [display_width(line) for line in plain(shown).splitlines()]
    assert max(widths) <= columns
    assert "\x1b[" not in in_terminal([sys.executable, "-m", "cli.main", "show", pushed], cli, columns, NO_COLOR="1")


def in_terminal(command, cli, columns, **env):
    """What a program prints at a terminal of that many columns."""
    import pty

    ours, theirs = pty.openpty()
    settings = {"TERM": "xterm", "COLUMNS": str(columns), "LINES": "40"}
    process = subprocess.Popen(
        command, env={**cli.env, **settings, **env}, cwd=cli.home, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    chunks = []
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(ours)
    assert process.wait(30) == 0
    return b"".join(chunks).decode().replace("\r\n", "\n")


def plain(text):
    import re

    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_lines_are_broken_at_spaces_and_keep_their_indentation():
    assert list(wrap("    one two three four five six", 24)) == ["    one two three four", "    five six"]
    assert list(wrap("abcdefghij", 4)) == ["abcd", "efgh", "ij"]
    assert list(wrap("", 10)) == [""]


def test_wide_characters_take_two_columns():
    assert display_width("襷のe\u0301") == 5
    assert list(wrap("襷襷襷襷", 5)) == ["襷襷", "襷襷"]
    assert all(display_width(part) <= 10 for part in wrap("資料庫遷移前一定要先備份 and then 再", 10))


def test_nothing_is_lost_when_a_text_is_shortened():
    assert shorten("a\nb\n", 5, 100) == ("a\nb", "")
    assert shorten("a\nb\nc", 2, 100) == ("a\nb", "… 1 more lines, 2 characters")
    assert shorten("x" * 30, 5, 10) == ("x" * 10, "… 20 more characters")


def test_a_title_stays_on_its_line():
    assert one_line("a\n b\tc") == "a b c"
    assert one_line("x" * 100, 10) == "x" * 9 + "…"
    assert safe("a\x00\x7f\u2066") == "a␀␡\\u2066"


def test_json_output_is_a_value_a_line(cli, pushed):
    assert [json.loads(line)["role"] for line in cli.out("show", pushed, "--json").splitlines()][:2] == ["user", "assistant"]
