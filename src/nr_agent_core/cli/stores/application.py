"""
A host's own wiring, by name.
"""

import importlib
import sys
from typing import Any

from nr_agent_core.chat import Chat
from nr_agent_core.cli.stores.address import UnusableError
from nr_agent_core.domain.sanitiser import failure_text
from nr_agent_core.runtime import Runtime


def application(name: str) -> Chat | Runtime:
    """
    What ``module:attribute`` names: a ``Chat``, a ``Runtime``, or a function without arguments that returns one.

    The directory that the command was called in can be imported from.

    Raises:
        UnusableError: it is not there, fails, or is something else.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise UnusableError(f"{name!r} does not name an application: write module:attribute")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        if not isinstance(found, Chat | Runtime) and callable(found):
            found = found()
    except Exception as error:
        raise UnusableError(f"application {name!r} cannot be made: {failure_text(error)}") from error
    if not isinstance(found, Chat | Runtime):
        raise UnusableError(
            f"{name!r} is a {type(found).__name__}, not a Chat, a Runtime, or a function that returns one"
        )
    return found
