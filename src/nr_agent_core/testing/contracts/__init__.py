"""
Contract suites: what every implementation of a port must keep, as test classes to inherit from.

An adapter's tests inherit a suite and override its fixture::

    class TestMyStore(UnitOfWorkContract):
        @pytest.fixture
        def store(self, clock):
            with closing(MyStore(clock=clock)) as store:
                yield store
"""

from nr_agent_core.testing.contracts.conversation_store import ConversationStoreContract
from nr_agent_core.testing.contracts.event_bus import EventBusContract
from nr_agent_core.testing.contracts.model_provider import AsyncModelProviderContract, ModelProviderContract
from nr_agent_core.testing.contracts.run_queue import RunQueueContract
from nr_agent_core.testing.contracts.run_store import RunStoreContract
from nr_agent_core.testing.contracts.unit_of_work import UnitOfWorkContract

__all__ = [
    "AsyncModelProviderContract",
    "ConversationStoreContract",
    "EventBusContract",
    "ModelProviderContract",
    "RunQueueContract",
    "RunStoreContract",
    "UnitOfWorkContract",
]
