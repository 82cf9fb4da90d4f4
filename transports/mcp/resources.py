"""Resources: a session with its parents, forks and snapshots, and each of its messages whole, however long, as it is stored."""

import re

import mcp_types as types

from eventstore.errors import InvalidRequest, NoSuchRoute
from eventstore.wire.codec import items, parse_object
from transports.mcp.hub import Hub
from transports.mcp.values import carried, decode

_LISTED = 50
_JSON = "application/json"
_uri = re.compile(r"session://(?P<session_id>[A-Za-z0-9_-]{1,200})(?:/messages/(?P<seq>[1-9][0-9]{0,17}))?")

TEMPLATES = (
    types.ResourceTemplate(
        name="session",
        title="A session",
        uri_template="session://{id}",
        description="A session's meta, head, parents, forks and snapshots. Listen to it to be told of new messages.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        name="message",
        title="A message",
        uri_template="session://{id}/messages/{seq}",
        description="One message, whole and exactly as it is stored.",
        mime_type=_JSON,
    ),
)


async def listed(hub: Hub, cursor: str | None) -> types.ListResourcesResult:
    """Return the sessions, newest first, a page at a time."""
    page = decode(await hub.list_sessions(None, _LISTED, cursor))
    resources = [
        types.Resource(
            name=one["session_id"],
            title=carried(str(one["meta"].get("title") or one["session_id"])[:200])[0],
            uri=f"session://{one['session_id']}",
            description=f"{one['message_count']} messages, project {one['project_id']}",
            mime_type=_JSON,
        )
        for one in page["sessions"]
    ]
    return types.ListResourcesResult(resources=resources, next_cursor=page.get("next"))


async def read(hub: Hub, uri: str) -> types.ReadResourceResult:
    """Return a resource. Raises NoSuchRoute for a URI that is none of ours, and what the hub raises."""
    match = _uri.fullmatch(uri)
    if match is None:
        raise NoSuchRoute(f"There is no resource {uri[:200]!a}; templates: session://{{id}}, session://{{id}}/messages/{{seq}}.")
    text = await (_message(hub, match["session_id"], int(match["seq"])) if match["seq"] else hub.lineage(match["session_id"]))
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)])


def session_of(uri: str) -> str | None:
    """Return the session that a listenable URI names, None for another one."""
    match = _uri.fullmatch(uri)
    return match["session_id"] if match and not match["seq"] else None


async def _message(hub: Hub, session_id: str, seq: int) -> str:
    """The source text of one message: what is escaped in it stays so, and is carried as any text is."""
    page = parse_object(await hub.read(session_id, seq - 1, 1, 0))
    for source in items(page.source("messages")):
        if decode(source)["seq"] == seq:
            return source
    raise InvalidRequest(f"Session {session_id} has no message with seq {seq}.")
