"""
Does a completed answer claim a change, and where (V2)?

Rules are data, one file a language; all enabled languages are tried at once and none is guessed.
``ClaimPolicy.SEED_RULE`` is the literal word-list rule (V3), ``ClaimPolicy.ASSERTED`` looks at how
a word is used (V4, V5). Nothing is compiled before the first text is looked at.
"""

from nr_agent_core.domain.claims.claim import Claim, ClaimPolicy
from nr_agent_core.domain.claims.claim_detector import ClaimDetector
from nr_agent_core.domain.claims.vocabulary import Vocabulary

__all__ = ["Claim", "ClaimDetector", "ClaimPolicy", "Vocabulary"]
