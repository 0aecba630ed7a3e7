"""What customers of a mail-order shop ask, each in several wordings, with the answers they get.

Wordings of one intent mean the same. Every slot stands in every wording and every answer: another
filling is another question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import log, prod

from kvaudit.traffic.english import WORDS

_SLOTS: Mapping[str, tuple[str, ...]] = {
    "item": WORDS["item"],
    "part": WORDS["part"],
    "place": WORDS["place"],
    "period": WORDS["period"],
    "thing": WORDS["thing"],
    "team": WORDS["team"],
    "amount": WORDS["amount"],
    "order": tuple(f"{letter}{n}" for letter in "BDHKMRT" for n in range(4001, 5000)),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "count": tuple(str(n) for n in range(2, 40)),
}


@dataclass(frozen=True, slots=True)
class Intent:
    """One kind of question."""

    name: str
    scenario: str
    wordings: tuple[str, ...]
    answers: tuple[str, ...]
    slot_names: tuple[str, ...]

    @property
    def slots(self) -> dict[str, tuple[str, ...]]:
        """What each slot may be filled with."""
        return {name: _SLOTS[name] for name in self.slot_names}


INTENTS = (
    Intent("password", "faq", (
        "How do I reset my password?", "I forgot my password, what now?",
        "Please tell me how to change a forgotten password.", "Can't log in, lost my password.",
        "What are the steps to get a new password?", "Password reset, how does that work?",
    ), (
        "Follow the link under the login form; a new password reaches you by mail.",
        "Click the link below the login form and you get a mail to set a new password.",
    ), ()),
    Intent("returns", "faq", (
        "How do I send back a {item}?", "What is the way to return a {item}?",
        "I'd like to return my {item}, how does it work?", "Returning a {item}: what do I do?",
        "Can you explain how returns of a {item} work?", "I want to give back the {item}.",
    ), (
        "Print the return label for the {item} from your order page and hand the parcel in.",
        "On your order page there is a label for the {item}; print it and bring us the parcel.",
    ), ("item",)),
    Intent("spare", "faq", (
        "Is the {part} of the {item} sold on its own?", "Can I buy just the {part} for a {item}?",
        "Do you sell a single {part} for my {item}?",
        "Where do I get a spare {part} for the {item}?",
        "I need another {part} for my {item}, is that possible?",
    ), (
        "Yes, the {part} of the {item} is listed under spare parts.",
        "You find the {part} for the {item} on the page of spare parts.",
    ), ("part", "item")),
    Intent("shipping", "faq", (
        "How long does shipping to {place} take?", "When would a parcel reach {place}?",
        "What is the delivery time to {place}?", "Delivery to {place}, how many days is that?",
        "How fast do you ship to {place}?", "If I order to {place}, how long must I wait?",
    ), (
        "A parcel to {place} is on its way for about three working days.",
        "Shipping to {place} takes around three working days.",
    ), ("place",)),
    Intent("status", "personal", (
        "Where is order {order}?", "What is the status of order {order}?",
        "Has my order {order} been sent yet?", "Order {order}: any news?",
        "Could you look up where {order} is?", "I am waiting for order {order}, where is it?",
    ), (
        "Order {order} left the warehouse and is with the courier.",
        "The courier has order {order}; it left our warehouse.",
    ), ("order",)),
    Intent("cancel", "personal", (
        "Please cancel order {order}.", "I want to cancel order {order}.",
        "Can you stop order {order} from being shipped?", "Order {order} should be cancelled.",
        "I changed my mind about {order}, cancel it.",
    ), (
        "Order {order} is cancelled and the money goes back to you.",
        "I have cancelled order {order}; you get the money back.",
    ), ("order",)),
    Intent("keep", "personal", (
        "Please do not cancel order {order}.", "I do not want order {order} cancelled after all.",
        "Don't cancel {order}, I still want it.", "Keep order {order} as it is, no cancellation.",
    ), (
        "Order {order} stays as it is.", "Nothing changes for order {order}.",
    ), ("order",)),
    Intent("stock", "real-time", (
        "Is the {item} in stock in {place} now?", "Do you have a {item} at the {place} shop today?",
        "Right now, is there a {item} left in {place}?", "Any {item} available in {place}?",
        "How many of the {item} are left in {place} at the moment?",
    ), (
        "There are a few of the {item} in {place}.", "{place} has the {item} on the shelf.",
    ), ("item", "place")),
    Intent("hours", "faq", (
        "When does the shop in {place} open on {day}?", "Opening hours in {place} on {day}?",
        "From what time is the {place} shop open on a {day}?",
        "What are the {day} hours of your shop in {place}?",
    ), (
        "On {day} the shop in {place} opens at nine.", "{place} opens at nine on {day}.",
    ), ("place", "day")),
    Intent("voucher", "numeric", (
        "My cart is {amount} and I have {count} percent off, what do I pay?",
        "What is {amount} less {count} percent?",
        "How much is left to pay of {amount} with a voucher of {count} percent?",
        "Please work out {amount} with {count} percent discount.",
    ), (
        "With {count} percent off {amount} the cart shows what you pay.",
        "The cart takes {count} percent from {amount}.",
    ), ("amount", "count")),
    Intent("warranty", "faq", (
        "How long is the warranty on a {item}?", "What warranty does the {item} have?",
        "For how many years is my {item} covered?", "Does the {item} come with a guarantee?",
        "Tell me about the warranty of the {item}.",
    ), (
        "The {item} has a warranty of two years.", "Two years of warranty come with the {item}.",
    ), ("item",)),
    Intent("broken", "faq", (
        "My {item} does not switch on any more, what can I do?", "The {item} stopped working.",
        "I have a {item} that is dead, can it be repaired?", "What do I do with a broken {item}?",
        "A {item} I bought from you is broken.", "Help, the {item} won't start!",
    ), (
        "Check the plug of the {item} first; then ask the repair workshop for a date.",
        "First look at the plug of the {item}, then make a date with the repair workshop.",
    ), ("item",)),
    Intent("address", "personal", (
        "How can I change the delivery address of order {order}?",
        "Order {order} goes to the wrong address, can you change it?",
        "Please send {order} to another address.", "I have moved; what about order {order}?",
    ), (
        "You can change the address of order {order} until it has left us.",
        "Until order {order} leaves us its address can be changed on the order page.",
    ), ("order",)),
    Intent("call", "personal", (
        "Could the {team} call me about order {order}?",
        "I want the {team} to ring me about {order}.",
        "Please have the {team} phone me, it is about order {order}.",
        "Can someone of the {team} call back for {order}?",
    ), (
        "The {team} will call you about order {order}.",
        "You get a call of the {team} for {order}.",
    ), ("team", "order")),
    Intent("document", "faq", (
        "Where do I find my {thing}?", "I cannot find the {thing}.", "Can you send me the {thing}?",
        "How do I download the {thing}?", "Where on the site is the {thing}?",
    ), (
        "The {thing} is on your account page.", "On the account page you find the {thing}.",
    ), ("thing",)),
    Intent("deadline", "faq", (
        "Can I still return a {item} after {period}?",
        "Is {period} too late to send back a {item}?",
        "I bought a {item} {period} ago, may I give it back?",
        "Does a return of the {item} after {period} count?",
    ), (
        "After {period} you can return the {item} if it is unused.",
        "An unused {item} can come back after {period}.",
    ), ("item", "period")),
    Intent("pay", "faq", (
        "Can I pay by invoice?",
        "Is paying by invoice possible?", "Do you offer invoices to pay later?",
        "I would like to pay on invoice, does that work?", "Payment by invoice, yes or no?",
    ), (
        "Yes, choose invoice at the checkout.",
        "Invoice is one of the ways to pay at the checkout.",
    ), ()),
    Intent("compare", "faq", (
        "Which is better for camping, the {item} or the travel kettle?",
        "Should I take the {item} or the travel kettle for camping?",
        "For camping: {item} or travel kettle?",
    ), (
        "For camping the {item} is the better choice.", "Take the {item} when you go camping.",
    ), ("item",)),
)  # fmt: skip

CUMULATIVE = tuple(
    accumulate(1 + log(prod(len(values) for values in intent.slots.values())) for intent in INTENTS)
)
"""How often each is asked, summed up: one that can be filled in many ways, more often."""
