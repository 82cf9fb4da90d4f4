"""Names and times that Codex goes by: a session's id and the file that it is found by."""

from hashlib import sha256
from uuid import UUID

from adapters import clock
from adapters.made_names import is_uuid
from adapters.moments import moment_of, stamp


def session_uuid(name: str, first_ms: int) -> str:
    """Return a session's id: the name itself where Codex takes it, else a uuid of version 7 made of it and of its first time."""
    if is_uuid(name):
        return name
    digest = sha256(f"tasuki:session:{name}".encode("utf-8", "surrogatepass")).digest()
    made = bytearray((first_ms & (1 << 48) - 1).to_bytes(6, "big") + digest[:10])
    made[6] = made[6] & 0x0F | 0x70
    made[8] = made[8] & 0x3F | 0x80
    return str(UUID(bytes=bytes(made)))


def path_of_session(session_id: str, moment: str) -> str:
    """Return where under CODEX_HOME the session is found. Codex names the folder by local time; it looks in every one."""
    day = stamp(moment_of(moment) or 0)
    return f"sessions/{day[:4]}/{day[5:7]}/{day[8:10]}/rollout-{day[:19].replace(':', '-')}-{session_id}.jsonl"


class Clock(clock.Clock[str]):
    """Gives each line its time, as Codex writes it."""

    no_time = clock.untimed("line")

    def spelled(self, moment: int) -> str:
        return stamp(moment)
