import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringSerializer;

/** Runs transactions with offsets one after another until told to stop. README.md describes arguments and output. */
public class TransactionTraffic {
    private static final int DAY_MS = 86_400_000;
    private static final int RECORDS_EACH = 6;
    private static final int PAUSE_MS = 50;

    private final String topic;
    private final int partitions;
    private final String group;
    private final KafkaProducer<String, String> producer;

    TransactionTraffic(String servers, String topic, int partitions, String group) {
        this.topic = topic;
        this.partitions = partitions;
        this.group = group;
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", servers);
        settings.put("transactional.id", "shop");
        settings.put("transaction.timeout.ms", 900_000); // the longest: none ends because the machine is busy
        settings.put("delivery.timeout.ms", DAY_MS);
        settings.put("max.block.ms", DAY_MS);
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
    }

    /** Returns whether the transaction was committed. */
    boolean transact(int number, boolean wantsCommit) {
        producer.beginTransaction();
        try {
            for (int index = 0; index < RECORDS_EACH; index++) {
                producer.send(new ProducerRecord<>(topic, index % partitions, null, number + "." + index));
            }
            OffsetAndMetadata progress = new OffsetAndMetadata(number + 1);
            producer.sendOffsetsToTransaction(
                    Map.of(new TopicPartition(topic, 0), progress), new ConsumerGroupMetadata(group));
            producer.flush();
            if (wantsCommit) {
                producer.commitTransaction();
                return true;
            }
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException failure) {
            throw failure;
        } catch (KafkaException failure) {
            failure.printStackTrace(); // it may be tried again, as another transaction
        }
        producer.abortTransaction();
        return false;
    }

    void run() throws IOException, InterruptedException {
        for (int number = 0; number % 3 != 0 || System.in.available() == 0; number++) {
            boolean isCommitted = transact(number, number % 3 != 2);
            System.out.println((isCommitted ? "committed " : "aborted ") + number);
            Thread.sleep(PAUSE_MS);
        }
        producer.close();
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        new TransactionTraffic(arguments[0], arguments[1], Integer.parseInt(arguments[2]), arguments[3]).run();
    }
}
