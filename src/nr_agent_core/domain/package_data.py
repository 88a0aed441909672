"""
The frozen data files that ship inside this package: word lists, catalogues, phrases.

They are code written as data: read once, like a module, and never changed. This is the one
place of the domain that touches a file, and it reads nothing but the package's own.
"""

import functools
from typing import Any


@functools.cache
def read_toml(package: str, name: str) -> dict[str, Any]:
    """
    The data file *name* that lies beside the modules of *package*.

    Args:
        package: dotted name of a package of this distribution.
        name: file name, ending in ``.toml``.

    Returns:
        The parsed table. It is shared by all callers: treat it as frozen.

    Raises:
        FileNotFoundError: there is no such file in the package.
    """
    # Imported here: a process that never judges a text or renders one reads no data either.
    import pkgutil
    import tomllib

    data = pkgutil.get_data(package, name)
    if data is None:
        raise FileNotFoundError(f"{package} holds no data file {name!r}")
    return tomllib.loads(data.decode("utf-8"))
