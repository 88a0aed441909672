"""
The guarantee under chaos, in its short form: less than half a minute over each store. `make chaos` runs longer.
"""

from pathlib import Path

import pytest

from tests.chaos.chaos import played
from tests.chaos.plan import OUTAGES, Plan
from tests.postgres_server import Server

SECONDS = 20.0


@pytest.mark.chaos
@pytest.mark.process
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_chaos_breaks_no_promise(tmp_path: Path, store: str, request: pytest.FixtureRequest) -> None:
    """(P4, P5, P7, R3, R7, W3, W4, O1) Whatever dies, stops, leaps or is away: what is left fits together."""
    server: Server | None = request.getfixturevalue("postgres") if store == "postgres" else None

    result = played(tmp_path, Plan(seed=1, store=store, seconds=SECONDS, workers=4), server)

    assert not result.violations, result.report
    # It would prove nothing without deaths, outages, leaps, overtaken calls and writes.
    outages = [f"outages: {kind}" for kind in OUTAGES[store]]
    wanted = (
        "kills",
        "kills by itself",
        "stops",
        "clock jumps",
        "recoveries",
        "writes",
        "unknown outcomes",
        "decisions",
        "decisions handed over",
        "turns queued",
        "begun by workers",
        "queued again",
    )
    wanted += ("jobs lost", "jobs freed", "in the host's transaction", "rolled back there") * (store == "postgres")
    assert min(result.figures[name] for name in (*wanted, *outages)) > 0, result.report


def test_a_seed_decides_the_plan() -> None:
    """The same seed makes the same attempts; another one makes others."""
    one, same, other = (Plan(seed=seed, store="sqlite", seconds=60.0, workers=4) for seed in (1, 1, 2))

    def told(plan: Plan) -> list[object]:
        fates = [plan.fate(place, life) for place in range(5) for life in range(5)]
        acts = plan.dice("acts", "0.0", 1)
        return [plan.faults(), fates, [plan.conversation(acts, at / 10) for at in range(100)]]

    assert told(one) == told(same)
    assert told(one) != told(other)


def test_a_plan_has_every_fault_in_time() -> None:
    """Faults lie within the time of acting, in order, and of every kind that its store knows."""
    for store, outages in OUTAGES.items():
        faults = Plan(seed=3, store=store, seconds=60.0, workers=4).faults()

        assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)
        assert all(0 <= fault.at < 60 for fault in faults)
        assert {fault.kind for fault in faults} == {"kill", "stop", "jump", *outages}
        assert min(fault.amount for fault in faults) < 0 < max(fault.amount for fault in faults)
