"""Some of a sequence, in an order of their own: by their indexes, each looked up when its turn comes."""

from array import array
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

Item = TypeVar("Item")


class Picked(Sequence[Item], Generic[Item]):
    """The items of these indexes."""

    def __init__(self, items: Sequence[Item], indexes: "Sequence[int] | array[int]") -> None:
        self._items, self.indexes = items, indexes

    def __len__(self) -> int:
        return len(self.indexes)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return Picked(self._items, self.indexes[index])
        return self._items[self.indexes[index]]

    def __iter__(self) -> Iterator[Item]:
        return (self._items[index] for index in self.indexes)
