"""AgentWorldBench and benchmarks of its shape: inference, judging, scoring, reports."""
