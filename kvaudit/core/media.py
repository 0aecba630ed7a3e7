"""Which parts of a message's content are images or other media, in the shape of any API.

The log's reader identifies media, and the chat template puts a unit where each one stands;
both find them here, and so in the same order.
"""

from kvaudit.core.requests import Json

NEVER_MEDIA = frozenset({"arguments", "input", "function", "tool_calls"})
"""Keys that hold what a tool was called with, which is the model's own text."""
SOURCE_KEYS = ("source", "data", "bytes", "content", "file_data", "url", "image_url")
"""Keys under which a part has the payload, or says where it is."""
NO_MEDIUM = object()


def medium_of(part: Json) -> object:
    """Return what a content part says about its medium; `NO_MEDIUM` for any other part."""
    kind = part.get("type")
    if kind in ("image", "document", "audio", "video", "blob", "uri", "media"):
        # Anthropic, OpenTelemetry, LangChain: the payload or its place, under some key.
        return next((part[key] for key in SOURCE_KEYS if part.get(key) is not None), part)
    if kind in ("image_url", "input_audio", "video_url", "audio_url"):  # OpenAI chat, vLLM
        return part.get(str(kind))
    if kind in ("file", "input_image", "input_file"):  # OpenAI chat and Responses
        return part.get("file") or part
    if kind is not None:
        return NO_MEDIUM
    for key in ("image", "document", "video", "audio"):  # Bedrock Converse has no ``type``
        inner = part.get(key)
        if isinstance(inner, dict) and ("source" in inner or "url" in inner):
            return inner.get("source") or inner
    for key in ("inlineData", "inline_data", "fileData", "file_data"):  # Gemini
        if isinstance(part.get(key), dict):
            return part[key]
    return NO_MEDIUM
