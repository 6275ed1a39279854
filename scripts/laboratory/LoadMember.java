import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * One Java client of the load: an idempotent producer or a member of a consumer group.
 *
 * Arguments: `produce` or `consume`, bootstrap servers, topic, name, partitions, records a second. Prints a line for each
 * record that is acknowledged or received: partition, number, milliseconds since 1970. A producer ends at the end of its
 * input, after all its records are acknowledged.
 */
public class LoadMember {
    static final PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true);

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[1]);
        if (arguments[0].equals("produce")) {
            produce(settings, arguments[2], arguments[3], Integer.parseInt(arguments[4]), Integer.parseInt(arguments[5]));
        } else {
            consume(settings, arguments[2], arguments[3]);
        }
    }

    static void produce(Map<String, Object> settings, String topic, String name, int partitions, int rate)
            throws Exception {
        settings.put("delivery.timeout.ms", Integer.MAX_VALUE);
        settings.put("linger.ms", 5);
        settings.put("max.block.ms", Long.MAX_VALUE);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            long startedNs = System.nanoTime();
            for (long sent = 0; System.in.available() == 0; sent++) {
                long waitNs = startedNs + sent * 1_000_000_000L / rate - System.nanoTime();
                if (waitNs > 0) {
                    Thread.sleep(waitNs / 1_000_000, (int) (waitNs % 1_000_000));
                }
                int partition = (int) (sent % partitions);
                long number = sent / partitions;
                producer.send(new ProducerRecord<>(topic, partition, name, String.valueOf(number)), (metadata, error) -> {
                    if (error == null) {
                        tell(partition, number);
                    } else {
                        System.err.println(error);
                    }
                });
            }
        }
    }

    static void consume(Map<String, Object> settings, String topic, String name) {
        settings.put("group.id", name);
        settings.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (true) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    tell(record.partition(), Long.parseLong(record.value()));
                }
            }
        }
    }

    static void tell(int partition, long number) {
        byte[] line = (partition + " " + number + " " + System.currentTimeMillis() + "\n").getBytes(StandardCharsets.US_ASCII);
        out.write(line, 0, line.length);
        out.flush();
    }
}
