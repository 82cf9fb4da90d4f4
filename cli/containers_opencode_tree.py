"""OpenCode's JSON tree (before 1.2), to and from an export document: a file each for a session, a message, a part.

`storage/session/<project>/<session>.json`, `storage/message/<session>/<message>.json`, `storage/part/<message>/<part>.json`; still
older: `project/<name>/storage/session/{info,message/<session>,part/<session>/<message>}/…json`. A file that cannot be read spoils
no other: its text is kept in its place.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eventstore.errors import InvalidJson
from eventstore.wire import codec

Json = dict[str, Any]

MIGRATION = "2"  # the layout that 1.1.65 writes
_name = re.compile(r"[0-9A-Za-z_.-]{1,200}")
_BESIDE = ("session_diff", "todo")  # one file a session, beside the conversation


def tree_of(path: Path) -> Path | None:
    """Return the folder that a tree is in: OpenCode's data folder, its `storage`, or what holds either."""
    for folder in (path / "storage", path):
        if (folder / "session").is_dir():
            return folder
    return path if (path / "project").is_dir() and any(path.glob("project/*/storage/session/info")) else None


def list_tree(tree: Path) -> list[tuple[str, str, str, str, int]]:
    """Return id, parent's id, title, directory and time of change of each session, the newest last."""
    listed = [(_read(file, []), file.stem) for file in _sessions(tree)]
    return sorted((_listed(info, name) for info, name in listed), key=lambda row: (row[4], row[0]))


def read_tree(tree: Path, session_id: str) -> tuple[Json, list[str]] | None:
    """Return one session's export document and what could not be read of it, or None where it is not there."""
    file = next((file for file in _sessions(tree) if file.stem == session_id), None)
    if file is None:
        return None
    problems: list[str] = []
    is_old = file.parent.name == "info"
    base = file.parent.parent if is_old else tree
    records: list[Any] = []
    for path in sorted((base / "message" / session_id).glob("*.json")):
        folder = base / "part" / session_id / path.stem if is_old else base / "part" / path.stem
        parts = [_read(part, problems) for part in sorted(folder.glob("*.json"))]
        records.append({"info": _read(path, problems), "parts": parts})
    document: Json = {"info": _read(file, problems), "messages": sorted(records, key=_order)}
    for name in _BESIDE:
        beside = base / name / f"{session_id}.json"
        if beside.is_file():
            document[name] = _read(beside, problems)
    return document, problems


def write_tree(path: Path, document: Json) -> list[str]:
    """Write one session as a tree in a new folder, whole or not at all. Returns what has no place in it."""
    lost: list[str] = []
    contents = dict(_files(document, lost))
    making = path.with_name(f".{path.name}.making")
    making.mkdir(parents=True)
    for name, text in contents.items():
        file = making / "storage" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    making.rename(path)
    return lost


def _files(document: Json, lost: list[str]) -> Iterator[tuple[str, str]]:
    yield "migration", MIGRATION
    info = document.get("info")
    session_id = _id_of(info) or "ses_unknown"
    project = info.get("projectID") if isinstance(info, dict) else None
    folder = project if isinstance(project, str) and _name.fullmatch(project) else "global"
    yield f"session/{folder}/{session_id}.json", codec.dump(info)
    messages = document.get("messages")
    seen: set[str] = set()
    for index, record in enumerate(messages if isinstance(messages, list) else ()):
        told = record if isinstance(record, dict) else {}
        message_id = _id_of(told.get("info"))
        if not message_id or message_id in seen or not isinstance(told.get("parts"), list):
            lost.append(f"messages[{index}]: it has no id of its own")
            continue
        seen.add(message_id)
        lost += [f"messages[{index}].{name}: no file" for name in told if name not in ("info", "parts")]
        yield f"message/{session_id}/{message_id}.json", codec.dump(told["info"])
        for place, part in enumerate(told["parts"]):
            part_id = _id_of(part)
            if not part_id or part_id in seen:
                lost.append(f"messages[{index}].parts[{place}]: it has no id of its own")
                continue
            seen.add(part_id)
            yield f"part/{message_id}/{part_id}.json", codec.dump(part)
    for name, value in document.items():
        if name in _BESIDE:
            yield f"{name}/{session_id}.json", codec.dump(value)
        elif name not in ("info", "messages"):
            lost.append(f"{name}: no file")


def _sessions(tree: Path) -> list[Path]:
    return sorted([*tree.glob("session/*/*.json"), *tree.glob("project/*/storage/session/info/*.json")])


def _listed(info: Any, name: str) -> tuple[str, str, str, str, int]:
    told = info if isinstance(info, dict) else {}
    time = told.get("time")
    updated = time.get("updated") if isinstance(time, dict) else None
    parent, title, directory = (str(told.get(key) or "") for key in ("parentID", "title", "directory"))
    return name, parent, title, directory, (updated.as_int() or 0) if isinstance(updated, codec.Number) else 0


def _read(file: Path, problems: list[str]) -> Any:
    try:
        return codec.parse(codec.decode_text(file.read_bytes()))
    except (OSError, InvalidJson) as error:
        problems.append(f"{file.name}: {error.detail if isinstance(error, InvalidJson) else 'it cannot be read'}")
        return {"id": file.stem, "unreadable": _kept(file)}


def _kept(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _order(record: Json) -> tuple[int, str]:
    info = record["info"] if isinstance(record["info"], dict) else {}
    time = info.get("time")
    created = time.get("created") if isinstance(time, dict) else None
    return (created.as_int() or 0) if isinstance(created, codec.Number) else 0, str(info.get("id"))


def _id_of(record: Any) -> str:
    name = record.get("id") if isinstance(record, dict) else None
    return name if isinstance(name, str) and _name.fullmatch(name) and not name.startswith(".") else ""
