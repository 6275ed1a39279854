import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/** The commands of clients/README.md with transactions, by Kafka's own Java clients from 3.9 on. */
public class Transactor {
    private static final String STRINGS = "org.apache.kafka.common.serialization.String";

    private final String servers;

    private Transactor(String servers) {
        this.servers = servers;
    }

    public static void main(String[] arguments) throws Exception {
        Transactor transactor = new Transactor(arguments[1]);
        String name = arguments[2];
        switch (arguments[0]) {
            case "transact" -> transactor.transact(name, arguments[3], Integer.parseInt(arguments[4]),
                Integer.parseInt(arguments[5]), arguments[6].equals("commit"));
            case "hold" -> transactor.hold(name, arguments[3], Integer.parseInt(arguments[4]));
            case "copy" -> transactor.copy(name, arguments[3], arguments[4], arguments[5],
                Integer.parseInt(arguments[6]));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private KafkaProducer<String, String> producer(String transactionalId, int timeoutMs) {
        KafkaProducer<String, String> producer = new KafkaProducer<>(Map.of("bootstrap.servers", servers,
            "key.serializer", STRINGS + "Serializer", "value.serializer", STRINGS + "Serializer",
            "transactional.id", transactionalId, "transaction.timeout.ms", timeoutMs));
        producer.initTransactions();
        return producer;
    }

    private static void print(RecordMetadata place) {
        System.out.printf("{\"partition\": %d, \"offset\": %d}%n", place.partition(), place.offset());
    }

    private void transact(String topic, String id, int first, int amount, boolean commits) throws Exception {
        try (KafkaProducer<String, String> producer = producer(id, 60_000)) {
            producer.beginTransaction();
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = first; n < first + amount; n++) {
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, "key-" + n, "value-" + n);
                record.headers().add("n", Integer.toString(n).getBytes(StandardCharsets.UTF_8));
                sent.add(producer.send(record));
            }
            producer.flush();
            if (commits) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
            for (Future<RecordMetadata> one : sent) {
                print(one.get());
            }
        }
    }

    private void hold(String topic, String id, int timeoutMs) throws Exception {
        KafkaProducer<String, String> producer = producer(id, timeoutMs);
        producer.beginTransaction();
        print(producer.send(new ProducerRecord<>(topic, 0, "held", "held")).get());
        System.in.readAllBytes();
        boolean isCommitted = true;
        try {
            producer.commitTransaction();
        } catch (KafkaException refused) {
            isCommitted = false;
        }
        System.out.printf("{\"committed\": %b}%n", isCommitted);
        producer.close();
    }

    private void copy(String source, String target, String group, String id, int amount) {
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "group.id", group,
            "key.deserializer", STRINGS + "Deserializer", "value.deserializer", STRINGS + "Deserializer",
            "max.poll.records", 7, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "isolation.level", "read_committed");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings);
             KafkaProducer<String, String> producer = producer(id, 60_000)) {
            consumer.subscribe(List.of(source));
            int left = amount;
            while (left > 0) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
                if (records.isEmpty()) {
                    continue;
                }
                Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                for (boolean commits : new boolean[] {false, true}) {
                    producer.beginTransaction();
                    for (ConsumerRecord<String, String> record : records) {
                        producer.send(new ProducerRecord<>(target, record.key(), record.value()));
                        TopicPartition place = new TopicPartition(record.topic(), record.partition());
                        next.put(place, new OffsetAndMetadata(record.offset() + 1));
                    }
                    producer.sendOffsetsToTransaction(next, consumer.groupMetadata());
                    if (commits) {
                        producer.commitTransaction();
                    } else {
                        producer.abortTransaction();
                    }
                }
                System.out.printf("{\"copied\": %d}%n", records.count());
                left -= records.count();
            }
        }
    }
}
