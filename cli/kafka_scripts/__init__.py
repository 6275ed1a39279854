"""Apache Kafka's own scripts without a JVM: ``pybroker kafka-topics …`` takes what ``kafka-topics.sh`` takes.

They print what Kafka 3.9's scripts print on standard output, and exit with the same code.
"""
