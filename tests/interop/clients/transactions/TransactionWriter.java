import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Fills partition 0 of a topic with transactions, one left open: see README.md. */
public class TransactionWriter {
    private static final int KEYS = 12;

    private final String servers;
    private final String topic;
    private final Random chance = new Random(7);
    private int number = 0;

    TransactionWriter(String servers, String topic) {
        this.servers = servers;
        this.topic = topic;
    }

    KafkaProducer<String, String> producer(String transactionalId, String codec) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", servers);
        settings.put("compression.type", codec);
        settings.put("linger.ms", 50);
        if (transactionalId != null) {
            settings.put("transactional.id", transactionalId);
            settings.put("transaction.timeout.ms", 900_000);
        }
        var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        if (transactionalId != null) {
            producer.initTransactions();
        }
        return producer;
    }

    void send(KafkaProducer<String, String> producer) {
        for (int count = 1 + chance.nextInt(5); count > 0; count--) {
            String key = "key " + chance.nextInt(KEYS);
            String value = chance.nextInt(8) == 0 ? null : "value " + number + " ".repeat(chance.nextInt(60));
            producer.send(new ProducerRecord<>(topic, 0, key, value));
            number++;
        }
        producer.flush();
    }

    void run(int rounds) {
        List<KafkaProducer<String, String>> producers = new ArrayList<>();
        String[] codecs = {"none", "gzip", "lz4", "zstd"};
        for (int index = 0; index < codecs.length; index++) {
            producers.add(producer("transactions " + index, codecs[index]));
        }
        KafkaProducer<String, String> plain = producer(null, "snappy");
        for (int round = 0; round < rounds; round++) {
            producers.forEach(KafkaProducer::beginTransaction);
            for (int turn = 0; turn < 6; turn++) {
                int choice = chance.nextInt(producers.size() + 1);
                send(choice < producers.size() ? producers.get(choice) : plain);
            }
            for (KafkaProducer<String, String> each : producers) {
                if (chance.nextInt(3) == 0) {
                    each.abortTransaction();
                } else {
                    each.commitTransaction();
                }
            }
        }
        producers.forEach(KafkaProducer::beginTransaction);
        send(producers.get(0)); // and neither committed nor aborted
        send(producers.get(1));
        producers.get(1).commitTransaction();
        send(plain);
    }

    public static void main(String[] arguments) {
        new TransactionWriter(arguments[0], arguments[1]).run(Integer.parseInt(arguments[2]));
        System.out.println("written");
        System.out.flush();
        Runtime.getRuntime().halt(0); // a close would abort what is open
    }
}
