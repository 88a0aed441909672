"""
The host's wiring, named by where it is found: ``package.module:name``.
"""

import importlib
import sys
from pathlib import Path

from nr_agent_core.chat import Chat
from nr_agent_core.runtime import Runtime


class WiringPathError(Exception):
    """
    The path leads to no chat and no runtime. Its text says what was found instead.
    """


def runtime_at(path: str) -> Runtime:
    """
    The runtime at *path*: of a chat, a runtime, or a function without arguments that makes one of them.

    Modules are looked for in the working directory first, as ``python -m`` does.

    Raises:
        WiringPathError: the path leads elsewhere. What the host's module raises itself rises.
    """
    module_name, colon, names = path.partition(":")
    if not (module_name and colon and names):
        raise WiringPathError(f"{path!r} is no path such as package.module:chat")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module_name}.".startswith(f"{missing.name}."):
            raise  # the module is there, and misses another one
        raise WiringPathError(f"there is no module {missing.name!r}") from missing
    for name in names.split("."):
        if not hasattr(found, name):
            raise WiringPathError(f"{module_name!r} has no {names!r}")
        found = getattr(found, name)
    if not isinstance(found, Chat | Runtime) and callable(found) and not isinstance(found, type):
        found = found()
    if isinstance(found, Chat):
        return found.runtime
    if isinstance(found, Runtime):
        return found
    raise WiringPathError(f"{path!r} is a {type(found).__name__}, not a Chat or a Runtime")
