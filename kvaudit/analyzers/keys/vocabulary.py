"""What names mean in code about cache keys. Names are compared in snake case."""

from __future__ import annotations

import re

KEY_NAME = re.compile(
    r"(\w+_)?(keys?|cache_?id|hash|hashes|hash_\w+|digest|fingerprint|signature|slot|cachekey"
    r"|key_(for|of|from|encoder|fn|func|function|builder|maker)\w*|cache_key\w*|uid(_(for|of)_\w+)?)"
)
"""Functions and variables that hold keys."""
KEYS_OF_DATA = re.compile(r"(?!(\w+_)?(cache|extra|block|hash|prompt|lookup)_keys$|keys$)\w+_keys")
"""Functions about the keys of mappings, tables and people."""
KEY_WORD = re.compile(r"(\w+_)?(cache_?id|cachekey|keys?|slot)(_\w+)?|\w*cach\w*")
"""Those among them whose name speaks of a key; a hash may also be an identity or a checksum."""
PLAIN_KEY = re.compile(r"((make|build|get|compute|create|gen|generate|to|derive)_)?(cache_)?key")
"""Functions that can be about nothing but keys."""
NOT_KEYS = re.compile(
    r"(\w+_)?(etag|password|passwd|checksum|file|commit|git|secret|csrf|session|webhook|hmac|dedup"
    r"|url|sql|jwt|auth|cookie|avatar|image|asset|static|migration|seed|sort|order|group|approx|cost|content)(_\w+)?"
)
TOKENS = re.compile(
    r"(\w+_)?(token_ids?|tokens|input_ids|block_tokens|chunk_tokens|tok_ids|toks)(_\w+)?"
)
BLOCKS = re.compile(r"(\w+_)?(blocks?|prefix|chunks?|pages?|kv|parent|prior)(_\w+)?")
CHAINED = re.compile(
    r"(\w+_)?(prefix|parent|prev|previous|prior|last|seed|root|init|initial|base|start|salt)"
    r"(_\w+)?|h|hash|acc"
)
PROMPT = re.compile(
    r"(\w+_)?(prompts?|messages|questions?|completions?|llm|conversation|instructions?|utterance"
    r"|user_input|system_message|chat_history|llm_input)(_\w+)?"
)
"""What a model is asked."""
ANSWER = re.compile(
    r"(\w+_)?(completions?|llm_(response|result|output|answer)|model_(response|output)|generations?"
    r"|responses?|answers?|repl(y|ies)|embeddings?)(_(text|content|data|json|dict|str))?"
)
"""What a cache is given to keep, by its parameter's name."""
ANSWER_CACHE = re.compile(
    r"(\w+_)?(llm|gpt|openai|anthropic|claude|gemini|completion|embedding|ai_response|answer)s?"
    r"_?((response|result|answer|completion|query)s?_)?cache(_\w+)?"
)
"""What functions, classes and files are called that keep what models answer."""
MEASURE = re.compile(
    r"(\w+_)?(tokens|token_count|cost|costs|price|count|length|len|size|budget|details|rate|time"
    r"|threshold|id|ids|name|version|file|path|dir|logger)(_s|_ms)?"
)
"""Endings of names of numbers and files about prompts, which are no prompts."""
CREDENTIALS = re.compile(
    r"(\w+_)?(token|jwt|oauth\w*|credentials?|client_secret|refresh_token|access_token|assertion"
    r"|private_key|password|secret|certificate|cookie|csrf)"
)
"""What is hashed where somebody logs in."""
TEXT = re.compile(
    r"(\w+_)?(text|txt|content|query|input|body|context|document|docs|settings|mode|kind|user|system"
    r"|prompts?|messages?|questions?|instructions?|history|q|answer|persona|template|message)(_\w+)?"
    r"|\w+_(str|string)"
)
"""Values of any length."""
FREE_TEXT = re.compile(
    r"(\w+_)?(text|content|query|prompts?|messages?|questions?|instructions?|context|history|system"
    r"|document|persona|utterance|user_input)"
)
FIXED_LENGTH = re.compile(
    r"(\w+_)?(hash|digest|hexdigest|uuid|hex|sha|checksum|length|len|size"
    r"|prefix|suffix|separator|sep|delimiter|namespace)|llm_string"
)
"""Values of one length, or that whoever sets them gives a border of their own; LangChain's
``llm_string`` is a dump of all settings, which no end of a prompt begins."""
ABOUT_MODELS = re.compile(
    r"openai|anthropic|\bllm|langchain|prompt|chat.?completion|gpt-|claude|gemini|embedding"
    r"|chat.?message|model.?output|semantic|generate\(|kv.?cache",
    re.IGNORECASE,
)

