"""Containers: what a session's file is on disk, by agent: lines, one document, or a database with several sessions."""

from pathlib import Path

from adapters.conversion import Conversion
from adapters.written import Written
from cli import containers_dsh, containers_hermes, containers_opencode
from cli.drafts import Drafts
from cli.stores_database import HERMES, OPENCODE, in_container, read_session


def read_from_database(path: Path, agent: str | None, session_id: str) -> Conversion:
    """Return a session of a database; `session_id` may be empty where it holds only one. Raises UnreadableContainer."""
    source = in_container(path, agent, session_id)
    return read_session(path, source.agent, source.session_id)


def write_file(written: Written, path: Path) -> list[str]:
    """Write a session as what its agent and the name's suffix say; returns what the container cannot hold.

    Lines go beside their place first and are put there in one step. Raises ContainerInTheWay for a database that is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if written.agent == OPENCODE:
        return containers_opencode.write_container(path, written.records[0])
    if written.agent == HERMES:
        return containers_hermes.write_container(path, list(written.records))
    if written.agent == containers_dsh.AGENT:
        containers_dsh.write_log(path, written.records)
        return []
    with Drafts() as drafts:
        for name, content in written.beside:
            drafts.write(path.with_suffix("").joinpath(*name.split("/")[-2:]), [content])
        drafts.write(path, written.records)
        drafts.put()
    return []
