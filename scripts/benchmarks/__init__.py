"""The benchmarks that `scripts/bench` runs: pybroker and Apache Kafka in turn on this machine."""
