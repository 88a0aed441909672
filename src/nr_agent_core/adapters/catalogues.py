"""
What a host adds to the texts for readers: catalogues as mappings and in files, and dates for its pages (V10).
"""

from collections.abc import Mapping
from pathlib import Path

from nr_agent_core.domain.errors import CatalogueError
from nr_agent_core.domain.texts.catalogues import Catalogues, base_of, unreviewed_languages
from nr_agent_core.domain.texts.moments import moment

__all__ = ["CatalogueFiles", "Catalogues", "moment", "unreviewed_languages"]


class CatalogueFiles(Catalogues):
    """
    A translator that reads catalogues from TOML files, once, when it is made.

    Args:
        paths: files that are called like their language, such as ``texts/sv.toml`` or ``texts/pt-PT.toml``;
            of a folder, all of these.
        partial: keys of languages that do not ship may be left out; readers get those texts in English.

    Raises:
        CatalogueError: a file cannot be read, is no TOML or has no language for a name, there is none, or its
            texts are refused as :class:`~nr_agent_core.domain.texts.Catalogues` refuses them. File and key are
            named; nothing of any file is used.
    """

    def __init__(self, *paths: str | Path, partial: bool = False) -> None:
        files: dict[str, Path] = {}
        for path in (found for given in paths for found in _files(Path(given))):
            tag = base_of(path.stem)[0]
            if not tag.replace("-", "").isalnum() or not tag.isascii():
                raise CatalogueError(tag, "", "is not called like a language, such as sv.toml", path=str(path))
            if tag in files:
                raise CatalogueError(tag, "", f"is of the same language as {str(files[tag])!r}", path=str(path))
            files[tag] = path
        extra = {tag: _read(tag, path) for tag, path in files.items()}
        try:
            super().__init__(extra=extra, partial=partial)
        except CatalogueError as error:
            path = files[error.language]
            raise CatalogueError(error.language, error.key, error.why, path=str(path)) from None


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.glob("*.toml"))
    if not found:
        raise CatalogueError("", "", "is a folder without files such as sv.toml", path=str(path))
    return found


def _read(tag: str, path: Path) -> Mapping[str, object]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CatalogueError(tag, "", f"cannot be read: {error.strerror or error}", path=str(path)) from error
    except (ValueError, RecursionError) as error:  # no UTF-8, or no TOML
        raise CatalogueError(tag, "", f"is damaged: {error}", path=str(path)) from error
