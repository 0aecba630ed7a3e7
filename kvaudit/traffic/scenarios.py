"""Questions by scenario, in English and Chinese: what a classifier of scenarios learns from.

Written here and filled in from lists of our own. A scenario is a reason to treat answers apart:
they age at once, belong to one person, must be exact to the digit, or do harm where they are wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random
from string import Formatter

SLOTS: Mapping[str, Sequence[str]] = {
    "city": ("Lisbon", "Oslo", "Chicago", "Nairobi", "Osaka", "Leeds"),
    "firm": ("a chip maker", "the rail company", "an airline", "that car maker", "the oil company"),
    "team": ("the home team", "Porto", "the national team", "our club", "the Lions"),
    "n": ("12", "37", "144", "2,500", "0.8", "19.5"),
    "m": ("7", "60", "18", "350", "4.2", "96"),
    "unit": ("miles", "pounds", "litres", "ounces", "feet", "degrees Fahrenheit"),
    "to": ("kilometres", "kilograms", "gallons", "grams", "metres", "Celsius"),
    "lang": ("Python", "Rust", "JavaScript", "SQL", "bash", "C++", "Go"),
    "thing": ("a list", "a CSV file", "two dates", "a tree", "JSON", "a string", "a queue"),
    "drug": ("ibuprofen", "insulin", "an antibiotic", "paracetamol", "beta blockers"),
    "ill": ("a fever", "chest pain", "a rash", "migraine", "high blood pressure", "back pain"),
    "paper": ("a lease", "a will", "an employment contract", "a non-disclosure agreement"),
    "topic": ("photosynthesis", "the Roman empire", "volcanoes", "jazz", "the printing press"),
    "dish": ("pancakes", "lentil soup", "sourdough bread", "risotto", "a birthday cake"),
    "account": ("account", "card", "subscription", "booking", "parcel", "salary", "invoice"),
    "word": ("hello", "grateful", "railway station", "umbrella", "friendship"),
    "城": ("北京", "上海", "成都", "广州"),
    "物": ("订单", "账户", "快递", "会员", "工资"),
    "病": ("发烧", "头痛", "高血压", "咳嗽"),
    "数": ("十二", "36", "250", "七"),
    "文": ("租房合同", "劳动合同", "遗嘱"),
    "题": ("光合作用", "长城", "恐龙", "京剧"),
}

WORDINGS: Mapping[str, Sequence[str]] = {
    "real-time": (
        "What is the weather in {city} right now?", "Will it rain in {city} today?",
        "Is there traffic on the way to {city} at the moment?",
        "How long is the delay of my train?",
        "What time is it in {city}?", "What is the share price of {firm} today?",
        "Latest news about {firm}", "Who is winning, and what is the score of {team} now?",
        "Did {team} win last night?", "When does the next bus to {city} leave?",
        "Is the flight to {city} on time?", "Are there any tickets left for tonight?",
        "Which restaurants in {city} are open now?",
        "What is the exchange rate of the dollar today?",
        "What happened in {city} this morning?", "What date is it today?",
        "How hot is it outside?",
        "现在{城}的天气怎么样？", "今天{城}会下雨吗？", "{城}现在堵车吗？", "今天的股价是多少？",
        "最新的新闻有哪些？", "现在几点了？", "下一班去{城}的火车几点开？", "昨晚的比赛谁赢了？",
    ),
    "personal": (
        "What is the balance of my {account}?", "Where is my {account}?", "Show me my {account}.",
        "Has my {account} been approved yet?", "When was my last payment?", "Cancel my {account}.",
        "Change my address and phone number, please.", "What did I spend last month?",
        "How many days of holiday do I have left?", "Why was I charged twice on my {account}?",
        "Read me my messages", "What is on my calendar tomorrow?", "Remind me to call my mother.",
        "Transfer money from my savings to my checking account", "Block my lost {account}",
        "What is the limit of my {account}?", "Update my {account} with my new name.",
        "What is on my shopping list?", "I want to pay my bill", "When is my {account} due?",
        "我的{物}在哪里？", "查一下我的{物}", "我的{物}什么时候到？", "帮我取消我的{物}",
        "我上个月花了多少钱？", "我还剩几天年假？", "把我的电话号码改一下", "我明天有什么安排？",
    ),
    "numeric": (
        "What is {n} times {m}?", "Calculate {n} percent of {m}.", "Divide {n} by {m}",
        "How many {to} are {n} {unit}?", "Convert {n} {unit} to {to}.", "What is {n} plus {m}?",
        "What is the square root of {n}?", "Round {n} to one decimal.", "Add {n} and {m} up",
        "If I save {n} a month at {m} percent, how much do I have after ten years?",
        "What is the tip on a bill of {n} euros?", "Work out the average of {n}, {m} and 8.",
        "Solve x squared minus {n} equals {m}", "How much is {n} dollars in euros?",
        "{数}乘以{数}等于多少？", "{数}加{数}是多少？", "把{数}英里换算成公里",
        "{数}的百分之十是多少？",
        "{数}除以三等于几？", "算一下{数}的平方根",
    ),
    "code": (
        "Write a function in {lang} that sorts {thing}.", "How do I parse {thing} in {lang}?",
        "Why does this {lang} code throw an exception?", "Fix the bug in my {lang} script.",
        "What does this regular expression match?", "How do I undo the last commit in git?",
        "Explain this stack trace: TypeError: undefined is not a function", "Refactor this class.",
        "Write a unit test for a function that reverses {thing}.",
        "How do I join two tables in SQL?",
        "How can I install a package with pip?", "Docker container exits at once, why?",
        "Difference between a list and a tuple in {lang}", "Write a query that counts rows by day",
        "用{lang}写一个排序函数", "这段{lang}代码为什么报错？", "怎么用{lang}读取文件？",
        "git怎么撤销提交？",
        "帮我优化这个SQL查询",
    ),
    "medical": (
        "What can I take against {ill}?", "Can I take {drug} with alcohol?",
        "Is {drug} safe for children?",
        "What are the side effects of {drug}?", "How many tablets of {drug} may I take a day?",
        "I have had {ill} for three days, what should I do?", "What are the symptoms of diabetes?",
        "Is {ill} dangerous during pregnancy?", "How is pneumonia treated?",
        "Should I see a doctor for {ill}?",
        "{病}应该吃什么药？", "{病}的症状有哪些？", "孕妇可以吃这个药吗？", "{病}三天了怎么办？",
        "这种药有什么副作用？",
    ),
    "legal": (
        "Can my landlord raise the rent?", "How do I contest a fine in court?",
        "Is {paper} valid without a witness?",
        "What must stand in {paper}?", "Can I be sued for that?",
        "What are my rights if I am fired?",
        "How do I divorce, and who gets the house?", "Is it legal to record a call?",
        "What is the penalty for driving without a licence?", "How long does copyright last?",
        "Can I break {paper} early?", "Do I need a lawyer for a small claim?",
        "{文}没有签字有效吗？", "{文}应该怎么写？", "被公司辞退怎么维权？", "这样做违法吗？",
        "离婚财产怎么分？",
    ),
    "general": (
        "Tell me about {topic}.", "How does {topic} work?", "Why is {topic} important?",
        "How do I make {dish}?", "What goes well with {dish}?",
        "How do you say {word} in Spanish?",
        "What does {word} mean?", "Tell me a joke", "Who invented {topic}?",
        "Write a poem about {topic}.",
        "How do I return a purchase?", "What are your opening hours?",
        "How can I reset a password?",
        "What is the capital of Peru?", "Hello, how are you?", "What can you do?", "Thank you!",
        "Give me ideas for a present", "How do I remove a stain from a shirt?",
        "What is your name?",
        "Which plants grow in the shade?", "How do I change a tyre?", "Do you ship abroad?",
        "How do I apply for a credit card?", "What documents do I need to open an account?",
        "Summarise this text about {topic}", "How do I change the oil of a car?",
        "How do I travel to {city}?", "What is worth seeing in {city}?",
        "What vaccines does {city} ask for?",
        "{题}是什么？", "介绍一下{题}", "讲个笑话", "红烧肉怎么做？", "怎么退货？",
        "你们几点营业？", "怎么重置密码？",
        "你叫什么名字？", "秘鲁的首都是哪里？", "写一首关于{题}的诗",
    ),
}  # fmt: skip
"""Scenario = its wordings."""
MOST_A_WORDING = 12


def labelled_questions(seed: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (scenario, question), each question once."""
    rng = Random(f"{seed}/scenarios")
    for scenario, wordings in WORDINGS.items():
        for wording in wordings:
            filled = list(_filled(wording))
            rng.shuffle(filled)
            yield from ((scenario, text) for text in filled[:MOST_A_WORDING])


def _filled(wording: str) -> Iterator[str]:
    names = [name for _, name, _, _ in Formatter().parse(wording) if name is not None]
    template = wording
    for name in names:
        template = template.replace(f"{{{name}}}", "{}", 1)
    for values in product(*(SLOTS[name] for name in names)):
        yield template.format(*values)
