"""Commands that read sessions: sessions, show, tail."""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from typing import Any

from cli.client import Hub, Page, session_path
from cli.message_view import MessageView
from cli.terminal import Screen, counted, moment, number, one_line
from cli.tree import load_tree, show_tree
from cli.verbs import add_verb, hub_of, natural, positive
from eventstore.wire.codec import dump, parse

TAIL_WAIT_S = 30.0
EMPTY_S_MIN = 0.1
PAGE_MAX = 1000
SESSIONS_SHOWN = 20


def register(verbs: Any) -> None:
    """Add the verbs of this group."""
    sessions = add_verb(
        verbs,
        "sessions",
        run_sessions,
        summary="list sessions, newest first",
        more="List sessions, newest first.",
        examples=["tasuki sessions", "tasuki sessions --project relay --title timer", "tasuki sessions --all --json"],
    )
    sessions.add_argument("--project", help="only of this project")
    sessions.add_argument("--title", help="only with this in the title, in any case")
    sessions.add_argument("--limit", type=positive, default=SESSIONS_SHOWN, help=f"how many at most (default {SESSIONS_SHOWN})")
    sessions.add_argument("--all", action="store_true", help="all there are")

    show = add_verb(
        verbs,
        "show",
        run_show,
        summary="print a session's messages",
        more="Print a session's messages: text, calls with their arguments, results, thinking. Long parts are cut, with a count.",
        examples=[
            "tasuki show ses_…",
            "tasuki show ses_… --after 120 --full",
            "tasuki show ses_… --json | jq .role",
            "tasuki show ses_… --tree",
        ],
        json="print the messages as JSON lines",
    )
    show.add_argument("session", metavar="SESSION", help="id of the session")
    show.add_argument("--after", type=natural, default=0, metavar="SEQ", help="only messages after this one")
    show.add_argument("--limit", type=positive, help="how many at most (default all)")
    show.add_argument("--full", action="store_true", help="cut nothing")
    show.add_argument("--tree", action="store_true", help="instead: its ancestors, snapshots and forks as a tree")

    tail = add_verb(
        verbs,
        "tail",
        run_tail,
        summary="print a session's messages, and go on as they come",
        more="Print a session's messages and go on with each new one, in the moment it is committed, until interrupted.\n"
        "A hub that restarts is waited for; nothing is missed or shown twice.",
        examples=["tasuki tail ses_…", "tasuki tail ses_… --new", "tasuki tail ses_… --after 120 --json"],
        json="print the messages as JSON lines",
    )
    tail.add_argument("session", metavar="SESSION", help="id of the session")
    start = tail.add_mutually_exclusive_group()
    start.add_argument("--after", type=natural, default=0, metavar="SEQ", help="begin after this message (default: the first)")
    start.add_argument("--new", action="store_true", help="only what comes from now on")
    tail.add_argument("--count", type=positive, metavar="N", help="end after this many messages")
    tail.add_argument("--full", action="store_true", help="cut nothing")


def run_sessions(options: argparse.Namespace) -> int:
    screen = Screen()
    with hub_of(options) as hub:
        found, following = list_sessions(hub, options.project, options.title, None if options.all else options.limit)
    if options.json:
        screen.line(f'{{"sessions":[{",".join(found)}],"next":{dump(following)}}}')
        return 0
    for source in found:
        _show_session(screen, parse(source))
    if not found:
        screen.line("No sessions." if not (options.project or options.title) else "No such sessions.")
    if following is not None:
        screen.line(screen.styled(f"{counted(len(found), 'session')} shown; there are more: --limit N or --all", "dim"))
    return 0


def run_show(options: argparse.Namespace) -> int:
    screen = Screen()
    with hub_of(options) as hub:
        if options.tree:
            tree = load_tree(hub, options.session)
            screen.line(dump(tree)) if options.json else show_tree(screen, tree, options.session)
            return 0
        view = MessageView(screen, options.session, options.full)
        if not options.json:
            _show_head(screen, hub, options.session)
        left = options.limit or math.inf
        for page in pages(hub, options.session, options.after, int(min(left, PAGE_MAX))):
            for source in page.sources[: int(min(left, PAGE_MAX))]:
                screen.line(source) if options.json else view.show(source)
            left -= len(page.sources)
            if left <= 0:
                break
    return 0


