"""
Schemas of parameters, and what is wrong with a value.
"""

import re

from hypothesis import strategies as st


def shown(value: object) -> str:
    """A test's id that is the same in every process: without addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


TEXTS = st.text("ab\u00e4 .\U0001f600", max_size=6)
NAMES = st.sampled_from(["a", "b", "c", "d"])
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | TEXTS
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))


def of(**properties):
    """A schema of an object with these properties, all required and nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
