"""What the entity rule sees, in either language, and what it must not take for a difference."""

import json
from time import process_time

import pytest

from kvaudit.replay.semantic.guards.entities import differences

DIFFERENT = [
    ("number", "Book a table for 4 people", "Book a table for four people at 6"),
    ("number", "Refund within twenty-one days", "Refund within 12 days"),
    ("number", "Convert 1,000 USD to EUR", "Convert 100 USD to EUR"),
    ("number", "给我两个例子", "给我20个例子"),
    ("number", "提成百分之十五是多少", "提成百分之五十是多少"),
    ("identifier", "Track parcel ZX81-44", "Track parcel ZX81-45"),
    ("identifier", "工单AB-123的进度", "工单AB-132的进度"),
    ("unit", "How far is 5 km on a map?", "How far is 5 miles on a map?"),
    ("unit", "Wake me at 7am please", "Wake me at 7pm please"),
    ("date", "Are you open on Tuesday?", "Are you open on Wednesdays?"),
    ("date", "Sales of last month", "Sales of this month"),
    ("date", "后天上海下雨吗", "今天上海下雨吗"),
    ("date", "周三有空吗", "周四有空吗"),
    ("name", "Where is the Lisbon office?", "Where is the Madrid office?"),
    ("name", "How do I cook lentils?", "How do I cook quinoa?"),
    ("name", "Tax rules for freelancers", "Tax rules for pensioners"),
    ("name", "南京的房价是多少", "成都的房价是多少"),
    ("negation", "Which rooms have a balcony?", "Which rooms do not have a balcony?"),
    ("negation", "这个套餐能退款吗", "这个套餐不能退款吗"),
    ("opposite", "How do I mount the drive?", "How do I unmount the drive?"),
    ("opposite", "Is coffee good for sleep?", "Is coffee bad for sleep?"),
    ("opposite", "怎么绑定手机", "怎么解绑手机"),
    ("direction", "Trains from Oslo to Bergen", "Trains from Bergen to Oslo"),
    ("direction", "把日元换成美元", "把美元换成日元"),
    ("number", "Bus at quarter past ten?", "Bus at quarter to ten?"),
    ("number", "I need the second copy", "I need the third copy"),
    ("number", "十月的账单", "十一月的账单"),
    ("unit", "400 mg a day", "400 mcg a day"),
    ("date", "A slot on Friday morning", "A slot on Friday afternoon"),
    ("name", "The capital of Austria", "The capital of Australia"),
    ("name", "Can I cancel my order?", "Can I change my order?"),
    ("name", "怎么取消订单", "怎么取消订阅"),
    ("name", "Export one page", "Export every page"),
    ("opposite", "怎么订阅频道", "怎么取消订阅频道"),
    ("direction", "Can a buyer sue a seller?", "Can a seller sue a buyer?"),
    ("direction", "How many yen is a dinar?", "How many dinars is a yen?"),
    ("direction", "猫会追狗吗", "狗会追猫吗"),
]


@pytest.mark.parametrize(("kind", "a", "b"), DIFFERENT)
def test_differences_are_named(kind, a, b):
    assert kind in differences(a, b)
    assert kind in differences(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Book 3 seats", "Book three seats"),
        ("Meet at 15:00", "Meet at 3 pm"),
        ("1,000 dollars", "1000 dollars"),
        ("给我3个例子", "给我三个例子"),
        ("Where's my parcel?", "where is my parcel"),
        ("How do I bake bread?", "Hi there, how do I bake bread? Thanks!"),
        ("On Mondays, are you open?", "Are you open on Monday?"),
        ("What is the German flag?", "What is the flag of Germany?"),
        ("能不能退款", "可以退款吗"),
        ("怎么办理护照", "如何办理护照"),
        ("I cannot find it", "I can't find it"),
        ("In winter, is the lake frozen?", "Is the lake frozen in winter?"),
        ("The lake lacks fish", "The lake does not have fish"),
        ("No, it isn't sold here", "It is not sold here"),
        ("Is the WiFi free?", "Is the Wi-Fi free?"),
        ("How do I get rid of moths?", "How do I eliminate moths?"),
        ("Good morning! Is the bar open?", "Is the bar open?"),
        ("Keep the 2nd copy", "Keep the second copy"),
        ("A bus at half past nine", "A bus at 9:30"),
        ("Tea or coffee, which is better?", "Coffee or tea, which is better?"),
        ("Is the road closed today?", "Is the road closed?"),
        ("The tool splits a text into parts.", "The tool divides a text into parts."),
        ("How long is the bridge?", "How long is the brigde?"),
        ("怎么更改预订", "如何修改预订"),
        ("发票在哪里看", "在哪里查看发票"),
        ("一千元够吗", "1000元够吗"),
        ("周日营业吗", "星期天营业吗"),
        ("", ""),
    ],
)
def test_the_same_in_other_words(a, b):
    assert differences(a, b) == ()


def test_a_long_text_is_not_held_to_its_every_word():
    a = (
        "The loader reads each file once, without keeping it in memory, so that large folders "
        "can be used."
    )
    b = (
        "Since the loader reads every file a single time and keeps none of it, big folders are "
        "no problem."
    )
    assert differences(a, b) == ()
    assert "negation" in differences(a, a.replace("can be", "cannot be"))


def test_long_texts_are_compared_soon():
    """Aligning these without a limit takes the better part of a minute."""
    text = "怎么给鱼缸换水，" * 400
    before = process_time()
    differences(text, text[::-1])
    differences("to be or not " * 800, "not or be to " * 800)
    assert process_time() - before < 5
    assert "name" in differences(f"请问去上海的票{text}", f"请问去广州的票{text}")


def refused(pairs):
    return sum(bool(differences(p["a"], p["b"])) for p in pairs) / len(pairs)


@pytest.mark.parametrize(
    ("name", "lang", "caught"),
    [
        ("own/pairs_smoke.jsonl", "en", 0.93),
        ("own/pairs_smoke.jsonl", "zh", 0.75),
        ("fow_cache/dev_pairs.jsonl", "en", 0.59),
    ],
)
def test_no_worse_than_the_prototype_on_written_pairs(shared_data, name, lang, caught):
    with open(shared_data / "semantic" / name, encoding="utf-8") as file:
        pairs = [p for p in map(json.loads, file) if p.get("lang", "en") == lang]
    assert refused([p for p in pairs if not p["same_answer"]]) >= caught
    assert refused([p for p in pairs if p["same_answer"]]) <= 0.15
