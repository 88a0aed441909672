"""
Types of arguments that the tests of declared tools share, and readings of them.
"""

from __future__ import annotations

import enum
import re

import attrs

from nr_agent_core.domain.tool_decorator import tool
from nr_agent_core.domain.tool_result import RecordReference, ToolEffect, ToolResult, WriteKind
from nr_agent_core.domain.tools import ToolContext


def shown(value: object) -> str:
    """A test's id that is the same in every process: without addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


CONTEXT = ToolContext("anna", "run-1", "1.0", "0" * 64, 120.0, "v7")


class Color(enum.Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    """A choice of numbers."""

    LOW = 1
    HIGH = 2


@attrs.frozen
class Author:
    """Who wrote it."""

    name: str
    _email: str | None = None


@attrs.frozen
class Page:
    """
    A page to make.

    Not for the model.
    """

    title: str
    color: Color = Color.RED
    authors: tuple[Author, ...] = attrs.field(factory=tuple)
    number: int = attrs.field(default=0, init=False)


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE, group="pages", data_class="editorContent", deadline=30)
def create_page(page: Page, context: ToolContext, level: Level = Level.LOW) -> ToolResult:
    """
    Create a page
    as a draft.

    Everything below the first paragraph is for developers.
    """
    reference = RecordReference("pages", 42)
    return ToolResult.text(f"{page.title} by {context.owner} at {level!r}").with_write_target(
        reference, WriteKind.CREATED
    )


class Node:
    """No attrs class."""


def declared():
    """A fresh writing tool."""

    @tool(effect="non_idempotent_write")
    def publish(page: Page, color: Color, count: int = 3) -> ToolResult:
        return ToolResult.text("published")

    return publish
