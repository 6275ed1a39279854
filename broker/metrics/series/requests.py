"""Requests, connections, logins and quotas: Kafka's RequestMetrics, RequestChannel, SocketServer and quota metrics."""

from .rows import rows_of
from .series import Spelling

counter, gauge, summary, _ = rows_of(Spelling.JMX)

_REQUESTS = "kafka.network:type=RequestMetrics,name"
_CHANNEL = "kafka.network:type=RequestChannel,name"
_SOCKETS = "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    counter("kafka_network_requestmetrics_requests_total", "Requests by API and version.",
            f"{_REQUESTS}=RequestsPerSec,request=*,version=*", "request", "version"),
    counter("kafka_network_requestmetrics_errors_total", "Error codes in responses, by API; NONE counts successes.",
            f"{_REQUESTS}=ErrorsPerSec,request=*,error=*", "request", "error"),
    summary("kafka_network_requestmetrics_totaltimems", "Time of a request until its response is sent, in ms.",
            f"{_REQUESTS}=TotalTimeMs,request=*", "request", "quantile"),
    summary("kafka_network_requestmetrics_requestqueuetimems", "Time that a request waited to be started, in ms.",
            f"{_REQUESTS}=RequestQueueTimeMs,request=*", "request", "quantile"),
    summary("kafka_network_requestmetrics_localtimems", "Time in which the broker worked on a request, in ms.",
            f"{_REQUESTS}=LocalTimeMs,request=*", "request", "quantile"),
    summary("kafka_network_requestmetrics_remotetimems", "Time that a request waited for others, in ms.",
            f"{_REQUESTS}=RemoteTimeMs,request=*", "request", "quantile"),
    summary("kafka_network_requestmetrics_throttletimems", "Time for which quotas delayed a request, in ms.",
            f"{_REQUESTS}=ThrottleTimeMs,request=*", "request", "quantile"),
    summary("kafka_network_requestmetrics_responsequeuetimems",
            "Time that a response waited behind earlier responses, in ms.",
            f"{_REQUESTS}=ResponseQueueTimeMs,request=*", "request", "quantile"),
    summary("kafka_network_requestmetrics_responsesendtimems", "Time in which the client took a response, in ms.",
            f"{_REQUESTS}=ResponseSendTimeMs,request=*", "request", "quantile"),
    summary("kafka_network_requestmetrics_requestbytes", "Size of a request in bytes.",
            f"{_REQUESTS}=RequestBytes,request=*", "request", "quantile"),
    gauge("kafka_network_requestchannel_requestqueuesize", "Requests that wait to be started.",
          f"{_CHANNEL}=RequestQueueSize"),
    gauge("kafka_network_requestchannel_responsequeuesize", "Responses that wait to be sent.",
          f"{_CHANNEL}=ResponseQueueSize"),
    gauge("kafka_network_socketserver_networkprocessoravgidle_percent",
          "Share of time, 0 to 1, in which the event loop was idle.",
          "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent"),
    gauge("kafka_network_socketserver_memorypoolavailable", "Bytes that further requests may take.",
          "kafka.network:type=SocketServer,name=MemoryPoolAvailable"),
    gauge("kafka_network_socketserver_memorypoolused", "Bytes of requests in memory.",
          "kafka.network:type=SocketServer,name=MemoryPoolUsed"),
    gauge("kafka_network_socketserver_expiredconnectionskilledcount",
          "Connections closed because their login expired.",
          "kafka.network:type=SocketServer,name=ExpiredConnectionsKilledCount"),
    gauge("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
          "Share of time, 0 to 1, in which the worker threads were idle.",
          "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"),
    gauge("kafka_server_socket_server_metrics_connection_count", "Open connections.",
          f"{_SOCKETS}:connection-count", "listener", "networkProcessor"),
    gauge("kafka_server_socket_server_metrics_connection_creation_rate", "New connections a second.",
          f"{_SOCKETS}:connection-creation-rate", "listener", "networkProcessor"),
    counter("kafka_server_socket_server_metrics_connection_creation_total", "Connections accepted.",
            f"{_SOCKETS}:connection-creation-total", "listener", "networkProcessor"),
    gauge("kafka_server_socket_server_metrics_connections_software", "Open connections by the client's library.",
          f"{_SOCKETS},clientSoftwareName=*,clientSoftwareVersion=*:connections",
          "clientSoftwareName", "clientSoftwareVersion", "listener", "networkProcessor"),
    counter("kafka_server_socket_server_metrics_successful_authentication_total", "Logins that succeeded.",
            f"{_SOCKETS}:successful-authentication-total", "listener", "networkProcessor"),
    counter("kafka_server_socket_server_metrics_failed_authentication_total", "Logins that failed.",
            f"{_SOCKETS}:failed-authentication-total", "listener", "networkProcessor"),
    gauge("kafka_server_produce_byte_rate", "Bytes a second that a client with a quota produces.",
          "kafka.server:type=Produce,user=*,client-id=*:byte-rate", "user", "client_id"),
    gauge("kafka_server_produce_throttle_time", "Time by which the quota delays a producer, in ms.",
          "kafka.server:type=Produce,user=*,client-id=*:throttle-time", "user", "client_id"),
    gauge("kafka_server_fetch_byte_rate", "Bytes a second that a client with a quota fetches.",
          "kafka.server:type=Fetch,user=*,client-id=*:byte-rate", "user", "client_id"),
    gauge("kafka_server_fetch_throttle_time", "Time by which the quota delays a consumer, in ms.",
          "kafka.server:type=Fetch,user=*,client-id=*:throttle-time", "user", "client_id"),
)
