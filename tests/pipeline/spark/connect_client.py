"""A client of Spark Connect that reads and writes topics, run by test_spark_connect.py.

Arguments: the brokers, a topic to fill, a topic for its copy, and a folder. It starts its own server and prints what
it found as JSON.
"""

import json
import sys

from pybroker.pipeline import PybrokerDataSource
from pybroker.pipeline.values import decode_json, infer_json_schema
from pyspark.sql import DataFrame, SparkSession

ROWS = 20


def main(servers: str, topic: str, copy: str, folder: str) -> None:
    spark = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.dataSource.register(PybrokerDataSource)
    source = {"kafka.bootstrap.servers": servers, "startingOffsets": "earliest"}

    def topic_rows(name: str) -> DataFrame:
        return spark.read.format("pybroker").options(**source, subscribe=name).load()

    values = spark.range(ROWS).selectExpr("""concat('{"Id":', id, '}') AS value""")
    values.write.format("pybroker").mode("append").option("kafka.bootstrap.servers", servers).option(
        "topic", topic
    ).save()

    stream = spark.readStream.format("pybroker").options(**source, subscribe=topic).load()
    into = {"kafka.bootstrap.servers": servers, "topic": copy, "kafka.transactional.id": copy}
    writer = stream.select("value").writeStream.format("pybroker").options(**into)
    query = writer.option("checkpointLocation", folder).trigger(availableNow=True).start()
    query.awaitTermination()

    copied = topic_rows(copy).select("value")
    schema = infer_json_schema(spark, copied)
    decoded = copied.select(decode_json("value", schema).alias("d")).selectExpr("d.value.Id", "d.error").collect()
    print(json.dumps({"schema": schema.simpleString(), "decoded": sorted(map(list, decoded))}))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
