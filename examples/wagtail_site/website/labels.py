"""
Marks on what an AI wrote: this site's answer to a question that the library leaves to its hosts.

The bus tells at once and in one process; the feed tells all that is stored, to whoever asks. Both may tell
something twice, and both bring the same three values, so those three are the key.
"""

from collections.abc import Iterable

from django.db import transaction

from examples.wagtail_site.django_chat.connections import cleaned_up
from examples.wagtail_site.website.models import AiMark, FeedPosition
from examples.wagtail_site.website.rights import TABLE
from nr_agent_core import AiRecordWritten, Runtime


@cleaned_up
def heard(event: AiRecordWritten) -> None:
    """Listener of the bus: mark the page."""
    if event.reference.table == TABLE:
        AiMark.objects.get_or_create(run=event.correlation_id, page=event.reference.uid, kind=event.kind.value)


def catch_up(runtime: Runtime) -> int:
    """
    Mark what the feed tells beyond the last position; how many writes were read.

    The position is stored in the transaction of the marks, so nothing is skipped or lost.
    """
    with transaction.atomic():
        kept, _ = FeedPosition.objects.select_for_update().get_or_create(pk=1)
        found = runtime.writes(after=kept.position)
        for stored in found:
            heard(stored.written)
            kept.position = stored.position
        kept.save()
    return len(found)


def marked(pages: Iterable[int]) -> frozenset[int]:
    """Those of *pages* that are marked."""
    return frozenset(AiMark.objects.filter(page__in=tuple(pages)).values_list("page", flat=True))
