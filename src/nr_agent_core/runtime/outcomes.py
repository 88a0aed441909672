"""
What became of calls of unknown outcome, from their streams as they are now (R7).
"""

import attrs

from nr_agent_core.domain.errors import IllegalMoveError, RunUnreadableError, StoredFormError
from nr_agent_core.domain.model_notes import known_outcomes
from nr_agent_core.domain.notices import JsonValue, Notice
from nr_agent_core.domain.run import fold
from nr_agent_core.domain.verdict import records_json
from nr_agent_core.ports.unit_of_work import UnitOfWork


def as_known_now(notice: Notice, run_id: str, store: UnitOfWork) -> Notice:
    """
    *notice* (``writeOutcomeUnknown``) with what became known since, as ``known``; as it is where nothing did.

    Each entry of ``known`` has ``tool``, ``carriedOut`` (true, false, or null while unknown) and ``records``.
    """
    try:
        run = fold(run_id, (stored.event for stored in store.events(run_id)))
    except (RunUnreadableError, StoredFormError, IllegalMoveError):
        return notice
    outcomes = known_outcomes(run)
    if all(outcome.carried_out is None for outcome in outcomes):
        return notice
    known: list[JsonValue] = [
        {"tool": outcome.tool, "carriedOut": outcome.carried_out, "records": records_json(outcome.records)}
        for outcome in outcomes
    ]
    return attrs.evolve(notice, arguments={**notice.arguments, "known": known})
