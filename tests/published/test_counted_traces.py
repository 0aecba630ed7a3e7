"""Published sizes of traces that carry counts only."""

from statistics import median


def test_azure_2023_conversation(published, read_trace):
    """Rows, and the medians of prompt and output tokens that Splitwise (ISCA 2024) quotes."""
    azure = published["azure_2023"]["conv"]
    requests = read_trace("azure_llm_2023_conv.csv.gz")
    assert len(requests) == azure["rows"]
    assert [
        median(request.prompt_tokens for request in requests),
        median(request.output_tokens for request in requests),
    ] == azure["paper_median"]
