"""The process: names of Prometheus' client libraries, and Kafka's disk counters."""

from .rows import rows_of
from .series import Spelling

counter, gauge, _, _ = rows_of(Spelling.OWN)
_, kafka_gauge, _, _ = rows_of(Spelling.JMX)

_PROC = "/proc/self"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    counter("process_cpu_seconds_total", "CPU time of the process, without its child processes.", f"{_PROC}/stat"),
    gauge("process_resident_memory_bytes", "Resident memory.", f"{_PROC}/stat"),
    gauge("process_virtual_memory_bytes", "Virtual memory.", f"{_PROC}/stat"),
    gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.", f"{_PROC}/stat"),
    gauge("process_open_fds", "Open file descriptors.", f"{_PROC}/fd"),
    gauge("process_max_fds", "Limit of open file descriptors.", "RLIMIT_NOFILE"),
    gauge("process_threads", "Threads.", f"{_PROC}/stat"),
    counter("python_gc_collections_total", "Runs of Python's garbage collector.", "gc.get_stats", "generation"),
    counter("python_gc_objects_collected_total", "Objects that the collector freed.", "gc.get_stats", "generation"),
    counter("python_gc_objects_uncollectable_total", "Objects that the collector could not free.",
            "gc.get_stats", "generation"),
    gauge("python_info", "Python's version, always 1.", "sys.version_info",
          "implementation", "major", "minor", "patchlevel", "version"),
    kafka_gauge("kafka_server_kafkaserver_linux_disk_read_bytes", "Bytes that the process read from disks.",
                "kafka.server:type=KafkaServer,name=linux-disk-read-bytes"),
    kafka_gauge("kafka_server_kafkaserver_linux_disk_write_bytes", "Bytes that the process wrote to disks.",
                "kafka.server:type=KafkaServer,name=linux-disk-write-bytes"),
)
