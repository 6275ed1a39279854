"""The seeds that `scripts/test` runs."""

__all__ = ["FAILED_ONCE", "FIXED"]

FIXED = range(1, 101)
FAILED_ONCE = {
    107: "a block of producer ids that nobody waited for any more, and an error that nobody took note of",
    115: "an acks=1 record that a deposed leader took",
    117: "the same, without a fault",
    151: "a checker that had consumers know of what a leader lost and replaced under the same epoch",
    202: "a leader that had lost unsynced bytes, though another had been up when it did",
    337: "a checker that took what a follower had not yet cut for committed",
    372: "the same as 151",
    413: "a consumer that never asked for metadata again, and read a near follower that nobody had told to stop",
    534: "a checker that took an election of a broker that was down for the last word",
    924: "a checker that took a member of the ISR for one that had caught up, for it looked at logs seldom",
    973: "an order for a registration whose session was gone, taken for an error nobody had thought of",
    1336: "writes under way together, of which only the first one's error was taken",
    1482: "the same as 1336",
    1733: "a segment closed behind a flush, whose last index entry no later flush had come back to",
    1984: "a log directory that failed at the very end of a stop, when nobody could be told any more",
    2775: "the same as 1733",
    3215: "records that were deleted everywhere, and a replica back in that moment, of which the answer was told",
    3367: "a checker that counted on a repetition being known when what it repeats had been trimmed",
    3397: "a checker that did not know of a member that crashed on its way into the ISR",
    4100: "the same as 3215",
    4600: "the same as 3215",
    4889: "an operator who did not do what a broker asked for that had a partition in two directories",
    5182: "a follower that died without a controller, and stayed in the ISR",
    5233: "the same as 151",
    5253: "a checker that looked while a log was being cut",
    5353: "a checker that counted on a replica in a directory that had failed",
    5363: "the same as 337",
    5477: "a connection of the simulation that broke before it was made, and nobody was told",
    5619: "a checker that took the batch acknowledged last for the last of its sequence",
    5628: "the same as 924",
    5738: "the same as 337, where a later leader still had what one before it had lost",
    6088: "a step that came to a log at the very end of a stop, when no worker was left",
    6513: "the same as 1336",
    6641: "the same as 6088",
    6800: "the same as 6088",
    6897: "a checker that gave a disk less time to cut a log than it may take",
    7419: "a checker that took a later acknowledgement for the reason to expect an earlier batch",
    8394: "reads under way together when the broker stopped: the errors of all but one were left to nobody",
    21300: "a checker that took two producers of one client for one",
    21548: "a checker that did not know of a leader that heard of its election when the next one led",
}
"""Seeds above those that found something, and what it was. (What happens in a seed is another thing when the simulation
has changed.)"""
