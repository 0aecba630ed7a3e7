"""English for the example logs: a mail-order shop, its rules, its customers and its engineers."""

from kvaudit.traffic.prose import Grammar

WORDS = {
    "item": (
        "desk lamp", "garden hose", "rain jacket", "cast iron pan", "bicycle pump", "wool blanket",
        "kitchen scale", "folding chair", "travel kettle", "tool box", "bread knife", "wall clock",
        "camping stove", "door mat", "hand blender", "picture frame", "storage crate", "tea tin",
        "work bench", "paper lantern", "water filter", "standing mirror", "coat rack",
        "bird feeder",
    ),
    "part": (
        "hinge", "power adapter", "battery cover", "left bracket", "filter cartridge", "handle",
        "gasket", "spare key", "rubber foot", "cable clip", "locking pin", "lid", "wall plug",
        "drip tray", "shoulder strap", "valve cap",
    ),
    "trouble": (
        "arrived with a cracked corner", "does not switch on", "is the wrong colour",
        "came without its {part}", "stopped working after a week", "smells of smoke",
        "does not fit the description", "was left with a neighbour I do not know",
        "has been on its way for too long", "shows scratches on the front",
    ),
    "place": (
        "Utrecht", "Leeds", "Porto", "Gdansk", "Lyon", "Turku", "Graz", "Galway", "Bilbao",
        "Aarhus", "Trieste", "Bergen", "Ghent", "Tartu", "Zadar", "Cork",
    ),
    "person": (
        "Ines", "Tomasz", "Aoife", "Bram", "Lucia", "Mikko", "Hanna", "Pedro", "Greta", "Omar",
        "Yara", "Stefan", "Noor", "Elif", "Jonas", "Marta",
    ),
    "team": (
        "returns desk", "billing team", "night shift", "courier desk", "repair workshop",
        "fraud desk", "stock room", "press office",
    ),
    "period": (
        "two working days", "one week", "fourteen days", "a month", "three hours", "six weeks",
        "the same day", "half a year",
    ),
    "amount": tuple(f"{n}.{cents} euros" for n in range(7, 180, 9) for cents in ("20", "75", "99")),
    "number": tuple(str(n) for n in range(100, 1000)),
    "digit": tuple("0123456789"),
    "series": tuple("ABCDEFGHJKLMNPRSTVWX"),
    "condition": (
        "the parcel has not left the warehouse", "the receipt is missing", "the seal is broken",
        "the customer has paid by invoice", "the address lies on an island",
        "the order was placed by a company", "two people share one account",
        "the goods were made to measure", "the courier reports a failed delivery",
    ),
    "remedy": (
        "send a replacement", "refund the shipping fee", "offer a repair", "open a courier claim",
        "pass the case to the {team}", "ask for a photograph", "issue a voucher",
        "cancel the order", "book a collection", "keep the order on hold",
    ),
    "thing": (
        "invoice", "delivery note", "order page", "warranty card", "return label", "payment slip",
        "customs form", "stock list", "service record", "photo of the damage",
    ),
    "manner": (
        "in one sentence", "without technical terms", "politely and at once", "step by step",
        "before anything else", "only after a check of the account", "in the customer's language",
    ),
    "service": (
        "checkout", "stock sync", "label printer", "mail relay", "price importer", "login page",
        "search index", "refund worker",
    ),
    "state": ("timed out", "restarted", "fell behind", "refused the connection", "ran out of disk"),
}  # fmt: skip
WORDS["trouble"] = tuple(
    trouble.replace("{part}", part) for part in WORDS["part"] for trouble in WORDS["trouble"]
)
WORDS["remedy"] = tuple(
    remedy.replace("{team}", team) for team in WORDS["team"] for remedy in WORDS["remedy"]
)

PATTERNS = {
    "rule": (
        "If {condition}, {remedy} within {period} and note it on the {thing}.",
        "Never {remedy} when {condition}, unless the {team} has agreed in writing.",
        "Quote the number of the {thing} {manner}.",
        "For orders above {amount} ask the {team} before you {remedy}.",
        "When a {item} is returned without its {part}, keep back {amount}.",
        "Answer questions about the {thing} {manner}; do not guess.",
        "A customer in {place} has {period} to send back a {item}.",
        "Do not promise to {remedy}; say that the {team} will decide within {period}.",
    ),
    "policy": (
        "The {team} in {place} takes every {item} that comes back, and needs the {thing}.",
        "Since the last review a {item} carries a warranty of {period}, its {part} excepted.",
        "Where {condition}, the {team} may {remedy}, as long as the value stays under {amount}.",
        "Parcels to {place} leave twice a week, so the {thing} names the next departure.",
        "The {thing} of series {series}{number} replaced the older one and lists each {part}.",
        "A {item} weighs more than the courier's limit for {place} once the {part} is mounted.",
    ),
    "question": (
        "My {item} {trouble}. Order {series}{number}{digit}. What can I do?",
        "I ordered a {item} to {place} and it {trouble}. Can you {remedy}?",
        "Is the {part} of the {item} sold on its own, and what does it cost in {place}?",
        "The {thing} says {amount}, but I was charged more. Number {series}{number}{digit}.",
        "Hello, {person} here. How long do I have to return the {item} if {condition}?",
        "Could the {team} call me about order {series}{number}{digit}? The {item} {trouble}.",
        "Thanks. And if {condition}, who would {remedy}?",
        "Which {part} do I need for the {item} of series {series}{number}?",
    ),
    "answer": (
        "I am sorry that the {item} gave you trouble.",
        "Please have the {thing} for {series}{number}{digit} at hand.",
        "The {team} in {place} can {remedy} within {period}.",
        "You will not be charged for the {part}; the amount of {amount} goes back to you.",
        "Since {condition}, I have asked the {team} to {remedy}.",
        "The {part} is in stock in {place} and costs {amount}.",
        "You have {period} from the date on the {thing}.",
        "If that does not help, write to the {team} and quote {series}{number}{digit}.",
    ),
    "fact": (
        "The {item} of series {series}{number} is made in {place} and ships with one {part}.",
        "Its {part} can be replaced without tools; the part number is {series}{number}{digit}.",
        "Customers report that the {item} {trouble} in about {digit} of {number} cases.",
        "The recommended price is {amount}, and {amount} with a second {part}.",
        "Clean the {part} every {period} and keep it away from heat.",
        "The {team} keeps {number} of them in {place}.",
        "Before {period} have passed, check that the {part} sits tight.",
    ),
    "log": (
        "{number} {service} {state} after {number} ms, retry {digit}",
        "{number} {service} handled {number} orders for {place}",
        "{number} {service} wrote {thing} {series}{number}{digit}",
        "{number} warning: {service} {state} while it read the {thing}",
        "{number} {service} skipped {series}{number}{digit}: {condition}",
    ),
    "task": (
        "The {service} {state} last night. Find out why and mend it.",
        "Orders to {place} lose their {thing}. Trace one and fix the {service}.",
        "Make the {service} {remedy} by itself when {condition}.",
        "The {team} needs the {service} to write the {thing} within {period}.",
    ),
    "plan": (
        "I will look at the {service} first.",
        "The {service} {state}; the log of {number} should say more.",
        "Next I check how the {thing} is written.",
        "That points at the {service}, where {condition}.",
        "I change it so that it can {remedy}, then run the tests.",
    ),
}  # fmt: skip

ENGLISH = Grammar(WORDS, PATTERNS, joiner=" ")
