import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends numbered records to every partition until its input ends. README.md describes arguments and output. */
public class SteadyProducer {
    public static void main(String[] arguments) throws InterruptedException {
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers", arguments[0],
                        "linger.ms", 0,
                        "batch.size", 1024,
                        "delivery.timeout.ms", 600_000,
                        "max.block.ms", 600_000,
                        "enable.idempotence", true);
        AtomicBoolean ends = new AtomicBoolean();
        Thread input = new Thread(() -> {
            try {
                System.in.readAllBytes();
            } catch (IOException closed) {
                // The same as an end.
            }
            ends.set(true);
        });
        input.start();
        int partitions = Integer.parseInt(arguments[3]);
        String filling = "x".repeat(Integer.parseInt(arguments[4]));
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int number = 0; !ends.get(); number++) {
                for (int partition = 0; partition < partitions; partition++) {
                    String name = partition + " " + number;
                    var record = new ProducerRecord<>(arguments[1], partition, arguments[2], number + " " + filling);
                    producer.send(record, (metadata, failure) -> report(name, failure));
                }
                Thread.sleep(Integer.parseInt(arguments[5]));
            }
        }
    }

    private static synchronized void report(String name, Exception failure) {
        String line = failure == null ? "acked " + name + " " + System.currentTimeMillis() : "failed " + name + " " + failure;
        System.out.println(line);
        System.out.flush();
    }
}
