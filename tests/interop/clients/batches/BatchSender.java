import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends records in one batch. README.md describes arguments and output. */
public class BatchSender {
    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", arguments[0],
                        "linger.ms", 60_000,
                        "batch.size", 1 << 20,
                        "compression.type", arguments[2]);
        List<Future<RecordMetadata>> answers = new ArrayList<>();
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int index = 3; index < arguments.length; index++) {
                String[] parts = arguments[index].split("@", 2);
                String key = parts[0].isEmpty() ? null : parts[0];
                Long timestamp = parts[1].isEmpty() ? null : Long.valueOf(parts[1]);
                answers.add(producer.send(new ProducerRecord<>(arguments[1], 0, timestamp, key, "value")));
            }
            producer.flush();
        }
        for (Future<RecordMetadata> answer : answers) {
            try {
                System.out.println("offset " + answer.get().offset());
            } catch (ExecutionException failure) {
                System.out.println(failure.getCause().getClass().getSimpleName() + ": " + failure.getCause().getMessage());
            }
        }
    }
}
