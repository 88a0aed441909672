"""
What stands around a sentence: the line that leads into its list, the head of its column, the sentence before it, and
whether the answer ends in asking for a go-ahead.

Looked up when a sentence is judged, and remembered per line and per answer.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from nr_agent_core.domain.claims import frames
from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.frames import Context, Outside
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.claims.outline import Outline
from nr_agent_core.domain.claims.segments import Line, Segments, Span
from nr_agent_core.domain.claims.tokens import TOKEN
from nr_agent_core.domain.claims.tone import describes, opens
from nr_agent_core.domain.claims.uses import BEING

_STEPS = 30
_TAIL = 400
_BACK = 5
_SAID = wc.PARTICIPLE | wc.NOW | wc.ALONE
_DRAFTS = 100
"""How many leads of proposed texts are looked at: behind more of them a claim stands."""
_OPENING = re.compile(r"\s*[^\n:.!?]{1,100}(?=:\s)")
"""What an answer begins with, up to a colon."""
_UNTICKED = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\[[ \t]?\]")
_LABELLED = 24
"""What is shorter behind a colon is the value of a label."""
_KNOWN = 100
"""How many sentences are remembered as classes."""
_BESIDE = 4
"""How many sentences before and behind are asked what kind of paragraph it is."""


class Surroundings:
    """
    The surroundings of the sentences of one text.

    Attributes:
        claimed: whether an earlier sentence claims.
    """

    __slots__ = (
        "_asks",
        "_drafts",
        "_heads",
        "_known",
        "_leads",
        "_lexicons",
        "_outlined",
        "_segments",
        "_themes",
        "claimed",
    )

    def __init__(self, segments: Segments, lexicons: tuple[Lexicon, ...]) -> None:
        self._segments, self._lexicons = segments, lexicons
        self.claimed = False
        self._outlined: Outline | None = None
        self._asks: bool | None = None
        self._drafts: list[tuple[int, int]] | None = None
        self._heads: dict[int, list[Span]] = {}
        self._known: dict[tuple[int, str], list[int]] = {}
        self._leads: dict[tuple[int, str], int] = {}
        self._themes: dict[str, int] = {}

    def of(self, span: Span, lexicon: Lexicon) -> Context:
        """
        What stands around *span*, in the words of *lexicon*; the dear parts when they are asked for.
        """
        line = span.line
        return Context(
            span.question,
            line.listed,
            lambda: self._lone(line),
            self._heading(line),
            lambda bare: self._block(span, lexicon, bare=bare),
            lambda form, past, chained: self._describing(lexicon, form=form, past=past, chained=chained),
        )

    def drafted(self, position: int) -> bool:
        """
        Whether *position* stands in a text that the answer only proposes, behind "draft for the mail:", or in an item
        of a list of tasks that is not ticked.
        """
        text = self._segments.text
        if _UNTICKED.match(text, text.rfind("\n", 0, position) + 1):
            return True
        if self._drafts is None:
            self._drafts = list(self._proposed())
        at = bisect_right(self._drafts, (position, position)) - 1
        return at >= 0 and position < self._drafts[at][1]

    def _proposed(self) -> Iterator[tuple[int, int]]:
        """
        Where texts stand that a line announces as drafts.
        """
        text = self._segments.text
        words = {word for lexicon in self._lexicons for word in lexicon.drafts}
        if not words or not any(word in text for word in words):
            return
        lead = re.compile(f"(?<!\\w)(?:{'|'.join(map(re.escape, sorted(words)))})(?!\\w)[^\n.!?:]{{0,60}}:[ *_]*")
        for match in islice(lead.finditer(text), _DRAFTS):
            line = text.rfind("\n", 0, match.start()) + 1
            tokens = TOKEN.findall(text, max(line, match.start() - _TAIL), match.end())
            if any(bits & _SAID for lexicon in self._lexicons for bits in lexicon.classify(tokens)):
                continue
            end = text.find("\n", match.end())
            end = len(text) if end < 0 else end
            if end - match.end() < _LABELLED and not text[match.end() : end].strip():
                end = len(text)
            if end - match.end() >= _LABELLED:
                yield match.end(), end
            if end == len(text):
                break

    def _describing(self, lexicon: Lexicon, *, form: bool, past: bool, chained: int) -> bool:
        """
        Whether the sentences beside the one at hand in its paragraph describe; with a *form*, what follows them does.
        """
        before, behind = ([self._classified(at, lexicon) for at in spans] for spans in self._segments.beside(_BESIDE))
        later = form and not self.claimed and len(before) + len(behind) > 1 and not opens(before)
        return describes(before + behind, later=later, past=past, chained=chained)

    def _classified(self, span: Span, lexicon: Lexicon) -> list[int]:
        """
        Classes of the words of *span*; the sentences beside one stand beside the next as well.
        """
        key = span.start, lexicon.code
        if (flags := self._known.get(key)) is None:
            if len(self._known) > _KNOWN:
                self._known.clear()
            tokens = lexicon.cut(self._segments.text, span.start, min(span.end, span.start + _TAIL))
            self._known[key] = flags = lexicon.classify(tokens)
        return flags

    def _lone(self, line: Line) -> bool:
        """
        Whether *line* is a paragraph of its own and no item.
        """
        text = self._segments.text
        above = text[text.rfind("\n", 0, max(line.start - 1, 0)) + 1 : line.start]
        end = text.find("\n", line.end + 1)
        below = text[line.end : len(text) if end < 0 else end]
        return not (line.listed or above.strip() or below.strip())

    def _block(self, span: Span, lexicon: Lexicon, *, bare: bool) -> Outside:
        cell = span.cell >= 0
        listed = span.line.listed or cell
        return Outside(
            lead=self._lead(span.line, lexicon)
            if listed and not self._heading(span.line)
            else self._line_lead(span, lexicon),
            earlier=self._earlier(lexicon) if bare and not cell else 0,
            header=self._header(span, lexicon) if cell else 0,
            asks=bare and self._asking(),
            outline=self._outline(span.line, lexicon),
        )

    def _outline(self, line: Line, lexicon: Lexicon) -> int:
        """
        Up to which strength the headings above *line* block: under "Options" or "Current status" nothing is claimed.
        """
        if self._outlined is None:
            self._outlined = Outline(self._segments.text)
        block = self._theme(lexicon)
        for heading in self._outlined.above(line.start):
            union = self._last_sentence(heading, lexicon)
            if union & wc.PARTICIPLE:
                break
            block = max(block, min(frames.lead_block(union), BEING))
        return block

    def _theme(self, lexicon: Lexicon) -> int:
        """
        Up to which strength the answer as a whole is blocked: it begins as somebody's history or as a preview, or it
        says that nothing was written.
        """
        if lexicon.code not in self._themes:
            text = self._segments.text
            opening = _OPENING.match(text)
            head = self._classes(lexicon, 0, opening.end()) if opening and opening[0].count(" ") > 1 else 0
            block = frames.lead_block(head & (wc.HISTORY | wc.PARTICIPLE))
            for phrase in lexicon.unwritten:
                if phrase in text:
                    block = max(block, BEING)
            self._themes[lexicon.code] = block
        return self._themes[lexicon.code]

    def _classes(self, lexicon: Lexicon, start: int, end: int) -> int:
        union = 0
        for bits in lexicon.classify(lexicon.cut(self._segments.text, start, end)):
            union |= bits
        return union

    def _union(self, span: Span, lexicon: Lexicon) -> int:
        flags = lexicon.classify(lexicon.cut(self._segments.text, span.start, min(span.end, span.start + _TAIL)))
        union = 0
        for bits in flags[1:]:
            union |= bits
        union &= ~wc.INSTRUCTION
        if len(flags) > 1 and flags[1] & wc.QUOTED:
            flags[0] &= ~wc.INSTRUCTION
        return lexicon.told(union | (flags[0] if flags else 0)) | (wc.QUESTION if span.question else 0)

    def _earlier(self, lexicon: Lexicon) -> int:
        """
        Classes of the last sentence before in the line that has a verb.
        """
        for back in range(1, _BACK):
            span = self._segments.before(back)
            if span is None:
                return 0
            union = self._union(span, lexicon)
            if union & wc.VERB:
                return union
        return 0

    def _line_lead(self, span: Span, lexicon: Lexicon) -> int:
        """
        Classes of the line above if it ends in a colon and this one is no list item.
        """
        above = self._segments.line_above(span.line)
        if above is None or not self._segments.text[above.start : above.end].rstrip().endswith(":"):
            return 0
        return self._last_sentence(above, lexicon)

    def _last_sentence(self, line: Line, lexicon: Lexicon) -> int:
        """
        Classes of what *line* ends with: "What was changed:" asks nothing.
        """
        span = self._segments.sentences(line)[-1]
        union = self._union(span, lexicon)
        return union & ~wc.QUESTION if union & wc.PARTICIPLE and not span.question else union

    def _lead(self, line: Line, lexicon: Lexicon) -> int:
        """
        Classes of the nearest line above that belongs to no list: the lead of the list.
        """
        key = (line.start, lexicon.code)
        if key in self._leads:
            return self._leads[key]
        walked = [line.start]
        above = self._segments.line_above(line)
        union = 0
        while above is not None and len(walked) < _STEPS:
            known = self._leads.get((above.start, lexicon.code))
            if known is not None:
                union = known
                break
            if self._heading(above) or not (above.listed or self._segments.text.startswith("|", above.start)):
                union = self._last_sentence(above, lexicon)
                break
            walked.append(above.start)
            above = self._segments.line_above(above)
        for start in walked:
            self._leads[start, lexicon.code] = union
        return union

    def _heading(self, line: Line) -> bool:
        return line.listed and self._segments.text.startswith("#", line.start)

    def _header(self, span: Span, lexicon: Lexicon) -> int:
        """
        Classes of the head of the column that *span* stands in; the head itself, and a cell with a date, name states.
        """
        row = span.line
        if self._union(span, lexicon) & wc.DATE or self._segments.heads(row):
            return wc.STATUS
        heads = self._heads.get(row.start)
        if heads is None:
            heads = self._heads_above(row)
        return self._union(heads[span.cell], lexicon) if span.cell < len(heads) else 0

    def _heads_above(self, row: Line) -> list[Span]:
        """
        The cells of the head of the table that *row* stands in; none for the head itself.
        """
        walked: list[int] = []
        heads: list[Span] = []
        top = row
        while not heads and len(walked) < _STEPS:
            walked.append(top.start)
            above = self._segments.line_above(top)
            apart = above is not None and self._segments.text.count("\n", above.end, top.start) > 1
            if above is None or apart or not self._segments.text.startswith("|", above.body):
                heads = self._segments.sentences(top) if top is not row else []
                break
            top = above
            heads = self._heads.get(top.start, [])
        for start in walked:
            self._heads[start] = heads
        return heads

    def _asking(self) -> bool:
        """
        Whether the end of the answer asks for a go-ahead.
        """
        if self._asks is None:
            tail = TOKEN.findall(self._segments.text[-_TAIL:])[-60:]
            self._asks = any(lexicon.asks(tail) for lexicon in self._lexicons)
        return self._asks
