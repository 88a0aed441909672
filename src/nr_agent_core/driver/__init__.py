"""
Drivers: they do what the steps of a segment ask for, one thing at a time.

The asynchronous one is in :mod:`nr_agent_core.driver.asynchronous`, which alone loads an event loop.
"""

from nr_agent_core.driver.late_outcomes import LateOutcomes
from nr_agent_core.driver.performer import Performer
from nr_agent_core.driver.segment_work import drive
from nr_agent_core.driver.synchronous import InPlace, driven
from nr_agent_core.driver.waits import Tell, Work

__all__ = ["InPlace", "LateOutcomes", "Performer", "Tell", "Work", "drive", "driven"]
