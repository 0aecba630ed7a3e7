"""Words that the entity rule reads past, and words that it takes for one another.

Common words of any subject. The lists were written with the project's own pairs in view, so
what the rule does to those pairs says little about others.
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
    advance afternoon bother cheers dear er evening folks good guys hello hey hi hiya kindly
    morning ok okay please question quick so sorry team thank thanks there uh um well wondering
    """
)
"""Around a question, and no part of it."""

EMPTY = listed(
    """
    a able about across actually again all already also am an and any anyone anything are around as
    at available be been being best between but by can come could currently describe did do does
    doing done during each every exactly explain for from get getting give go going got had happen
    happens has have having he help her here his how i if in include includes into is it its just
    know let like made make makes many may me might much must my need needed needs now obtain of
    off offer offers on one ones or our out over own per place please possible procedure process
    provide question really receive require required right say shall she should show so some
    someone something stay step steps take taken takes tell than that the their them then there
    these they thing things this those through time to too under up us use used using very via want
    was way ways we were what when where which who whom whose why will with within would you your
    """
)
"""Words that name nothing by themselves."""

SYNONYMS = [
    frozenset(group.split())
    for group in """
    store shop
    buy purchase order
    cancel end stop terminate
    delete remove erase
    change update edit modify alter amend convert turn switch reset
    begin start open
    finish end close
    cost price fee charge rate
    company firm business
    phone telephone mobile
    car vehicle
    picture photo image
    film movie
    flat apartment
    holiday vacation leave
    error problem issue fault
    fix repair solve resolve
    create make build write generate
    find locate get
    big large
    small little
    quick fast rapid
    dispute challenge contest
    deliver delivery ship shipping send
    submit file claim apply
    job work
    doctor gp physician
    child kid
    children kids
    allow permit let
    allowed permitted
    function method
    folder directory
    display view see
    reach contact
    answer reply response
    choose select pick
    verify check confirm
    setup configure set install
    mute silence
    largest biggest
    author writer
    city town
    meaning means mean definition define
    password passcode
    email mail
    max maximum
    min minimum
    earlier previous prior
    final last
    calculate compute work
    difference differ differences
    nearest closest
    quickest fastest
    document documents paperwork papers
    licence license
    programme program
    colour color
    centre center
    window period
    duration long
    """.strip().splitlines()
]
"""Words that questions use for one another, whatever they are about."""

HAN_POLITE = re.compile(
    "请问|请|你好|您好|谢谢|麻烦你?|帮我|我想要?(?:知道|了解|问)?|我要|想要|告诉我|一下|劳驾"
)
HAN_HOW = re.compile("如何|怎样|怎么样|怎么才能|怎么能|怎么")
HAN_EMPTY = re.compile(
    "怎么|什么|哪里|哪些|哪个|哪儿|多少|为什么|为啥|是不是|能不能|可不可以|可以|能够|应该|需要|的|了|吗|呢|吧|啊|呀|"
    "是|在|有|我们|我|你们|你|您|这个|那个|这|那|个|就|都|也|和|与|及|给|用|对|办|该|要|想|会|能|得|地|着|过|到|上"
)
"""Chinese words that name nothing by themselves."""
