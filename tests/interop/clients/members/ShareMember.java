import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of a share group. Arguments: SERVERS GROUP TOPIC MODE, where MODE is implicit or explicit.
 *
 * An explicit member rejects offsets 1, 11, 21, …, releases 2, 12, 22, … once and renews 3, 13, 23, … once, if the client
 * can. It accepts all others. It prints a line for each record ("read PARTITION OFFSET DELIVERIES TYPE") and for each
 * response to acknowledgements ("told PARTITION ERROR OFFSET,…", the error "none" if there is none).
 */
public class ShareMember {
    private final KafkaShareConsumer<String, String> consumer;
    private final Set<String> renewed = new HashSet<>();

    private ShareMember(Map<String, Object> settings) {
        consumer = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.setAcknowledgementCommitCallback(ShareMember::tell);
    }

    public static void main(String[] arguments) {
        ShareMember member = new ShareMember(new HashMap<>(Map.of(
            "bootstrap.servers", arguments[0],
            "group.id", arguments[1],
            "share.acknowledgement.mode", arguments[3],
            "max.poll.records", "50")));
        Thread reader = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            member.consumer.wakeup();
            try {
                reader.join();
            } catch (InterruptedException impossible) {
                throw new AssertionError(impossible);
            }
        }));
        member.read(arguments[2], arguments[3].equals("explicit"));
    }

    private void read(String topic, boolean isExplicit) {
        try (consumer) {
            consumer.subscribe(List.of(topic));
            while (true) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    AcknowledgeType type = isExplicit ? type(record) : AcknowledgeType.ACCEPT;
                    System.out.printf("read %d %d %d %s%n",
                        record.partition(), record.offset(), record.deliveryCount().get(), type);
                    if (isExplicit) {
                        consumer.acknowledge(record, type);
                    }
                }
                consumer.commitSync();
            }
        } catch (WakeupException told) {
            // The member was told to leave.
        }
    }

    private AcknowledgeType type(ConsumerRecord<String, String> record) {
        long digit = record.offset() % 10;
        if (digit == 1) {
            return AcknowledgeType.REJECT;
        }
        if (digit == 2 && record.deliveryCount().get() == 1) {
            return AcknowledgeType.RELEASE;
        }
        if (digit == 3 && renewed.add(record.partition() + " " + record.offset())) {
            for (AcknowledgeType each : AcknowledgeType.values()) {
                if (each.name().equals("RENEW")) {
                    return each;
                }
            }
        }
        return AcknowledgeType.ACCEPT;
    }

    private static void tell(Map<TopicIdPartition, Set<Long>> acknowledged, Exception failure) {
        String error = failure == null ? "none" : failure.getClass().getSimpleName();
        acknowledged.forEach((partition, offsets) -> System.out.printf("told %d %s %s%n", partition.partition(), error,
            offsets.stream().map(String::valueOf).collect(Collectors.joining(","))));
    }
}
