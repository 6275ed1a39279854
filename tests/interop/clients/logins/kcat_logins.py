"""The command `logins` of ../README.md, by kcat, whose name is the argument. kcat has no transactions."""

import json
import subprocess
import sys

from support.security.login_rows import RECORDS, Row, use_each


class RefusedError(Exception):
    """kcat ended with an error; has its error output."""


def settings(row: Row) -> list[str]:
    values = {"security.protocol": row.protocol, "topic.metadata.refresh.interval.ms": "500"}
    if row.uses_tls:
        values |= {"ssl.ca.location": row.authority}
    if row.certificate:
        values |= {"ssl.certificate.location": row.certificate, "ssl.key.location": row.certificate}
    if row.mechanism:
        values |= {"sasl.mechanism": row.mechanism, "sasl.username": row.user, "sasl.password": row.secret}
    return [argument for name, value in values.items() for argument in ("-X", f"{name}={value}")]


def kcat(row: Row, *arguments: str, stdin: str = "") -> str:
    command = [sys.argv[1], "-b", row.servers, *settings(row), *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout


def use(row: Row) -> dict[str, object]:
    if row.refused:
        kcat(row, "-L")
    kcat(row, "-P", "-t", row.topic, "-X", "enable.idempotence=true", stdin="".join(f"{value}\n" for value in RECORDS))
    (topic,) = json.loads(kcat(row, "-L", "-J", "-t", row.topic))["topics"]
    group = ("-G", row.topic, "-q", "-X", "auto.offset.reset=earliest", "-X", "isolation.level=read_committed")
    values = kcat(row, "-c", str(len(RECORDS)), *group, row.topic).split()
    return {"partitions": len(topic["partitions"]), "values": sorted(values)}


use_each(use)
