"""
Types that a tool's author relies on. Checked by mypy and pyright, never run.
"""

from typing import assert_type

from nr_agent_core.domain.tool_result import RecordReference, ToolEffect, ToolResult, WriteKind

saved = ToolResult.text("Draft saved.")
assert_type(saved, ToolResult)

# A target enters with its kind, as values or as their literals.
assert_type(saved.with_write_target(RecordReference("pages", 42), WriteKind.CREATED), ToolResult)
assert_type(saved.with_write_target(("pages", 42), "updated"), ToolResult)
assert_type(saved.with_write_target(("pages", "a1b2"), "deleted"), ToolResult)

# A target without a kind cannot be expressed.
saved.with_write_target(RecordReference("pages", 42))  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

assert_type(ToolEffect.READ_ONLY.writes, bool)
assert_type(RecordReference("pages", 42).uid, int | str)

# Values are frozen.
saved.content = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
