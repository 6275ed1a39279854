"""The controller: Kafka's KafkaController, ControllerStats and ControllerEventManager; and ZooKeeper's sessions."""

from .rows import rows_of
from .series import Spelling

counter, gauge, summary, _ = rows_of(Spelling.JMX)

_CONTROLLER = "kafka.controller:type=KafkaController,name"
_STATS = "kafka.controller:type=ControllerStats,name"
_EVENTS = "kafka.controller:type=ControllerEventManager,name"
_SESSION = "kafka.server:type=SessionExpireListener,name"

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SERIES = (
    gauge("kafka_controller_kafkacontroller_activecontrollercount",
          "1 on the broker that is the controller; the sum over the brokers must be 1.",
          f"{_CONTROLLER}=ActiveControllerCount"),
    gauge("kafka_controller_kafkacontroller_offlinepartitionscount",
          "Partitions without a leader; 0 where the broker is not the controller.",
          f"{_CONTROLLER}=OfflinePartitionsCount"),
    gauge("kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
          "Partitions that another replica than the preferred one leads; 0 on other brokers.",
          f"{_CONTROLLER}=PreferredReplicaImbalanceCount"),
    gauge("kafka_controller_kafkacontroller_globaltopiccount", "Topics of the cluster; 0 on other brokers.",
          f"{_CONTROLLER}=GlobalTopicCount"),
    gauge("kafka_controller_kafkacontroller_globalpartitioncount", "Partitions of the cluster; 0 on other brokers.",
          f"{_CONTROLLER}=GlobalPartitionCount"),
    gauge("kafka_controller_kafkacontroller_topicstodeletecount", "Topics whose deletion is not over.",
          f"{_CONTROLLER}=TopicsToDeleteCount"),
    gauge("kafka_controller_kafkacontroller_topicsineligibletodeletecount",
          "Topics whose deletion waits for a broker or a reassignment.",
          f"{_CONTROLLER}=TopicsIneligibleToDeleteCount"),
    gauge("kafka_controller_kafkacontroller_activebrokercount", "Brokers that are alive; 0 on other brokers.",
          f"{_CONTROLLER}=ActiveBrokerCount"),
    gauge("kafka_controller_kafkacontroller_fencedbrokercount", "Fenced brokers: always 0 with ZooKeeper.",
          f"{_CONTROLLER}=FencedBrokerCount"),
    counter("kafka_controller_controllerstats_uncleanleaderelections_total",
            "Leaders elected outside the ISR: acknowledged records may be lost.",
            f"{_STATS}=UncleanLeaderElectionsPerSec"),
    summary("kafka_controller_controllerstats_leaderelectionrateandtimems", "Time of leader elections, in ms.",
            f"{_STATS}=LeaderElectionRateAndTimeMs", "quantile"),
    summary("kafka_controller_controllerstats_topicdeletionrateandtimems", "Time of deletions of topics, in ms.",
            f"{_STATS}=TopicDeletionRateAndTimeMs", "quantile"),
    gauge("kafka_controller_controllereventmanager_eventqueuesize", "Events that wait for the controller.",
          f"{_EVENTS}=EventQueueSize"),
    summary("kafka_controller_controllereventmanager_eventqueuetimems", "Time that an event waited, in ms.",
            f"{_EVENTS}=EventQueueTimeMs", "quantile"),
    gauge("kafka_server_kafkaserver_brokerstate",
          "0 not running, 1 starting, 2 recovering logs, 3 running, 6 controlled shutdown, 7 shutting down.",
          "kafka.server:type=KafkaServer,name=BrokerState"),
    counter("kafka_server_sessionexpirelistener_zookeeperdisconnects_total", "Connections to ZooKeeper that were lost.",
            f"{_SESSION}=ZooKeeperDisconnectsPerSec"),
    counter("kafka_server_sessionexpirelistener_zookeeperexpires_total", "ZooKeeper sessions that expired.",
            f"{_SESSION}=ZooKeeperExpiresPerSec"),
    counter("kafka_server_sessionexpirelistener_zookeepersyncconnects_total", "Connections to ZooKeeper.",
            f"{_SESSION}=ZooKeeperSyncConnectsPerSec"),
    summary("kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms", "Time of a request to ZooKeeper, in ms.",
            "kafka.server:type=ZooKeeperClientMetrics,name=ZooKeeperRequestLatencyMs", "quantile"),
)
