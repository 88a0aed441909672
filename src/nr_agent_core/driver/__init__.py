"""
The synchronous driver: it performs what the steps of a segment ask for, one thing at a time.
"""

from nr_agent_core.driver.late_outcomes import LateOutcomes
from nr_agent_core.driver.performer import Performer
from nr_agent_core.driver.synchronous import drive

__all__ = ["LateOutcomes", "Performer", "drive"]
