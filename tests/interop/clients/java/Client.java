import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;

/** The commands of clients/README.md, by Kafka's own Java clients. */
public class Client {
    private static final String STRINGS = "org.apache.kafka.common.serialization.String";

    private final String servers;

    private Client(String servers) {
        this.servers = servers;
    }

    public static void main(String[] arguments) throws Exception {
        Client client = new Client(arguments[1]);
        String name = arguments[2];
        switch (arguments[0]) {
            case "create" -> client.create(name, Integer.parseInt(arguments[3]));
            case "produce" -> client.produce(name, Integer.parseInt(arguments[3]), Integer.parseInt(arguments[4]));
            case "consume" -> client.consume(name, arguments[3], Integer.parseInt(arguments[4]));
            case "member" -> client.member(name, arguments[3]);
            case "committed" -> client.committed(name);
            case "delete" -> client.delete(name);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private Map<String, Object> properties(Object... pairs) {
        Map<String, Object> all = new HashMap<>(Map.of("bootstrap.servers", servers));
        for (int i = 0; i < pairs.length; i += 2) {
            all.put((String) pairs[i], pairs[i + 1]);
        }
        return all;
    }

    private void create(String topic, int partitions) throws Exception {
        try (Admin admin = Admin.create(properties())) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
            int found = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
            System.out.printf("{\"partitions\": %d}%n", found);
        }
    }

    private void delete(String topic) throws Exception {
        try (Admin admin = Admin.create(properties())) {
            admin.deleteTopics(List.of(topic)).all().get();
            System.out.printf("{\"left\": %b}%n", admin.listTopics().names().get().contains(topic));
        }
    }

    private void committed(String group) throws Exception {
        try (Admin admin = Admin.create(properties())) {
            String state = admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState().toString();
            System.out.printf("{\"state\": \"%s\"}%n", state);
            admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((partition, offset) ->
                System.out.printf("{\"partition\": %d, \"offset\": %d}%n", partition.partition(), offset.offset()));
        }
    }

    private void produce(String topic, int first, int amount) throws Exception {
        Map<String, Object> properties = properties("key.serializer", STRINGS + "Serializer",
            "value.serializer", STRINGS + "Serializer", "compression.type", "gzip", "enable.idempotence", "true");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(properties)) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = first; n < first + amount; n++) {
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, "key-" + n, "value-" + n);
                record.headers().add("n", Integer.toString(n).getBytes(StandardCharsets.UTF_8));
                sent.add(producer.send(record));
            }
            for (Future<RecordMetadata> one : sent) {
                System.out.printf("{\"partition\": %d, \"offset\": %d}%n", one.get().partition(), one.get().offset());
            }
        }
    }

    private KafkaConsumer<String, String> consumer(String group) {
        return new KafkaConsumer<>(properties("key.deserializer", STRINGS + "Deserializer",
            "value.deserializer", STRINGS + "Deserializer", "group.id", group, "group.protocol", "classic",
            "heartbeat.interval.ms", "200", "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
    }

    private void member(String topic, String group) throws Exception {
        try (KafkaConsumer<String, String> consumer = consumer(group)) {
            Set<Integer> owned = new TreeSet<>();
            consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    partitions.forEach(partition -> owned.add(partition.partition()));
                    System.out.printf("{\"owned\": %s}%n", owned);
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    partitions.forEach(partition -> owned.remove(partition.partition()));
                    System.out.printf("{\"owned\": %s}%n", owned);
                }
            });
            Thread input = new Thread(() -> {
                try {
                    System.in.readAllBytes();
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
            });
            input.start();
            while (input.isAlive()) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                    System.out.printf("{\"partition\": %d, \"offset\": %d}%n", record.partition(), record.offset());
                }
                try {
                    consumer.commitSync();
                } catch (RebalanceInProgressException next) {
                    // The next poll rejoins, and the new owner of the partitions reads these records again.
                }
            }
        }
    }

    private void consume(String topic, String group, int amount) {
        try (KafkaConsumer<String, String> consumer = consumer(group)) {
            consumer.subscribe(List.of(topic));
            Map<TopicPartition, OffsetAndMetadata> done = new HashMap<>();
            int left = amount;
            while (left > 0) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    if (left-- > 0) {
                        print(record);
                        TopicPartition partition = new TopicPartition(record.topic(), record.partition());
                        done.put(partition, new OffsetAndMetadata(record.offset() + 1));
                    }
                }
            }
            consumer.commitSync(done);
        }
    }

    private static void print(ConsumerRecord<String, String> record) {
        String header = new String(record.headers().lastHeader("n").value(), StandardCharsets.UTF_8);
        System.out.printf("{\"partition\": %d, \"offset\": %d, \"key\": \"%s\", \"value\": \"%s\", \"n\": \"%s\"}%n",
            record.partition(), record.offset(), record.key(), record.value(), header);
    }
}
