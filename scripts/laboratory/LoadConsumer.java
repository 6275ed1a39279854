import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A member of the consumer group of the load, by Kafka's Java client.
 *
 * Arguments: bootstrap servers, topic, group. Prints a line for each record: `read`, partition, number, milliseconds since
 * 1970.
 */
public class LoadConsumer {
    static final PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true);

    public static void main(String[] arguments) {
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", arguments[0],
                        "group.id", arguments[2],
                        "auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(arguments[1]));
            while (true) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    tell(record.partition(), record.value().split(" ")[0]);
                }
            }
        }
    }

    static void tell(int partition, String number) {
        String line = "read " + partition + " " + number + " " + System.currentTimeMillis() + "\n";
        out.writeBytes(line.getBytes(StandardCharsets.US_ASCII));
        out.flush();
    }
}
