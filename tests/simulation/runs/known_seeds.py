"""The seeds that `scripts/test` runs, and those of `scripts/test --long`."""

__all__ = ["FAILED_ONCE", "FIXED", "FIXED_OF_GROUPS", "FIXED_OF_SHARES", "FIXED_OF_TRANSACTIONS", "FIXED_WHEN_LONG"]

FIXED = (*range(1, 19), 23, 24, 27, 38)
"""Runs in every test run. Tests of mistakes rely on that: they run such a seed only with the mistake."""
FIXED_OF_GROUPS = (1, 2, 5, 6, 12, 16)
FIXED_OF_SHARES = range(1, 6)
FIXED_OF_TRANSACTIONS = (1, 2, 3, 4, 5, 9)
"""The same for runs of consumer groups, share groups and transactions."""
FIXED_WHEN_LONG = tuple(seed for seed in range(1, 101) if seed not in FIXED)
FAILED_ONCE = {
    107: "an unused block of producer ids whose error nobody handled",
    115: "an acks=1 record accepted by a deposed leader",
    117: "the same as 115, without a fault",
    151: "a checker that expected consumers to notice records lost and replaced under the same epoch",
    202: "a leader that had lost unsynced bytes although another ISR member had stayed up",
    337: "a checker that took records not yet truncated by a follower for committed",
    372: "the same as 151",
    413: "a consumer that never refreshed metadata and kept reading from a nearby follower",
    534: "a checker that took the election of a broker that was down as final",
    924: "a checker that compared logs seldom and took an ISR member for caught up",
    973: "an unhandled error for a controller request of a registration whose session had ended",
    1336: "concurrent writes of which only the first error was handled",
    1482: "the same as 1336",
    1733: "a segment closed after a flush, whose last index entry was not flushed any more",
    1875: "a checker that read logs of a starting broker before it had seen it lead",
    1984: "a log directory that failed at the end of a stop, when nobody could be told",
    2622: "a checker that expected a leader to know sequences of a producer with only a marker in the log",
    2775: "the same as 1733",
    3215: "records deleted on all replicas just as a replica returned, and the response to that deletion",
    3367: "a checker that expected a duplicate to be recognised after its original was deleted",
    3397: "a checker that ignored a replica that crashed while it joined the ISR",
    3566: "a checker that ignored a deleted segment restored by a crash without its end",
    4100: "the same as 3215",
    4359: "a leader that restarted without its last records and led briefly under the same epoch",
    4600: "the same as 3215",
    4889: "a simulated operator that ignored a broker's request to remove a duplicate log directory",
    5088: "an acks=1 record accepted by a leader that was cut off only from ZooKeeper",
    5112: "a response about a replica that had moved to another broker since the request",
    5182: "a follower that died while there was no controller, and stayed in the ISR",
    5233: "the same as 151",
    5253: "a checker that read a log during its truncation",
    5353: "a checker that counted a replica in a failed log directory",
    5363: "the same as 337",
    5477: "a simulated connection that broke before it was open, without notice to anybody",
    5619: "a checker that took the last acknowledged batch for the last of its sequence",
    5628: "the same as 924",
    5738: "the same as 337, with a later leader that still had the records lost by an earlier one",
    6088: "a step submitted to a log at the end of a stop, when no worker was left",
    6513: "the same as 1336",
    6641: "the same as 6088",
    6800: "the same as 6088",
    6897: "a checker that allowed less time for a truncation than a slow disk needs",
    7055: "a checker that forgot a leader's loss when only that leader was left in the ISR",
    7419: "a checker that expected an earlier batch because of a later acknowledgement",
    8394: "concurrent reads at the broker's stop, of which only one error was handled",
    8742: "a simulated consumer that forgot the epoch of its position after a truncation",
    21300: "a checker that took two producers of one client for one",
    21329: "the same as 21300",
    21548: "a checker that ignored a leader that learned of its election when the next one led",
    22002: "the same as 21300",
}
"""Seeds that found a bug in earlier versions, with the bug. A change of the simulation changes the runs of all
seeds, so these seeds are as good as any others by now, and run only in the long form.
"""
