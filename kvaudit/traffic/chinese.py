"""Chinese for the example logs: the same shop, so that tokens are not all Latin letters."""

from kvaudit.traffic.prose import Grammar

WORDS = {
    "item": (
        "台灯", "雨衣", "铸铁锅", "打气筒", "羊毛毯", "厨房秤", "折叠椅", "旅行水壶", "工具箱",
        "面包刀", "挂钟", "露营炉", "门垫", "搅拌机", "相框", "收纳箱", "茶叶罐", "滤水器",
    ),
    "part": (
        "合页", "电源适配器", "电池盖", "左支架", "滤芯", "把手", "垫圈", "备用钥匙", "锁销",
        "盖子",
    ),
    "trouble": (
        "到货时边角裂了", "打不开电源", "颜色发错了", "少了一个零件", "用了一周就坏了",
        "和描述不一样", "在路上耽搁太久", "正面有划痕",
    ),
    "place": ("杭州", "西安", "厦门", "成都", "青岛", "苏州", "昆明", "长沙", "大连", "南宁"),
    "person": ("小林", "陈姐", "老周", "阿芳", "志强", "雨桐", "建国", "思雨"),
    "team": ("退货组", "账务组", "夜班同事", "快递组", "维修车间", "风控组", "仓库"),
    "period": ("两个工作日", "一周", "十四天", "一个月", "三小时", "六周", "当天", "半年"),
    "amount": tuple(f"{n}元" for n in range(29, 999, 37)),
    "number": tuple(str(n) for n in range(100, 1000)),
    "digit": tuple("0123456789"),
    "series": tuple("ABCDEFGHJK"),
    "condition": (
        "包裹还没有出库", "收据丢了", "封条已经拆开", "客户选择了货到付款", "地址在海岛上",
        "订单由公司账户下单", "商品是定制的", "快递显示派送失败",
    ),
    "remedy": (
        "补发一件", "退还运费", "安排维修", "向快递索赔", "请客户拍照", "发放优惠券", "取消订单",
        "上门取件",
    ),
    "thing": ("发票", "送货单", "订单页面", "保修卡", "退货标签", "付款凭证", "库存表", "维修记录"),
    "manner": ("用一句话", "不用专业词", "马上", "一步一步地", "核对账户之后", "用客户的语言"),
}  # fmt: skip

PATTERNS = {
    "rule": (
        "如果{condition}，请在{period}内{remedy}，并写在{thing}上。",
        "除非{team}书面同意，{condition}时不要{remedy}。",
        "回答{thing}的问题时，{manner}说明编号，不要猜测。",
        "金额超过{amount}的订单，先问{team}，再{remedy}。",
        "{item}退回时少了{part}，扣除{amount}。",
        "{place}的客户可以在{period}内退回{item}。",
    ),
    "policy": (
        "{place}的{team}负责所有退回的{item}，需要{thing}才能办理。",
        "{item}保修{period}，{part}除外。",
        "{condition}的时候，只要不超过{amount}，{team}可以{remedy}。",
        "新版{thing}编号{series}{number}，逐项列出了{part}。",
    ),
    "question": (
        "我的{item}{trouble}，订单{series}{number}{digit}，怎么办？",
        "我买的{item}寄到{place}，结果{trouble}，能{remedy}吗？",
        "{item}的{part}单卖吗？在{place}多少钱？",
        "{thing}上写的是{amount}，可是多收了钱，编号{series}{number}{digit}。",
        "你好，我是{person}。{condition}的话，{item}多久之内能退？",
        "好的。那如果{condition}，由谁来{remedy}？",
    ),
    "answer": (
        "很抱歉，{item}给您添麻烦了。",
        "请准备好{series}{number}{digit}的{thing}。",
        "{place}的{team}可以在{period}内{remedy}。",
        "{part}不收费，{amount}会退回给您。",
        "因为{condition}，我已经请{team}{remedy}。",
        "从{thing}上的日期算起，您有{period}的时间。",
    ),
    "fact": (
        "{series}{number}系列的{item}产自{place}，随箱附一个{part}。",
        "{part}不用工具就能更换，零件号{series}{number}{digit}。",
        "每{number}位客户里有{digit}位反映{item}{trouble}。",
        "建议零售价{amount}，另加一个{part}是{amount}。",
        "每隔{period}清洁一次{part}，远离热源。",
    ),
}  # fmt: skip

CHINESE = Grammar(WORDS, PATTERNS, joiner="")
