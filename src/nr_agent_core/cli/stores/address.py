"""
Which store a command is about: a SQLite file, a PostgreSQL database, or that of a host's application.
"""

import argparse
import re
from pathlib import Path
from typing import Final, NamedTuple

SQLITE: Final = "sqlite"
POSTGRES: Final = "postgres"

_URL: Final = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)
_WORD: Final = re.compile(r"\s*[a-z_]+\s*=")


class UnusableError(Exception):
    """
    A command cannot do its work. Its text is for whoever called it, on one line and without secrets.
    """


class StoreAddress(NamedTuple):
    """
    Where a store is. ``where`` may hold a password: it is never shown.
    """

    kind: str
    where: str
    schema: str


def declare_store(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """
    Adds the arguments that name a store.
    """
    parser.add_argument(
        "store",
        nargs="+" if required else "*",
        metavar="STORE",
        help="the path of a SQLite file, or a PostgreSQL connection string: a URL, or words such as host=db "
        "dbname=site. Keep passwords out of it: libpq reads ~/.pgpass and PGPASSWORD",
    )
    parser.add_argument(
        "--schema", default="nr_agent_core", metavar="NAME", help="the schema in a PostgreSQL database (nr_agent_core)"
    )


def address_of(words: list[str], schema: str) -> StoreAddress:
    """
    The store that *words* name.

    Raises:
        UnusableError: they name no store. They are not quoted: one of them may be a password.
    """
    if len(words) == 1 and Path(words[0]).exists():
        return StoreAddress(SQLITE, words[0], schema)
    if len(words) == 1 and _URL.match(words[0]):
        return StoreAddress(POSTGRES, words[0], schema)
    if all(_WORD.match(word) for word in words):
        return StoreAddress(POSTGRES, " ".join(words), schema)
    if len(words) == 1:
        raise UnusableError(f"there is no file {words[0]!r}")
    raise UnusableError("more than one store is named, or words of a connection string lack their '='")
