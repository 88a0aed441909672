"""
What an operator says about a server and its tools. The server itself is believed nothing of it.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.tools import UNATTENDED_REMOTE, Execute, Reconcile

DEFAULT_DEADLINE: Final = 20.0
MESSAGE_LIMIT: Final = 4 * 1024 * 1024
_SERVER_NAME = re.compile(r"[a-zA-Z0-9-]{1,24}")


@attrs.frozen(kw_only=True)
class RemoteTool:
    """
    An operator's word on one tool of a server.

    Args:
        reads: the operator vouches that it only reads; else it is a non-idempotent write (T2).
        approval: True: a person approves each call. ``"no"``: nobody does (T3). None: its effect decides.
        enabled: whether it is on where the configuration does not name it.
        data_class: the most delicate data it may bring back; None: that of its server (G2).
        deadline: seconds that a call may take; None: that of its server.
        called: its name here, where ``mcp_<server>_<name>`` is no name or not wanted.
        preview: what an approver sees; None: the arguments (T11).
        reconcile: finds out what became of a call that a crash cut off (R7).
    """

    reads: bool = False
    approval: bool | str | None = None
    enabled: bool = False
    data_class: str | None = None
    deadline: float | None = None
    called: str | None = None
    preview: Execute | None = None
    reconcile: Reconcile | None = None

    def __attrs_post_init__(self) -> None:
        approval: Any = self.approval
        if not (isinstance(self.reads, bool) and isinstance(self.enabled, bool)):
            raise InvalidValueError("what is said of a remote tool", self, "reads and enabled that are True or False")
        if not (approval is None or approval is True or (isinstance(approval, str) and approval == UNATTENDED_REMOTE)):
            raise InvalidValueError("the approval of a remote tool", approval, 'True, None or the literal "no"')
        if self.deadline is not None:
            _seconds("the deadline of a remote tool", self.deadline)


def _server_name(_: Any, __: Any, value: Any) -> None:
    # Without an underscore the name of a tool tells its server apart from every other one.
    if not (isinstance(value, str) and _SERVER_NAME.fullmatch(value)):
        raise InvalidValueError("the name of a server", value, "1 to 24 of [A-Za-z0-9-]")


def _seconds(subject: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not (math.isfinite(value) and value > 0):
        raise InvalidValueError(subject, value, "a finite number of seconds above 0")


def _settings(_: Any, __: Any, value: Any) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(tool, RemoteTool) for tool in value.values()):
        raise InvalidValueError("the tools of a server", type(value), "remote names with a RemoteTool each")


@attrs.frozen(kw_only=True)
class _Server:
    """
    What servers have in common.
    """

    name: str = attrs.field(validator=_server_name)
    tools: Mapping[str, RemoteTool] = attrs.field(factory=dict, validator=_settings)
    others: RemoteTool | None = attrs.field(factory=RemoteTool)
    data_class: str | None = None
    deadline: float = DEFAULT_DEADLINE
    message_limit: int = MESSAGE_LIMIT
    handshake: str = "auto"

    def __attrs_post_init__(self) -> None:
        _seconds("the deadline of a server", self.deadline)
        limit: Any = self.message_limit
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidValueError("the message limit of a server", limit, "bytes from 1")
        if self.handshake not in ("auto", "legacy"):
            raise InvalidValueError("the handshake of a server", self.handshake, "auto or legacy")
        if self.others is not None and self.others.called is not None:
            raise InvalidValueError("the name of all other tools", self.others.called, "None: tools differ by name")

    def setting(self, remote_name: str) -> RemoteTool | None:
        """What the operator says about *remote_name*; None: it is left out."""
        return self.tools.get(remote_name, self.others)


@attrs.frozen(kw_only=True)
class StdioServer(_Server):
    """
    A server that is started as a process and spoken to over its standard input and output.

    Args:
        name: 1 to 24 of ``[A-Za-z0-9-]``, part of the names of its tools.
        command: the program; never through a shell.
        arguments: its arguments.
        environment: added to a small safe part of this process's environment. Not shown.
        directory: where it is started.
        tools: what the operator says about single tools, by their remote names.
        others: what holds for tools that *tools* does not name; None leaves them out.
        data_class: the most delicate data its tools may bring back. Tools without one are offered nowhere (G2).
        deadline: seconds that one call may take, connecting included; so too the first listing.
        message_limit: bytes of one message; a longer one ends the connection.
        handshake: ``"auto"``, or ``"legacy"`` for servers that cannot bear to be asked for their version.

    Raises:
        InvalidValueError: one of these is not what it should be.
    """

    command: str
    arguments: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    environment: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    directory: str | None = None


def _address(_: Any, __: Any, value: Any) -> None:
    parts = urlsplit(value) if isinstance(value, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidValueError("the URL of a server", type(value).__name__, "an address that begins with http(s)://")


@attrs.frozen(kw_only=True)
class HttpServer(_Server):
    """
    A server behind a URL, spoken to over streamable HTTP. No redirect leaves its origin.

    Args:
        name: 1 to 24 of ``[A-Za-z0-9-]``, part of the names of its tools.
        url: the endpoint. Not shown: it may hold a secret.
        headers: sent with each request, for instance ``Authorization``. Not shown.
        tools: what the operator says about single tools, by their remote names.
        others: what holds for tools that *tools* does not name; None leaves them out.
        data_class: the most delicate data its tools may bring back. Tools without one are offered nowhere (G2).
        deadline: seconds that one call may take, connecting included; so too the first listing.
        message_limit: bytes of one answer; a longer one is given up.
        handshake: ``"auto"``, or ``"legacy"`` for servers that cannot bear to be asked for their version.

    Raises:
        InvalidValueError: one of these is not what it should be.
    """

    url: str = attrs.field(repr=False, validator=_address)
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)


McpServer = StdioServer | HttpServer
