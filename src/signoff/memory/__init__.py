"""What do we remember? Questions and answers of past runs, ranked by relevance, trust and freshness."""
