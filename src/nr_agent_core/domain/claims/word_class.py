"""
What a word can be to the rules: one bit a class, so that a sentence is judged by masks.

The data file of a language lists words and phrases under the lower-case names of these classes. The
engine knows classes only; which words they hold is data.
"""

from typing import Final

# forms that can claim
PARTICIPLE: Final = 1 << 0  # of a verb that writes
WORLD: Final = 1 << 1  # ... of what happens in the world: claims in the first person only
STATIVE: Final = 1 << 2  # ... that names a state after "is"
READS: Final = 1 << 3  # ... that claims nothing when its object is something looked at
ALONE: Final = 1 << 4  # done: claims with nothing beside it
PAST: Final = 1 << 5  # past tense that is no participle: claims after "I"
BASE: Final = 1 << 6  # infinitive: claims after an emphatic "did"
DOING: Final = 1 << 7  # announces and does in one: "turning off ..."
GONE: Final = 1 << 8  # strong state: live, gone, in place
SWITCHED: Final = 1 << 9  # weak state: on, off, visible; claims beside a word of NOW
STATE_VERB: Final = 1 << 10  # shows, lies, runs: claims beside a word of NOW
SPLIT: Final = 1 << 11  # first person present of a verb with a separable particle

# verbs around them
SELF: Final = 1 << 12
HAVE: Final = 1 << 13
SELF_HAVE: Final = 1 << 14  # first person by its form alone
HAD: Final = 1 << 15
BE: Final = 1 << 16
WAS: Final = 1 << 17
BEEN: Final = 1 << 18
PASSIVE: Final = 1 << 19  # past passive by its form alone
MODAL: Final = 1 << 20  # modal, future, infinitive mark: what follows has not happened
DID: Final = 1 << 21
FINITE: Final = 1 << 22  # any other finite verb
PROGRESS: Final = 1 << 23  # being done right now

# what governs a clause
NEG: Final = 1 << 24
CONDITION: Final = 1 << 25
SUBORDINATE: Final = 1 << 26
MATRIX: Final = 1 << 27  # takes a clause as its object: true, sure, think
CONJUNCTION: Final = 1 << 28
CONTRAST: Final = 1 << 29
ADVERB: Final = 1 << 30
NOW: Final = 1 << 31
STANDING: Final = 1 << 32  # already, currently, since: a state, not a change
DATED: Final = 1 << 33  # yesterday, last week
DATE: Final = 1 << 34  # a weekday, a month
REPORT: Final = 1 << 35
DOUBT: Final = 1 << 36
OTHER: Final = 1 << 37  # somebody else
BY: Final = 1 << 38
BY_SELF: Final = 1 << 39
PLAN: Final = 1 << 40
INSTRUCTION: Final = 1 << 41
QUESTION: Final = 1 << 42
GO_AHEAD: Final = 1 << 43
GENERIC: Final = 1 << 44  # always, usually, automatically

# small words
DETERMINER: Final = 1 << 45
PREPOSITION: Final = 1 << 46
QUANTITY: Final = 1 << 47  # a number or a word for one
LOOKED_AT: Final = 1 << 48  # objects of READS
FUNCTION: Final = 1 << 49  # shows that a sentence is in this language
FILLER: Final = 1 << 50  # may stand beside ALONE: "all done here, thanks"
PARTICLE: Final = 1 << 51  # closes a SPLIT verb
STATUS: Final = 1 << 52  # column or label whose values are states
BEFORE: Final = 1 << 53  # "was" of "25 (was 10)"
PRONOUN: Final = 1 << 54
CORRELATE: Final = 1 << 55  # second half of "neither ... nor" where it is no negator alone

