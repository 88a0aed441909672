"""
The command ``worker``: its arguments, its signals, its exit code.
"""

import argparse
import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import Final

from nr_agent_core.cli.command import ExitCode

_PREFIX: Final = "nr-agent-core worker:"
_DESCRIPTION: Final = """\
Drives queued runs until it is told to stop.

SIGTERM or SIGINT (Ctrl-C) stops it in order: a run in hand is queued again at
its next safe point, before the next question to the model or the next call,
and the process ends. A call or a question that was begun is waited for. A
second signal ends the process at once; its runs are recovered by others once
their lease is over.
"""
_EPILOG: Final = """\
exit codes:
  0  it was told to stop, and has
  2  the path leads to no chat or runtime with a queue, or the queue is not set up

examples:
  nr-agent-core worker site.chat:chat --threads 8
  nr-agent-core worker site.chat:make_chat --install
"""
_LATE: Final = 10.0
"""Seconds for tools that are at work behind their deadline."""


class WorkerCommand:
    """
    ``nr-agent-core worker MODULE:NAME``
    """

    name = "worker"
    summary = "drive queued runs until told to stop"
    description = _DESCRIPTION

    def declare(self, parser: argparse.ArgumentParser) -> None:
        """
        Adds the arguments of ``worker``.
        """
        parser.epilog = _EPILOG
        parser.add_argument(
            "path",
            metavar="MODULE:NAME",
            help="where the host's Chat or Runtime is, or a function that makes it",
        )
        parser.add_argument("--threads", type=int, default=4, metavar="N", help="runs driven at once (default: 4)")
        parser.add_argument("--name", default="worker", help="what threads and log lines are called")
        parser.add_argument(
            "--look-every",
            type=float,
            default=15.0,
            metavar="SECONDS",
            help="seconds between two looks for runs whose worker is gone (default: 15)",
        )
        parser.add_argument(
            "--install", action="store_true", help="make the engine's tables if they are missing, and leave"
        )
        parser.add_argument("--quiet", action="store_true", help="log warnings and errors only")

    def run(self, arguments: argparse.Namespace) -> int:
        """
        Works until a signal comes.
        """
        from nr_agent_core.cli.worker.wiring_path import WiringPathError, runtime_at
        from nr_agent_core.domain.errors import AgentCoreError

        logging.basicConfig(
            level=logging.WARNING if arguments.quiet else logging.INFO,
            format="%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s",
        )
        # The engine tells of every job; whoever wants that sets its logger up.
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        try:
            runtime = runtime_at(arguments.path)
            if arguments.install:
                return _install(runtime.wiring.queue)
            stop = threading.Event()
            _stop_on_signals(stop)
            runtime.work(threads=arguments.threads, name=arguments.name, stop=stop, look_every=arguments.look_every)
        except (WiringPathError, AgentCoreError) as error:
            print(_PREFIX, error, file=sys.stderr)
            return ExitCode.UNUSABLE
        left = runtime.close(wait=_LATE)
        if left:
            print(_PREFIX, f"{left} late outcomes are not stored; their calls stay unknown", file=sys.stderr)
        return ExitCode.DONE


def _install(queue: object) -> int:
    install = getattr(queue, "install", None)
    if install is None:
        print(
            _PREFIX,
            "there is no queue that needs tables" if queue is not None else "there is no queue",
            file=sys.stderr,
        )
        return ExitCode.DONE if queue is not None else ExitCode.UNUSABLE
    print("made the engine's tables" if install() else "the engine's tables are there already")
    return ExitCode.DONE


def _stop_on_signals(stop: threading.Event) -> None:
    def told(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            # Whoever asks twice does not wait for anything, not even for threads.
            os._exit(128 + number)
        stop.set()

    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), told)
