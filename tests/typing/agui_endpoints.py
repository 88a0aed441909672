"""
Either facade fits its endpoint, as type checkers see it.
"""

from collections.abc import AsyncGenerator, Iterator
from typing import assert_type

from nr_agent_core import AsyncChat, Chat, Reader
from nr_agent_core.adapters.agui import AgUiEndpoint, AsyncAgUiEndpoint


def plain(chat: Chat, reader: Reader) -> None:
    assert_type(AgUiEndpoint(chat).frames(b"{}", reader), Iterator[str])


def in_a_loop(chat: AsyncChat, reader: Reader) -> None:
    assert_type(AsyncAgUiEndpoint(chat).frames("{}", reader), AsyncGenerator[str, None])


def crossed(chat: Chat, in_loop: AsyncChat) -> None:
    AsyncAgUiEndpoint(chat)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    AgUiEndpoint(in_loop)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