LABEL: Final = 1 << 65  # claims as the label of a line: "NEW: ..."
SINCE: Final = 1 << 66  # before a date: since then
ON_DATE: Final = 1 << 67  # before a date: on that day
THEN: Final = 1 << 68  # the step after: no change of this turn
NO_LONGER: Final = 1 << 69  # a state that ended
PASS_ON: Final = 1 << 70  # begins a clause that is the object of another: that, whether
BY_NO_ONE: Final = 1 << 71  # after BY: not an actor (by mistake, by 5 %)
PLEASE: Final = 1 << 72
INFINITIVE: Final = 1 << 75  # mark of an infinitive: to
PERSON: Final = 1 << 77  # a subject that is never the thing changed: you, someone
EITHER: Final = 1 << 78  # noun or finite verb: stay, list
SEQUENCE: Final = 1 << 79  # a step of several, where it begins the clause: first, second
AS: Final = 1 << 80  # makes a form behind it the name of a state: "marked as archived"
MANAGED: Final = 1 << 81  # with the speaker and a BASE: "could restore it" in the past
AGAIN: Final = 1 << 83  # back to a state: "is back on"
BOUND: Final = 1 << 84  # for whom or until when a state holds: "is off for the team"
CASE: Final = 1 << 85  # a record that is closed when its work is done
SHUT: Final = 1 << 86  # closes a CASE: "the ticket is shut"
TRAIT: Final = 1 << 87  # how a record is: falls due, in total, of them
ANSWERS: Final = 1 << 88  # takes up a request: as agreed, gladly, instead
DRAFT: Final = 1 << 89  # a text that is only proposed
OUTWARD: Final = 1 << 90  # closes a clause behind "is": out, in
EFFECTIVE: Final = 1 << 91  # a NOW from which something holds, wherever its verb stands: as of today
CONSEQUENCE: Final = 1 << 92  # says that something is so because of what was said before: therefore
NO_CHANGE: Final = 1 << 93  # says that nothing had to be changed: no edit needed
SOUND: Final = 1 << 94  # what a check finds: green, healthy
MOVES: Final = 1 << 95  # what a thing does when it is changed: "the page has moved"
FIXED: Final = 1 << 82  # a subject that an answer never changes: the tools of the chat
FINAL: Final = 1 << 76  # closes a short clause as a claim: "the page stands"
GETS: Final = 1 << 73  # present passive by its form alone: gets
FIND: Final = 1 << 74  # you will find it under ...
TOLD: Final = 1 << 100  # first person past by its form alone: claims with nothing beside it
IMPERSONAL: Final = 1 << 101  # past passive by its form alone
THIRD: Final = 1 << 102  # somebody else's past: claims behind REFLEXIVE only, which makes it a passive
REFLEXIVE: Final = 1 << 103
RESULT: Final = 1 << 104  # ending of a form, where words are not parted: makes the verb before it a deed done
LINK: Final = 1 << 105  # behind a form, where words are not parted: makes it an attribute
ABLE: Final = 1 << 106  # can: what somebody can do "now" or "again" is a state from now on
RESUMED: Final = 1 << 107  # again: a state that came back
NO_MORE: Final = 1 << 108  # behind a negator: a state that ended
ASKED: Final = 1 << 109  # says that something is so because it was asked for: as requested
FUTURE: Final = 1 << 110  # will: with a word of NO_LONGER, what it says holds from now on
STAYS: Final = 1 << 111  # stays, still as before: said of what was left alone, so something else was not
HISTORY: Final = 1 << 112  # heads what happened without the answer: timeline, handover, recap
UNWRITTEN: Final = 1 << 113  # says that nothing was written: nothing has been saved
PLACE: Final = 1 << 114  # where work lands: inbox, queue, calendar
REPLACED: Final = 1 << 115  # parts a new value from the old one: instead of
ON_DAY: Final = 1 << 116  # before the number of a day
AFTER: Final = 1 << 117  # begins a clause on which the next one follows: after, once
OLD: Final = 1 << 118  # heads a column of values that were replaced
NEW: Final = 1 << 119  # heads a column of values that replaced others

# punctuation and shape; no data lists these
COMMA: Final = 1 << 56
BREAK: Final = 1 << 57  # semicolon, dash
COLON: Final = 1 << 58
OPEN: Final = 1 << 59
CLOSE: Final = 1 << 60
MARK: Final = 1 << 61  # a check mark
ARROW: Final = 1 << 62
QUOTED: Final = 1 << 63  # a quoted name, inline code or a reference
CLITIC: Final = 1 << 120  # ends in a verb of its own, or in what looks like one: "Ann's"
PHRASE: Final = 1 << 64  # may begin a listed phrase

NOMINAL: Final = PLACE | HISTORY
"""Nouns: to a rule that asks for an unlisted word, one of these is unlisted."""

BY_FORM: Final = TOLD | IMPERSONAL | THIRD
"""Forms that need no auxiliary; each is a PARTICIPLE, too."""

_BACK: Final = RESUMED | NO_MORE
CLAIMING: Final = (
    PARTICIPLE
    | ALONE
    | PAST
    | DOING
    | GONE
    | NOW
    | SPLIT
    | DID
    | NO_LONGER
    | FINAL
    | MANAGED
    | OUTWARD
    | PLACE
    | REPLACED
    | _BACK
)
"""What a sentence needs one of to be looked at."""

AUXILIARY: Final = HAVE | SELF_HAVE | HAD | BE | WAS | PASSIVE | MODAL | DID
VERB: Final = AUXILIARY | FINITE | STATE_VERB
CUT: Final = COMMA | BREAK | COLON | OPEN | CLOSE

BY_NAME: Final[dict[str, int]] = {
    name.lower(): bit
    for name, bit in list(globals().items())
    if name.isupper() and isinstance(bit, int) and bit.bit_count() == 1
}
"""The classes a data file may list, by the names it uses."""