MODEL = re.compile(
    r"(\w+_)?(model|models|model_(?!dump|json|fields|construct|validate|copy|config)\w+|engine|deployment\w*|base_url|endpoint|llm|llm_string"
    r"|checkpoint|revision|provider|weights|encoder|embedder)"
)
TENANT_IN_KEY = re.compile(
    r"(\w+_)?(tenant|user|org|organi[sz]ation|account|customer|workspace|team|owner|namespace|salt"
    r"|principal|subject|client|realm|scope|partition|project|api_key|auth|session)(_\w+)?|ns"
)
TENANT_SEEN = re.compile(
    r"(\w+_)?tenant(_id|_name)?|(user|org|organi[sz]ation|account|customer|workspace|team)_id"
    r"|user|org|current_user"
)
IDENTITY = re.compile(
    r"(\w+_)?(extra|extras|extra_keys?|lora\w*|adapter\w*|salt|namespace|ns|tenant\w*|user\w*|model\w*"
    r"|engine_id|metadata|fmt|dtype|scope|tag|extra_key|version|config)(_\w+)?"
)
"""What keeps the blocks of one model, adapter or tenant apart from another's."""
WHOLE = frozenset((
    "request", "req", "body", "payload", "kwargs", "params", "options", "config", "settings",
    "args", "data", "call_kwargs", "llm_string", "inputs", "parameters", "request_data",
    "model_kwargs", "generation_config", "sampling_params", "fields", "parts", "spec",
    "llm_kwargs", "call_args", "invocation_params", "opts", "request_body", "gen_kwargs",
))  # fmt: skip
"""Names of things that hold all parameters at once, so that none can be said to be missing."""
MAPPING = re.compile(
    r"(\w+_)?(params?|kwargs|options|config|conf|genconf|history|settings|messages|body|payload|request|tools|args"
    r"|inputs|fields|generation_config|data)"
)
"""Names of mappings, or of lists of them."""

PARAMETERS = {
    "temperature": re.compile(r"(\w+_)?temperature|temp"),
    "top_p": re.compile(r"top_?p"),
    "top_k": re.compile(r"top_?k"),
    "seed": re.compile(r"(sampling_)?seed"),
    "max_tokens": re.compile(r"max_(new_|completion_|output_)?tokens|num_predict"),
    "stop": re.compile(r"stop(_sequences|_words|s)?"),
    "response_format": re.compile(
        r"response_(format|schema|model|mime_type)|(json_|output_)?schema"
    ),
    "tool_choice": re.compile(r"tool_choice"),
    "reasoning_effort": re.compile(r"(reasoning_)?effort|thinking|reasoning"),
    "penalties": re.compile(r"(frequency|presence|repetition)_penalty|logit_bias"),
    "n": re.compile(r"n|num_completions|best_of"),
    "language": re.compile(
        r"((source|src|target|tgt|from|to|dest|output)_)?(lang|language)|locale"
    ),
    "choices": re.compile(r"choices|(candidate_|allowed_)?labels"),
}
CONTEXT = {
    "system prompt": re.compile(
        r"system|system_(prompt|message|text|instructions?)|instructions?|persona|preamble"
    ),
    "tools": re.compile(r"tools|functions|tool_(defs|definitions|schemas|specs)"),
    "history": re.compile(r"(chat_)?history|conversation|turns|previous_messages"),
    "retrieved context": re.compile(r"context|documents|docs|chunks|passages|retrieved\w*"),
    "images": re.compile(r"images?|media|attachments?|audio|files"),
    "adapter": re.compile(r"lora\w*|adapter\w*"),
}
"""What of a request decides the answer beside the question."""

VOLATILE_NAME = re.compile(
    r"(\w+_)?(request_id|req_id|trace_id|span_id|correlation_id|timestamp|nonce|now|callbacks?"
    r"|message_id|run_id|idempotency_key|current_time|created_at)"
)
VOLATILE_CALL = re.compile(
    r"time\.(time|time_ns|monotonic|monotonic_ns|perf_counter|perf_counter_ns)"
    r"|(datetime\.)*(datetime|timezone)\.(now|utcnow)|uuid\.uuid[147]|uuid4|(random|secrets)\.\w+"
    r"|os\.(urandom|getpid)|id"
)
SECRET = re.compile(
    r"(\w+_)?(api_?key|access_token|auth_token|secret|password|passwd|bearer|credentials?"
    r"|authorization|secret_key)"
)
