"""The caches on a real device, with torch: block keys, real KV blocks, real prefill."""
