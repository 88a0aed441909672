"""
What administrators may read about servers and their tools (T1, G3). Nobody else, and no model.
"""

import enum
from collections.abc import Mapping

import attrs


class ServerState(enum.Enum):
    """
    Whether a server can be used.
    """

    NOT_ASKED = "not_asked"
    CONNECTED = "connected"
    FAILED = "failed"


@attrs.frozen
class RemoteToolReport:
    """
    One tool of a server: its name here and there, and what the server claims about it.

    ``hints`` are the server's own claims (``read_only``, ``destructive``, ``idempotent``,
    ``open_world``). They are shown to people and decide nothing (T2).
    """

    name: str
    remote_name: str
    title: str
    hints: Mapping[str, bool]


@attrs.frozen
class ServerReport:
    """
    How a server stands: why it cannot be used, its tools, and those that were refused, each with the reason.

    ``why`` is sanitised and at most 200 characters (F3).
    """

    server: str
    state: ServerState
    why: str = ""
    tools: tuple[RemoteToolReport, ...] = ()
    refused: Mapping[str, str] = attrs.field(factory=dict)
