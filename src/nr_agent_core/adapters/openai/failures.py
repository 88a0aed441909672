"""
What servers that speak OpenAI's protocol say instead of an answer, and what it means (R10).
"""

from nr_agent_core.adapters.model_access.failure_table import BY_STATUS, TOO_LONG_WORDS, Sign
from nr_agent_core.domain.errors import FailureClass

FAILURES = (
    Sign(FailureClass.AUTHENTICATION, codes=("invalid_api_key", "authentication_error", "invalid_authentication")),
    Sign(FailureClass.CONFIGURATION, codes=("model_not_found", "deployment_not_found", "DeploymentNotFound")),
    Sign(FailureClass.CONFIGURATION, codes=("unsupported_country_region_territory", "permission_error")),
    Sign(FailureClass.QUOTA, codes=("insufficient_quota", "billing_not_active", "billing_hard_limit_reached")),
    Sign(FailureClass.CONTEXT_TOO_LONG, codes=("context_length_exceeded", "exceed_context_size_error")),
    Sign(FailureClass.CONTEXT_TOO_LONG, statuses=(400, 413, 422), words=TOO_LONG_WORDS),
    Sign(
        FailureClass.CONTENT_REFUSED,
        codes=("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "moderation_blocked"),
    ),
    Sign(FailureClass.RATE_LIMIT, codes=("rate_limit_exceeded", "rate_limit_error")),
    *BY_STATUS,
    # Behind the statuses: what remains was said inside a stream, or with a status of 200.
    Sign(FailureClass.CLIENT_ERROR, codes=("invalid_request_error",)),
)
"""Read from the top; what none of them fits is a failure of the server."""
