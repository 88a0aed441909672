"""
Does a completed answer claim a change, and where (V2)?

Rules are data, one file a language; all enabled languages are tried at once and none is guessed.
``ClaimPolicy.SEED_RULE`` is the literal word-list rule (V3), ``ClaimPolicy.ASSERTED`` looks at how
a word is used (V4, V5). Nothing is compiled before the first text is looked at.
"""

from typing import TYPE_CHECKING, Any

from nr_agent_core.domain.claims.claim import Claim, ClaimPolicy
from nr_agent_core.domain.claims.claim_detector import ClaimDetector

if TYPE_CHECKING:
    from nr_agent_core.domain.claims.vocabulary import Vocabulary

__all__ = ["Claim", "ClaimDetector", "ClaimPolicy", "Vocabulary"]


def __getattr__(name: str) -> Any:
    # Only a host that has words of its own pays for them.
    if name == "Vocabulary":
        from nr_agent_core.domain.claims.vocabulary import Vocabulary

        return Vocabulary
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
