"""SQLSTATE: what PostgreSQL's errors mean to the hub. https://www.postgresql.org/docs/current/errcodes-appendix.html"""

import psycopg
from psycopg_pool import PoolTimeout

from eventstore.errors import Internal, LogBusy, ReadOnlyReplica, SchemaMissing, StoreError, StoreUnavailable

_ERROR_OF_SQLSTATE: dict[str, type[StoreError]] = {
    "55P03": LogBusy,  # lock_not_available: lock_timeout
    "25006": ReadOnlyReplica,  # read_only_sql_transaction
    "25P03": StoreUnavailable,  # idle_in_transaction_session_timeout
    "57014": StoreUnavailable,  # query_canceled: statement_timeout
    "53300": StoreUnavailable,  # too_many_connections
    "42883": SchemaMissing,  # undefined_function
    "3F000": SchemaMissing,  # invalid_schema_name
    "42P01": SchemaMissing,  # undefined_table
}


def translate(error: Exception) -> StoreError:
    """Return the hub's error for a driver's one; its text may hold data and is not passed on."""
    sqlstate = getattr(error, "sqlstate", None) or ""
    known = _ERROR_OF_SQLSTATE.get(sqlstate)
    if known:
        return known(sqlstate=sqlstate)
    if is_connection_lost(error) or isinstance(error, PoolTimeout):
        return StoreUnavailable()
    return Internal(f"The database refused with SQLSTATE {sqlstate or 'none'}.", sqlstate=sqlstate)


def is_connection_lost(error: Exception) -> bool:
    """Class 08 and 57P0x, or an operational error without a state: the link is gone, the outcome unknown."""
    sqlstate: str | None = getattr(error, "sqlstate", None)
    if sqlstate:
        return sqlstate.startswith(("08", "57P0"))
    return isinstance(error, psycopg.OperationalError) and not isinstance(error, PoolTimeout)
