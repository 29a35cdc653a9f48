"""An AgentWorldBench-shaped benchmark from one's own recordings."""

from worldline.bench.building.build import Benchmark, BuildOptions, build_benchmark

__all__ = ["Benchmark", "BuildOptions", "build_benchmark"]
