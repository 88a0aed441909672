"""
What servers that speak Anthropic's protocol say instead of an answer, and what it means (R10).
"""

from nr_agent_core.adapters.model_access.failure_table import BY_STATUS, TOO_LONG_WORDS, Sign
from nr_agent_core.domain.errors import FailureClass

FAILURES = (
    Sign(FailureClass.AUTHENTICATION, codes=("authentication_error",)),
    Sign(FailureClass.CONFIGURATION, codes=("permission_error", "not_found_error")),
    Sign(FailureClass.QUOTA, codes=("billing_error",)),
    Sign(FailureClass.QUOTA, statuses=(400, 403), words="credit balance is too low|usage limits?"),
    Sign(FailureClass.CONTEXT_TOO_LONG, codes=("request_too_large",)),
    Sign(FailureClass.CONTEXT_TOO_LONG, statuses=(400, 413, 422), words=TOO_LONG_WORDS),
    Sign(FailureClass.CONTENT_REFUSED, statuses=(400,), words="content filtering policy"),
    Sign(FailureClass.RATE_LIMIT, codes=("rate_limit_error",)),
    # An error event in a stream comes under a status of 200; its type says what it is.
    Sign(FailureClass.SERVER_ERROR, codes=("overloaded_error", "api_error")),
    Sign(FailureClass.CONNECTION, codes=("timeout_error",)),
    *BY_STATUS,
    Sign(FailureClass.CLIENT_ERROR, codes=("invalid_request_error",)),
)
"""Read from the top; what none of them fits is a failure of the server."""