def run_tail(options: argparse.Namespace) -> int:
    screen = Screen()
    with hub_of(options) as hub:
        hub.on_trouble = _tell_trouble
        view = MessageView(screen, options.session, options.full)
        after_seq = hub.page(options.session, 0, 1).head_seq if options.new else options.after
        left = options.count or math.inf
        for page in follow(hub, options.session, after_seq):
            for source in page.sources[: int(min(left, PAGE_MAX))]:
                screen.line(source) if options.json else view.show(source)
            screen.flush()
            left -= len(page.sources)
            if left <= 0:
                return 0
    raise AssertionError("following a session does not end by itself")


def list_sessions(hub: Hub, project_id: str | None, title: str | None, limit: int | None) -> tuple[list[str], str | None]:
    """Return the source texts of sessions, at most `limit` (None: all), and the cursor of what follows, None at the end."""
    found: list[str] = []
    cursor: str | None = None
    while limit is None or len(found) < limit:
        count = PAGE_MAX if limit is None else min(PAGE_MAX, limit - len(found))
        document = hub.get("/v1/sessions", project_id=project_id, q=title, limit=count, cursor=cursor).document
        found += [dump(one) for one in document.fields["sessions"]]
        cursor = document.fields["next"]
        if cursor is None:
            break
    return found, cursor


def pages(hub: Hub, session_id: str, after_seq: int, limit: int = PAGE_MAX) -> Iterator[Page]:
    """Yield a session's messages after a seq, page by page, up to its head."""
    log_id, has_more = "", True
    while has_more:
        page = hub.page(session_id, after_seq, limit, log_id=log_id)
        yield page
        after_seq, log_id, has_more = page.next_after_seq, page.log_id, page.has_more


def follow(hub: Hub, session_id: str, after_seq: int) -> Iterator[Page]:
    """Yield a session's messages after a seq, and then each as it comes. A hub that was there once is waited for without end."""
    log_id = ""
    while True:
        began = time.monotonic()
        page = hub.page(session_id, after_seq, PAGE_MAX, TAIL_WAIT_S, log_id)
        hub.patience_s = math.inf
        if page.sources:
            yield page
        elif time.monotonic() - began < EMPTY_S_MIN:
            time.sleep(EMPTY_S_MIN)  # a hub that stops answers at once; another one may take over
        after_seq, log_id = page.next_after_seq, page.log_id


def _show_session(screen: Screen, session: dict[str, Any]) -> None:
    """Two lines: which and when; how much and what about."""
    width = screen.width or 120
    meta = session["meta"] if isinstance(session["meta"], dict) else {}
    updated = moment(session["updated_at"])[:16]
    project = one_line(session["project_id"], max(10, width - len(session["session_id"]) - len(updated) - 5))
    screen.line(f"{screen.styled(session['session_id'], 'bold')}  {screen.styled(f'{updated}  {project}', 'dim')}")
    facts = [counted(number(session["message_count"]), "message").rjust(13), one_line(str(meta.get("agent_source") or ""), 20)]
    if session.get("parent_session_id"):
        facts.append(f"fork of {session['parent_snapshot_id']}")
    head = "  ".join(filter(None, facts))
    title = one_line(str(meta.get("title") or ""), max(10, width - len(head) - 7))
    screen.line(f"    {head}  {title}".rstrip())


def _show_head(screen: Screen, hub: Hub, session_id: str) -> None:
    session = hub.get(f"{session_path(session_id)}/lineage").document.fields
    _show_session(screen, session)
    for parent in session["parents"]:
        screen.line(f"    inherits from {parent['session_id']} up to seq {number(parent['up_to_seq'])} ({parent['snapshot_id']})")
    screen.line()


def _tell_trouble(detail: str) -> None:
    screen = Screen(sys.stderr)
    screen.block(f"tasuki: {detail} Trying again …" if detail else "tasuki: the hub answers again", style="dim")
    screen.flush()
