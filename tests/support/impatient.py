"""A hub that waits a fifth as long for its database as others do: `python -m impatient` and arguments of the command line."""

import sys

from eventstore import db, listener

FASTER = 5

if __name__ == "__main__":
    from cli.main import main

    db._CONNECTION_WAIT_S /= FASTER
    db._RECONNECT_S /= FASTER
    listener.POLL_ANSWER_S_MAX /= FASTER
    listener.RECONNECT_S_MAX /= FASTER
    sys.exit(main())
