"""Words that the entity rule reads past, and words that it takes for one another.

Common words of any subject, of closed classes as far as they are; what stands for what else is in
`synonyms.toml`.
"""

from __future__ import annotations

import re


def listed(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


CONTRACTED = {
    "s": "is",
    "re": "are",
    "m": "am",
    "ve": "have",
    "ll": "will",
    "d": "would",
    "t": "not",
}
"""What stands behind an apostrophe, written out."""

NEGATED = {"can": "can", "won": "will", "shan": "shall"}
"""What stands before n't, where that is not the whole verb."""
UNSPELLED = {
    "whats": "what's",
    "wheres": "where's",
    "whos": "who's",
    "hows": "how's",
    "dont": "don't",
    "doesnt": "doesn't",
    "cant": "can't",
    "cannot": "can't",
    "wont": "won't",
    "im": "i'm",
}
"""Contractions as they are typed in haste."""
DEMONYMS = {
    word: country
    for country, words in {
        "america": "american",
        "australia": "australian",
        "austria": "austrian",
        "belgium": "belgian",
        "brazil": "brazilian",
        "britain": "british",
        "canada": "canadian",
        "china": "chinese",
        "denmark": "danish",
        "egypt": "egyptian",
        "england": "english",
        "europe": "european",
        "finland": "finnish",
        "france": "french",
        "germany": "german",
        "greece": "greek",
        "india": "indian",
        "ireland": "irish",
        "italy": "italian",
        "japan": "japanese",
        "korea": "korean",
        "mexico": "mexican",
        "netherlands": "dutch",
        "norway": "norwegian",
        "poland": "polish",
        "portugal": "portuguese",
        "russia": "russian",
        "scotland": "scottish",
        "spain": "spanish",
        "sweden": "swedish",
        "switzerland": "swiss",
        "thailand": "thai",
        "turkey": "turkish",
        "ukraine": "ukrainian",
        "wales": "welsh",
    }.items()
    for word in words.split()
}
"""The adjective of a country, which names the same thing."""

POLITE = listed(
    """
    advance appreciate appreciated asap bother cheers dear er erm folks good greetings guys hello
    hey hi hiya hmm kindly mate ok okay please pls plz question quick really sir so sorry team thank
    thanks there thx uh uhm um umm urgent urgently well wonder wondering
    """
)
"""Around a question, and no part of it."""

EMPTY = listed(
    """
    a able about absent across actually again all already also am an and any anyone anything are
    around as at available be been being best between but by can come could currently describe
    did do does doing done during each every exactly explain for from get getting give go going
    got had happen happens has have having he help her here his how i if in include includes
    into is it its just know lack lacking lacks let like made make makes many may me might much
    must my need needed needs now obtain oclock of off offer offers on one ones or our out over
    own per place please pm possible procedure process provide question really receive require
    required right say shall she should show so some someone something stay step steps take
    taken takes tell than that the their them then there these they thing things this those
    through time to too under up us use used using very via want was way ways we were what when
    where which who whom whose why will with within would you your
    """
)
"""Words that name nothing by themselves."""

LIGHT = listed(
    """
    aim case certain chance class designed feature function given help kind method objective option
    own parameter particular purpose simply size sort specific specifically today total type urgent
    value work works
    """
)
"""Words that may be put in or left out without naming anything else."""

FIRST_PERSON = listed("i me my mine we us our ours i'm i've i'd i'll we're we've")
STATES = listed(
    "the a an this that these those it its you there no yes by to if when each every all in on as"
)
"""Words that a statement may begin with; a question or an order begins otherwise."""
VERB_BEFORE = listed(
    """
    can could may might must shall should will would to be been being is are was were not it they
    you which that and i we please
    """
)
"""A verb may stand behind these."""

VERB_AFTER = listed("a an the my your our this that these those me all any some it for")
"""Behind the verb of an order."""
NO_ADVERBS = listed(
    """
    annually apply biweekly daily family fortnightly hourly italy monthly multiply quarterly rarely
    reply supply weekly yearly
    """
)
"""Words in -ly that name something."""
ALL = listed("all every each entire whole both")
SINGLE = listed("a an one single")

NOUN_BEFORE = listed(
    """
    a an the of in on for to with by from and or at as into per my your its our their this that
    these those any all some no more most other another new
    """
)
"""A noun stands behind these, whatever its ending."""

HAN_POLITE = re.compile(
    "请问|请|你好|您好|谢谢|麻烦你?|帮我|我想要?(?:知道|了解|问)?|我要|想要|告诉我|一下|劳驾"
)
HAN_EMPTY = re.compile(
    "怎么|什么|哪里|哪些|哪个|哪儿|多少|为什么|为啥|是不是|能不能|可不可以|可以|能够|应该|需要|的|了|吗|呢|吧|啊|呀|"
    "是|在|有|我们|我|你们|你|您|这个|那个|这|那|个|就|都|也|和|与|及|给|用|对|办|该|要|想|会|能|得|地|着|过|到|上"
)
"""Chinese words that name nothing by themselves."""
