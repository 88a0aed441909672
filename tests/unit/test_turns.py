"""
Turns of conversations in a worker of the engine.
"""

import threading

from procrastinate.jobs import Job

from nr_agent_core.adapters.procrastinate.crew import Crew


def job(number: int, conversation: str) -> Job:
    """A job as the engine brings it."""
    return Job(
        id=number,
        status="doing",
        queue="q",
        lock=conversation,
        queueing_lock=None,
        task_name="t",
        task_kwargs={},
        worker_id=1,
    )


def test_of_one_conversation_no_two_runs_are_handled_at_once() -> None:
    """Also when the engine took the first job for one of a dead worker and brings the next; others do not wait."""
    begun, go_on, told = threading.Event(), threading.Event(), list[str]()

    def handle(run_id: str) -> None:
        told.append(f"{run_id} begins")
        if run_id == "first":
            begun.set()
            assert go_on.wait(10)
        told.append(f"{run_id} ends")

    crew = Crew("", "", handle, put=lambda *_: None, threads=3, name="w", stop=threading.Event(), stalled_after=1.0)
    first = threading.Thread(target=crew._attend, args=(job(1, "c1"), "first"))
    second = threading.Thread(target=crew._attend, args=(job(2, "c1"), "second"))
    first.start()
    assert begun.wait(10)
    second.start()
    crew._attend(job(3, "c2"), "other")
    go_on.set()
    first.join(10)
    second.join(10)

    assert told[:3] == ["first begins", "other begins", "other ends"]
    assert told[3:] == ["first ends", "second begins", "second ends"]
    assert crew._turns._locks == {}
