"""What names mean in look-ups of one's own, in snake case, whatever the language."""

from __future__ import annotations

import re

SEARCHES = frozenset((
    "search", "query", "similarity_search", "similarity_search_with_score", "nearest", "knn",
    "similarity_search_with_relevance_scores",
    "similarity_search_by_vector", "asearch", "aquery", "query_points", "knn_search",
    "find_similar", "similarity_search_vector_with_score", "search_knn", "match", "range_query",
    "find_nearest", "search_vectors", "check",
))  # fmt: skip
EMBEDS = re.compile(r"(\w+_)?(embed\w*|encode|encoder|vectori[sz]e|vector|vec|to_embeddings)")
LIKENESS = re.compile(
    r"(\w+_)?(cosine(_similarity|_sim|_distance)?|cos_sim|similarity|semantic_score|distance)(_\w+)?"
    r"|dot|inner"
)
CACHE = re.compile(r"(\w+_)?(cache\w*|cached|semantic_(hit|look_?up|match|answer)\w*|memo)(_\w+)?")
ANSWER = re.compile(r"(\w+_)?(answer|response|reply|completion|cached_\w+)")
FOUND_ANSWER = re.compile(r"(\w+_)?(answers?|responses?|completions?|repl(y|ies))")
"""What an entry is asked for that was found near."""
LOOKS_NEAR = re.compile(
    r"(\w+_)?(look_?up|recall|reuse|(find|get|search)_(similar|nearest|near|match\w*|existing)"
    r"|similar|nearest)(_\w+)?"
)
"""Functions that may be look-ups of a semantic cache if an entry's answer is what they give."""
SCORE = re.compile(
    r"(\w+_)?(score|scores|similarity|sim|distance|dist|proximity|cosine|cos)(_\w+)?"
)
THRESHOLD = re.compile(
    r"(\w+_)?(threshold|cutoff|min_(score|similarity|sim)|limit|tau|max_distance)"
)
BEST = re.compile(
    r"(best|top|highest|lowest|nearest|closest)(_\w+)?|max_(score|sim|similarity)|min_dist(ance)?"
)
"""What was found nearest so far: to be nearer than that is no limit."""
SCALE = re.compile(r"(\w+_)?(cosine|cos|distance|dist|l2|euclidean|inner_product|dot)(_\w+)?")
SIMILARITY = re.compile(r"(\w+_)?(similarity|sim)")
SCALE_SAID = re.compile(r"cosine|inner.?product|euclid|\bl2\b|flat_?(ip|l2)", re.IGNORECASE)
"""What comments, documentation and indexes say of what a score is."""
LIFE = re.compile(
    r"(\w+_)?(ttl|expir\w*|max_age|age|fresh\w*|valid_until|created(_at)?|timestamp|stale"
    r"|evict\w*)(_\w+)?"
)
APART = re.compile(r"filters?|where|namespace|collection(_name)?|partition|scope|(\w+_)?filter")
MODEL = re.compile(r"(\w+_)?(model|llm|encoder_version|embedding_model|revision|version)(_\w+)?")
GUARD = re.compile(
    r"(\w+_)?(entit\w*|verif\w*|rerank\w*|cross_encoder|nli|judge\w*|guard\w*|numbers|negation"
    r"|polarity|contradict\w*|is_same\w*|equivalent|same_\w+)(_\w+)?"
)

STORES = re.compile(r"a?(store|set|put|add|update|save|insert|cache|write|upsert)(_\w+)?")
REMOVES = re.compile(
    r"(\w+_)?a?(delete|remove|evict|invalidate|clear|purge|flush|drop|forget|reset)(_\w+)?"
)
