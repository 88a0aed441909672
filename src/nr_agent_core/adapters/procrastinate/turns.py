"""
Whose turn it is in one process: of one conversation no two runs are handled at once.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """
    One turn a conversation. The engine's lock says the same, until others take this process for gone,
    free its job, and this process itself is brought the next one.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def of(self, conversation: str) -> Iterator[None]:
        """Wait for the turn of *conversation*, and have it until the block is over."""
        with self._mutex:
            lock, wanting = self._locks.get(conversation, (threading.Lock(), 0))
            self._locks[conversation] = lock, wanting + 1
        try:
            with lock:
                yield
        finally:
            with self._mutex:
                _, wanting = self._locks[conversation]
                if wanting == 1:
                    del self._locks[conversation]
                else:
                    self._locks[conversation] = lock, wanting - 1
