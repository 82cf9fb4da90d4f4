"""Sending what a session holds: in batches that fit; what the hub refuses is left out and counted, its neighbours are sent."""

from collections.abc import Callable, Sequence

from adapters.arrival import BATCH_COUNT, batches, changed, messages_body
from adapters.conversion import Message, NativeRecords
from cli.address import NotAHub
from cli.client import Answer, Hub, session_path
from cli.pushed import Pushed
from eventstore.errors import AppendIdReused, InvalidJson, InvalidMessage, StoreError, TooLarge
from eventstore.wire.codec import dump

_HTTP_TOO_LARGE = 413
_REFUSALS = (TooLarge, InvalidMessage, InvalidJson, NotAHub)

Progress = Callable[[int, int], None]


class Sender:
    """Sends entries in batches that fit, and counts what became of them."""

    def __init__(self, hub: Hub, pushed: Pushed, progress: Progress, batch_count: int = BATCH_COUNT) -> None:
        self._hub, self._pushed, self._batch_count, self._progress = hub, pushed, batch_count, progress
        self._path = session_path(pushed.session_id)
        self._done, self._total = 0, pushed.found

    def repeat(self, count: int) -> None:
        """Count what the hub has already."""
        self._pushed.repeated += count
        self._step(count)

    def send_messages(self, messages: Sequence[Message]) -> None:
        for batch in batches(messages, self._batch_count):
            self._send(batch)

    def send_natives(self, natives: Sequence[NativeRecords], known: int) -> None:
        """Send batches of native records, but the first `known`, which the hub has."""
        for index, native in enumerate(natives):
            try:
                if index >= known:
                    self._redacted(self._hub.post(f"{self._path}/native", dump(native.body)))
                self._pushed.native += len(native.lines)
            except AppendIdReused as error:
                raise changed(native.lines[0], error) from None
            except _REFUSALS as error:
                self._skip(_for_what_it_is(error), len(native.lines))
            self._step(len(native.lines))

    def _send(self, batch: list[tuple[Message, str]]) -> None:
        """Send a batch; where the hub refuses one message, all but that; where it is too much at once, in halves."""
        if not batch:
            return
        try:
            answer = self._hub.post(f"{self._path}/messages", messages_body([text for _, text in batch]))
        except AppendIdReused as error:
            raise changed(batch[error.facts.get("index", 0)][0].line, error) from None
        except _REFUSALS as error:
            self._send_in_parts(batch, _for_what_it_is(error))
            return
        results = answer.value["results"]
        repeated = sum(result["duplicate"] for result in results)
        self._pushed.head_seq = max(self._pushed.head_seq, *(result["seq"] for result in results))
        self._pushed.repeated += repeated
        self._pushed.appended += len(batch) - repeated
        self._redacted(answer)
        self._step(len(batch))

    def _send_in_parts(self, batch: list[tuple[Message, str]], error: StoreError) -> None:
        index = error.facts.get("index")
        if isinstance(index, int) or len(batch) == 1:
            at = index if isinstance(index, int) else 0
            self._send(batch[:at])
            self._skip(error, 1)
            self._step(1)
            self._send(batch[at + 1 :])
        else:
            middle = len(batch) // 2
            self._send(batch[:middle])
            self._send(batch[middle:])

    def _skip(self, error: StoreError, count: int) -> None:
        self._pushed.skipped[f"{error.title} [{error.code}]"] += count

    def _redacted(self, answer: Answer) -> None:
        self._pushed.redactions.update(answer.value.get("redactions", {}))

    def _step(self, count: int) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _for_what_it_is(error: StoreError) -> StoreError:
    """A refusal of what was sent; raises what was refused for another reason. A proxy may find it too large before the hub does."""
    if isinstance(error, NotAHub) and error.facts.get("http_status") != _HTTP_TOO_LARGE:
        raise error
    return error
