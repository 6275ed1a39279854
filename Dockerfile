# A broker in a container: `docker build -t pybroker .`, then `docker run -p 9092:9092 pybroker`, or compose.yaml for a
# cluster. All that is done here is done by scripts/image-build, which a test runs without a container engine.
# Of the Pythons that will do this is the one that the tests are run with.

FROM python:3.11-slim AS build
COPY . /src
RUN /src/scripts/image-build install

FROM python:3.11-slim
LABEL org.opencontainers.image.title="pybroker" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/pybroker /opt/pybroker
COPY scripts/image-build /usr/local/bin/image-build
RUN /usr/local/bin/image-build layout

ENV PATH=/opt/pybroker/bin:$PATH
WORKDIR /var/lib/kafka
VOLUME ["/var/lib/kafka/data", "/mnt/shared/config"]
EXPOSE 9092
# A number, so that whoever runs it can see that it is not root; in root's group, to which the directories belong.
USER 1000:0
HEALTHCHECK --interval=5s --timeout=10s --start-period=120s --retries=3 \
    CMD ["/opt/pybroker/bin/pybroker", "healthcheck", "--config", "/etc/pybroker/server.properties"]
# Where Apache Kafka's image has it, and no entry point, as there: test libraries start it by this path.
CMD ["/etc/kafka/docker/run"]
