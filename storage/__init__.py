"""Partition logs on disk: files, segments, recovery, compaction, and the store of all logs of a broker.

Imports go one way, from later to earlier in this list: files, workers, segment, producers, log, recovery, compaction,
store, verify. The loose modules (`errors`, `inline_limits`, `leader_epochs`, `log_config`) stand below all folders and
import none of them.
"""
