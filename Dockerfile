# A broker in a container: `docker build -t pybroker .`, then `docker run -p 9092:9092 pybroker`; a cluster: compose.yaml.
# With the test kit (faults and a movable clock over HTTP): `docker build --target test -t pybroker-test:0.1.0 .`
# scripts/image-build does all the work, so that a test can run it without a container engine.
# The tests run with this version of Python.

FROM python:3.11-slim AS build
COPY . /src
RUN /src/scripts/image-build install

FROM python:3.11-slim AS broker
LABEL org.opencontainers.image.title="pybroker" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/pybroker /opt/pybroker
COPY scripts/image-build /usr/local/bin/image-build
RUN /usr/local/bin/image-build layout

ENV PATH=/opt/pybroker/bin:$PATH
WORKDIR /var/lib/kafka
VOLUME ["/var/lib/kafka/data", "/mnt/shared/config"]
EXPOSE 9092 8092 9404
# A number, so that Kubernetes can check that it is not root. Group 0 owns the directories.
USER 1000:0
HEALTHCHECK --interval=5s --timeout=10s --start-period=120s --retries=3 \
    CMD ["/opt/pybroker/bin/pybroker", "healthcheck", "--probe", "readyz", "--config", "/etc/pybroker/server.properties"]
# The same path as in Apache Kafka's image, and no entry point: test libraries start the broker by this path.
CMD ["/etc/kafka/docker/run"]

# Lets everybody who reaches port 8092 break the broker, for tests only.
FROM broker AS test
ENV KAFKA_PYBROKER_TEST_KIT=true \
    KAFKA_PYBROKER_HTTP_LISTENERS=HTTP://:8092 \
    KAFKA_PYBROKER_HTTP_INSECURE=true

# The last target is what `docker build` makes without --target.
FROM broker
