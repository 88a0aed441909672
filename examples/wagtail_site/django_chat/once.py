"""
Calls that are carried out once: their key is stored in the transaction of what they do.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import DatabaseError, transaction

from examples.wagtail_site.django_chat.models import CarriedOut
from nr_agent_core import NothingWrittenError, Reconciliation, RecordReference


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """
    A transaction of a tool. What fails inside it wrote nothing, and says so; what fails at its end is unknown.

    It refuses to be part of another transaction: what a tool reports has to be there when it returns.
    """
    with transaction.atomic(durable=True):
        try:
            yield
        except (DatabaseError, PermissionDenied, ValidationError) as error:
            raise NothingWrittenError(f"nothing was written: {type(error).__name__}") from error


def record_of(key: str) -> str | None:
    """The record that the call with *key* wrote, ``pages:7``; None when it was not carried out."""
    return CarriedOut.objects.filter(key=key).exclude(record="").values_list("record", flat=True).first()


def note(key: str, record: RecordReference) -> None:
    """Store *key* with the *record* it wrote. Fails, and so takes all back, when the key is there already."""
    CarriedOut.objects.create(key=key, record=str(record))


def settled(key: str) -> str | Reconciliation:
    """
    What became of the call with *key*: its record; or it did not happen and, its key being taken, never will.
    """
    with transaction.atomic(durable=True):
        found, _ = CarriedOut.objects.get_or_create(key=key)
    return found.record or Reconciliation.NEVER_HAPPENED
