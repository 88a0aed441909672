"""
The tools of a chaos, and the model that calls them.

How a call goes is in its arguments, and those follow from the dialogue alone: so the seed decides it, in whatever
process it is carried out.
"""

# ruff: noqa: S311 - dice, no secrets

import random
import time
from collections.abc import Mapping
from typing import Any

from nr_agent_core import (
    Configuration,
    FailureClass,
    ModelAnswer,
    ModelRequest,
    NothingWrittenError,
    ProviderError,
    Reconciliation,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of
from tests.chaos.life import Life
from tests.chaos.plan import DEADLINE

READ, REPEAT, HARMFUL = ToolEffect.READ_ONLY, ToolEffect.IDEMPOTENT_WRITE, ToolEffect.NON_IDEMPOTENT_WRITE
WAYS = (
    *("plain",) * 5, "slow", "two", "nothing", "error", "unchanged", "lost before", "lost after", "middle",
    "late", "late after", "late nothing", "garbage",
)  # fmt: skip
"""How a writing call goes: well, or it fails before, in the middle of or after its write, or outlives its deadline."""
READING_WAYS = ("plain", "plain", "plain", "slow", "late", "lost before", "writes")
UNATTENDED = frozenset({"post", "put"})
CLAIM = "All done: I created and saved the page."
_PARAMETERS = {
    "type": "object",
    "properties": {"way": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["way", "number"],
}


class Toolbox:
    """
    What the tools of one life do to the host's database.
    """

    def __init__(self, life: Life) -> None:
        self._life, self._host = life, life.host

    def tools(self) -> list[Tool]:
        """All of them: some wait for an approval, some run unattended, one can be asked what became of a call."""
        return [
            self._tool("look", READ),
            self._tool("put", REPEAT),
            self._tool("set", REPEAT),
            self._tool("post", HARMFUL),
            self._tool("pay", HARMFUL),
            self._tool("mail", HARMFUL),
            self._tool("push", HARMFUL, reconcile=self._reconcile),
        ]

    def _tool(self, name: str, effect: ToolEffect, **options: Any) -> Tool:
        def execute(arguments: Mapping[str, Any], context: ToolContext) -> object:
            return self._life.doing("tool", lambda: self._execute(name, effect, str(arguments["way"]), context))

        return Tool(
            name=name,
            description=name,
            parameters=_PARAMETERS,
            effect=effect,
            execute=execute,
            deadline=DEADLINE,
            **options,
        )

    def _execute(self, name: str, effect: ToolEffect, way: str, context: ToolContext) -> object:
        attempt, times = self._host.entered(name, effect, context)
        # A repeat does all of what the first try was to do, and names all of it.
        count = 2 if way in ("two", "middle") else 1
        if times > 1:
            # Only what may be repeated comes again; how that goes follows from its key and number.
            way = random.Random(f"{context.key}/{times}").choice(("plain", "plain", "unchanged", "error", "nothing"))
        if way in ("slow", "late", "late nothing"):
            time.sleep(0.05 if way == "slow" else 1.5 * DEADLINE)
        if way in ("nothing", "late nothing"):
            raise NothingWrittenError("there was nothing to do")
        if way == "lost before":
            raise ConnectionError("the other side is gone")
        if way in ("unchanged", "error"):
            return (
                ToolResult.unchanged("As it was.") if way == "unchanged" else ToolResult.error("That is not possible.")
            )
        if way == "middle":
            count = 1
        if effect is READ and way != "writes":
            return "Read."
        records = self._life.doing("effect", lambda: self._write(name, effect, count, attempt, context))
        if way == "late after":
            time.sleep(1.5 * DEADLINE)
        if way in ("middle", "lost after"):
            raise ConnectionError("the other side is gone")
        return 42 if way == "garbage" else saved(records)

    def _write(self, name: str, effect: ToolEffect, count: int, attempt: int, context: ToolContext) -> list[str]:
        """What is written: *count* things in one transaction."""
        records = list[str]()
        with self._host.transaction() as db:
            if name == "push" and self._host.word_on(db, context.key, "done") == "refused":
                raise NothingWrittenError("this key is refused")
            for place in range(count):
                number = self._host.write(db, attempt, None)
                if name == "mail":
                    continue
                again = effect is REPEAT
                record = f"slots:{int(context.key[:12], 16) + 1 + place}" if again else f"pages:{number}"
                self._host.name(db, number, record)
                records.append(record)
        return records

    def _reconcile(self, key: str, context: ToolContext) -> object:
        return self._life.doing("reconcile", lambda: self._answer(key))

    def _answer(self, key: str) -> object:
        """It happened, or it never will; now and then nobody can tell."""
        if int(key[:2], 16) < 40:
            return Reconciliation.CANNOT_TELL
        with self._host.transaction() as db:
            if self._host.word_on(db, key, "refused") == "refused":
                return Reconciliation.NEVER_HAPPENED
        return saved([row.record for row in self._host.written(key) if row.record is not None])


def saved(records: list[str]) -> ToolResult:
    """A success that names what it wrote."""
    result = ToolResult.text("Saved.")
    for record in records:
        table, _, number = record.partition(":")
        result = result.with_write_target((table, int(number)), WriteKind.CREATED)
    return result


def answer(request: ModelRequest) -> ModelAnswer | str | Exception:
    """
    What the model says: it follows from the newest message of the user and from what was said since.
    """
    asked = max(number for number, message in enumerate(request.messages) if message.role == "user")
    rounds = sum(message.role == "assistant" for message in request.messages[asked:])
    dice = random.Random(f"{request.messages[asked].text}/{rounds}")
    chance = dice.random()
    if chance < 0.05:
        return ProviderError("the model is away", FailureClass.CONNECTION)
    if chance < 0.08:
        return ""
    if request.tools and chance < (0.9 if rounds == 0 else 0.35):
        names = dice.choices(("pay", "post", "put", "put", "set", "push", "mail", "look"), k=dice.choice((1, 1, 2, 3)))
        return round_of(*(_call(name, dice) for name in names))
    return CLAIM if chance < 0.97 else "Shall I do it?"


def _call(name: str, dice: random.Random) -> ModelAnswer:
    way = dice.choice(READING_WAYS if name == "look" else WAYS)
    return call(name, way=way, number=dice.randrange(10**6))


class Configurations:
    """
    What is in force: half of the conversations let their cards expire.
    """

    def resolve(self, conversation: str | None, owner: str) -> Configuration:
        """By the conversation's name."""
        expires = conversation is not None and conversation[-1] in "02468"
        return Configuration(
            model=ScriptedModel(otherwise=answer), unattended=UNATTENDED, approval_expiry=400.0 if expires else None
        )
