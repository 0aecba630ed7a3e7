"""Several replicas of one engine behind a router; routers are one file each."""
