"""
Django's connections in threads that Django does not know of.

Django has a connection per thread, and closes old ones at the ends of requests. The library calls the
site from threads of its own: tools, streams, workers. Whatever it calls there cleans up behind itself.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from django.db import connections

from nr_agent_core import ToolContext

_P, _R = ParamSpec("_P"), TypeVar("_R")


@contextmanager
def own_connections(_: ToolContext) -> Iterator[None]:
    """Around each tool: what was opened in its thread is closed. A transaction of a test stays open."""
    try:
        yield
    finally:
        for connection in connections.all(initialized_only=True):
            if not connection.in_atomic_block:
                connection.close()


def cleaned_up(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """
    For policies, resolvers and listeners, which are called in any thread: connections past their age are closed.

    Inside a transaction nothing is closed.
    """

    @functools.wraps(function)
    def cleaning_up(*arguments: _P.args, **options: _P.kwargs) -> _R:
        try:
            return function(*arguments, **options)
        finally:
            # Django's own close_old_connections would end a transaction that somebody has open.
            for connection in connections.all(initialized_only=True):
                if not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()

    return cleaning_up
