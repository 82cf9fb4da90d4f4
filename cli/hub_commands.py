"""Commands that run or prepare a hub: serve, migrate, schema."""

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import Any

from cli.loading import loading
from eventstore.errors import InvalidSettings
from eventstore.settings import Settings, load_settings
from eventstore.wire.message import message_schema

_RAW = argparse.RawDescriptionHelpFormatter


def register(verbs: Any) -> None:
    """Add the verbs of this group."""
    serve = verbs.add_parser(
        "serve",
        help="run the hub",
        description="Run the hub until it is interrupted: on the PostgreSQL of TASUKI_DSN, else on an embedded one.",
        epilog="examples:\n  tasuki serve\n  tasuki serve --port 9000\n  TASUKI_DSN=postgresql://… tasuki serve --host 0.0.0.0",
        formatter_class=_RAW,
    )
    serve.add_argument("--host", help="address to listen on (default 127.0.0.1)")
    serve.add_argument("--port", type=int, help="port to listen on, 0 for any (default 8808)")
    serve.add_argument("--data-dir", help="where the hub keeps its token and embedded database")
    serve.add_argument("--log-level", choices=["debug", "info", "warning", "error"], help="default info")
    serve.set_defaults(run=run_serve)

    migrate = verbs.add_parser(
        "migrate",
        help="bring a database to this version's schema",
        description="Migrate the database of TASUKI_DSN. `serve` does it by itself; a newer database is refused.",
        epilog="example:\n  TASUKI_DSN=postgresql://… tasuki migrate",
        formatter_class=_RAW,
    )
    migrate.add_argument("--json", action="store_true", help="print what was done as JSON")
    migrate.set_defaults(run=run_migrate)

    schema = verbs.add_parser("schema", help="print the JSON Schema of a standard message")
    schema.set_defaults(run=run_schema)


def settings_of(options: argparse.Namespace) -> Settings:
    """Return the settings: flags, then environment, then file."""
    names = ("host", "port", "data_dir", "log_level")
    return load_settings(os.environ, {name: getattr(options, name, None) for name in names})


def run_serve(options: argparse.Namespace) -> int:
    with loading():
        import anyio

        from cli.logs import configure_logs
        from cli.serve import serve, token_hint

    settings = settings_of(options)
    configure_logs(settings.log_level)

    def ready(url: str) -> None:
        print(f"Tasuki serves at {url}\n{token_hint(settings.token_path)}", flush=True)

    anyio.run(serve, settings, ready, backend_options={"use_uvloop": sys.platform != "win32"})
    return 0


def run_migrate(options: argparse.Namespace) -> int:
    import anyio

    from sql.migrate import migrate

    settings = settings_of(options)
    if not settings.dsn:
        raise InvalidSettings("Set TASUKI_DSN to the database to migrate; the embedded one is migrated by `tasuki serve`.")
    report = migrate(settings.dsn)
    if report.stale:
        anyio.run(_rebuild, settings, report.stale)
    if options.json:
        print(json.dumps(asdict(report)))
    else:
        done = ", ".join(report.applied) or "nothing to migrate"
        print(f"schema {report.schema_version}: {done}; functions {'put in again' if report.refreshed else 'as they were'}")
        print(f"views rebuilt: {', '.join(report.stale) or 'none'}")
    return 0


async def _rebuild(settings: Settings, stale: list[str]) -> None:
    from cli.serve import bring_up_to_date
    from eventstore.db import Database

    database = Database(settings, settings.dsn)
    await database.open()
    try:
        await bring_up_to_date(database, stale)
    finally:
        await database.close()


def run_schema(options: argparse.Namespace) -> int:
    print(json.dumps(message_schema(), indent=2))
    return 0
