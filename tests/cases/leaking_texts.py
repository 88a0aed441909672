"""
What a failing part of a host says, with one word in every kind of place.
"""

from nr_agent_core import (
    ToolEffect,
)

# One word in every kind of place: whichever of them a text carries, this is what must not arrive.
WORD = "kolibrifarn"
TOLD = (
    f"POST https://{WORD}.internal:8443/v1?key={WORD} failed: Bearer {WORD}; host={WORD} user={WORD}; "
    f"postgresql://app:{WORD}@{WORD}/crm; /srv/{WORD}/app.py; [SQL: SELECT {WORD} FROM t WHERE a = '{WORD}']"
)
READ, WRITE = ToolEffect.READ_ONLY, ToolEffect.NON_IDEMPOTENT_WRITE
