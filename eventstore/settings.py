"""Settings, read once at start: flags win over the environment, the environment over a TOML file, that over defaults.

In the environment a setting is `TASUKI_` and its name in capitals; in the file (`TASUKI_CONFIG`, else
`<data dir>/tasuki.toml`) just its name. Each is explained in `docs/operations.md`; a test keeps that complete.
"""

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from eventstore.errors import InvalidSettings


def default_data_dir() -> Path:
    """Return where the hub keeps its things when it is not told: the platform's place for a user's data."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", "~")).expanduser() / "tasuki"
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/tasuki").expanduser()
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/tasuki")
    return Path(os.environ.get("XDG_DATA_HOME", "~/.local/share")).expanduser() / "tasuki"


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting of a hub."""

    dsn: str = ""
    listen_dsn: str = ""
    host: str = "127.0.0.1"
    port: int = 8808
    data_dir: str = ""
    redaction: bool = True
    redaction_allow: list[str] = []
    allowed_hosts: list[str] = []
    allowed_origins: list[str] = []
    log_level: str = "info"
    archive: bool = True
    archive_dir: str = ""
    archive_remote: str = ""
    pool_size_max: int = 10
    poll_s: float = 1.0
    probe_s: float = 30.0
    lock_timeout_s: float = 5.0
    statement_timeout_s: float = 30.0
    message_bytes_max: int = 16 * 1024 * 1024
    request_bytes_max: int = 32 * 1024 * 1024
    request_messages_max: int = 1000
    meta_bytes_max: int = 64 * 1024
    export_bytes_max: int = 64 * 1024 * 1024
    cwd_map: dict[str, str] = {}
    queue_requests_max: int = 10_000
    queue_bytes_max: int = 256 * 1024 * 1024

    @property
    def data_path(self) -> Path:
        """The data directory."""
        return Path(self.data_dir).expanduser().absolute() if self.data_dir else default_data_dir()

    @property
    def archive_path(self) -> Path:
        """The Git repository of the archive."""
        return Path(self.archive_dir).expanduser().absolute() if self.archive_dir else self.data_path / "archive"

    @property
    def token_path(self) -> Path:
        """The file with this host's admin token."""
        return self.data_path / "token"


def load_settings(environ: Mapping[str, str], flags: Mapping[str, Any] | None = None) -> Settings:
    """Return the settings of this process. Raises InvalidSettings, naming the setting and where its value came from."""
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    from_environ = {
        name: environ[f"TASUKI_{name.upper()}"] for name in Settings.__struct_fields__ if f"TASUKI_{name.upper()}" in environ
    }
    data_dir = given.get("data_dir") or from_environ.get("data_dir", "")
    path = Path(environ.get("TASUKI_CONFIG") or Settings(data_dir=str(data_dir)).data_path / "tasuki.toml")
    values = _read_file(path, is_named="TASUKI_CONFIG" in environ)
    values |= {name: _from_text(name, text) for name, text in from_environ.items()}
    values |= given
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidSettings(f"{error}. Settings come from flags, TASUKI_* variables and {path}.") from None
    _check(settings)
    return settings


def _read_file(path: Path, is_named: bool) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if is_named:
            raise InvalidSettings(f"TASUKI_CONFIG names {path}, which is not there.") from None
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"{path} cannot be read: {error}.") from None
    unknown = set(values) - set(Settings.__struct_fields__)
    if unknown:
        raise InvalidSettings(f"{path} has unknown settings: {', '.join(sorted(unknown))}.")
    return values


def _from_text(name: str, text: str) -> Any:
    """A variable's text as the setting's kind: lists and pairs are separated by commas, booleans are on/off words."""
    kind = Settings.__annotations__[name]
    if kind == list[str]:
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind == dict[str, str]:
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        if not all(old.strip() and new.strip() for old, _, new in pairs):
            raise InvalidSettings(f"TASUKI_{name.upper()} is {text!r}; it must be like old=new,old=new.")
        return {old.strip(): new.strip() for old, _, new in pairs}
    if kind is bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise InvalidSettings(f"TASUKI_{name.upper()} is {text!r}; it must be on or off.")
    return text


def _check(settings: Settings) -> None:
    for name in Settings.__struct_fields__:
        value = getattr(settings, name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value <= 0 and name != "port":
            raise InvalidSettings(f"{name} is {value}; it must be above zero.")
    if not 0 <= settings.port <= 65535:
        raise InvalidSettings(f"port is {settings.port}; it must be from 0 to 65535.")
    if settings.log_level not in ("debug", "info", "warning", "error"):
        raise InvalidSettings(f"log_level is {settings.log_level!r}; it must be debug, info, warning or error.")
