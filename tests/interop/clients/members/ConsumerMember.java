import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A member of the consumer protocol by the consumer of Kafka 4. README.md describes arguments and output. */
public class ConsumerMember implements ConsumerRebalanceListener {
    private static final String PAUSED = "paused.partition", RESUME = "resume";

    private final KafkaConsumer<String, String> consumer;
    private final int paused;

    private ConsumerMember(Map<String, Object> settings) {
        paused = Integer.parseInt((String) settings.getOrDefault(PAUSED, "-1"));
        settings.remove(PAUSED);
        consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    public static void main(String[] arguments) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", arguments[0],
            "group.id", arguments[1],
            "group.protocol", "consumer",
            "auto.offset.reset", "earliest",
            "metadata.max.age.ms", "100"));
        for (String argument : List.of(arguments).subList(3, arguments.length)) {
            String[] pair = argument.split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        ConsumerMember member = new ConsumerMember(settings);
        Thread reader = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            member.consumer.wakeup();
            try {
                reader.join();
            } catch (InterruptedException impossible) {
                throw new AssertionError(impossible);
            }
        }));
        member.read(arguments[2]);
    }

    private void read(String subscription) {
        try (consumer) {
            if (subscription.startsWith("^")) {
                consumer.subscribe(new SubscriptionPattern(subscription), this);
            } else {
                consumer.subscribe(List.of(subscription), this);
            }
            while (true) {
                for (ConsumerRecord<String, String> record : poll()) {
                    System.out.printf("{\"event\": \"read\", \"topic\": \"%s\", \"partition\": %d, \"value\": \"%s\"}%n",
                        record.topic(), record.partition(), record.value());
                    if (record.value().equals(RESUME)) {
                        consumer.resume(consumer.paused());
                    }
                }
            }
        } catch (WakeupException told) {
            // The member was told to leave.
        } catch (KafkaException failure) {
            System.out.printf("{\"event\": \"failed\", \"error\": \"%s: %s\"}%n",
                failure.getClass().getSimpleName(), failure.getMessage().replace("\"", "'"));
        }
    }

    /** A member whose session ended may be told so when it asks for offsets; the next poll joins again. */
    private ConsumerRecords<String, String> poll() {
        try {
            return consumer.poll(Duration.ofSeconds(1));
        } catch (UnknownMemberIdException ended) {
            return ConsumerRecords.empty();
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        consumer.pause(partitions.stream().filter(each -> each.partition() == paused).collect(Collectors.toList()));
        print("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        print("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        print("lost", partitions);
    }

    private static void print(String event, Collection<TopicPartition> partitions) {
        String all = partitions.stream()
            .map(partition -> String.format("[\"%s\", %d]", partition.topic(), partition.partition()))
            .collect(Collectors.joining(", "));
        System.out.printf("{\"event\": \"%s\", \"partitions\": [%s]}%n", event, all);
    }
}
