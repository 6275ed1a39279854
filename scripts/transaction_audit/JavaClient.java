import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** A client of Kafka's own library: the same work and journal as `librdkafka_client.py`. */
public class JavaClient implements ConsumerRebalanceListener {
    private static final int TRANSACTION_TIMEOUT_MS = 20_000; // as in writing.py
    private static final int MOST_COPIED = 40;

    private final Random random = new Random();
    private final String topic;
    private final int partitions;
    private final String output;
    private final String name;
    private final FileOutputStream journal;
    private final KafkaProducer<String, String> producer;
    private final KafkaConsumer<String, String> consumer;
    private volatile boolean isToldToEnd = false;
    private int number = 0;

    JavaClient(String what, String servers, String topic, int partitions, String id, String journal, String output)
            throws IOException {
        Thread orders = new Thread(this::awaitOrders);
        orders.setDaemon(true);
        orders.start();
        this.topic = topic;
        this.partitions = partitions;
        this.output = output;
        this.name = journal.substring(journal.lastIndexOf('/') + 1).replace(".journal", "");
        this.journal = new FileOutputStream(journal, true);
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", servers);
        settings.put("reconnect.backoff.max.ms", 500);
        Map<String, Object> reading = new HashMap<>(settings);
        reading.put("isolation.level", "read_committed");
        reading.put("enable.auto.commit", false);
        reading.put("max.poll.records", MOST_COPIED);
        settings.put("transactional.id", id);
        settings.put("transaction.timeout.ms", TRANSACTION_TIMEOUT_MS);
        if (what.equals("copy")) {
            reading.put("group.id", "copies");
            reading.put("session.timeout.ms", 6000);
            reading.put("heartbeat.interval.ms", 2000);
            reading.put("auto.offset.reset", "earliest");
        }
        consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
        if (what.equals("copy")) {
            consumer.subscribe(List.of(topic), this);
        } else {
            List<TopicPartition> all = IntStream.range(0, partitions)
                    .mapToObj(each -> new TopicPartition(topic, each)).collect(Collectors.toList());
            consumer.assign(all);
            consumer.seekToEnd(all);
        }
        producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        write("session");
    }

    /** Exits when the input ends: the audit is over. */
    void awaitOrders() {
        try {
            isToldToEnd = System.in.read() >= 0;
        } catch (IOException failure) {
            System.err.println(failure);
        }
        if (!isToldToEnd) {
            Runtime.getRuntime().halt(1);
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> places) {}

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> places) {
        try {
            write("moved");
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    void write(String step) throws IOException {
        journal.write(String.format("[\"%s\", %.6f]%n", step, System.nanoTime() / 1e9).getBytes());
    }

    void write(String step, List<String> records) throws IOException {
        String all = String.join(", ", records);
        String line = String.format("[\"%s\", %.6f, [%s]]%n", step, System.nanoTime() / 1e9, all);
        journal.write(line.getBytes(StandardCharsets.UTF_8));
    }

    void send(List<ProducerRecord<String, String>> records) throws IOException {
        write("send", records.stream()
                .map(each -> String.format("[\"%s\", %d, \"%s\"]", each.topic(), each.partition(), each.value()))
                .collect(Collectors.toList()));
        records.forEach(producer::send);
    }

    void noteReads(ConsumerRecords<String, String> records) throws IOException {
        List<String> found = new ArrayList<>();
        for (ConsumerRecord<String, String> each : records) {
            found.add(String.format(
                    "[\"%s\", %d, %d, \"%s\"]", each.topic(), each.partition(), each.offset(), each.value()));
        }
        if (!found.isEmpty()) {
            write("read", found);
        }
    }

    /** Returns whether the transaction was committed. */
    boolean end() throws IOException {
        if (random.nextInt(100) < 15) {
            return false;
        }
        write("commit");
        while (true) {
            try {
                producer.commitTransaction();
                write("committed");
                return true;
            } catch (TimeoutException again) {
                System.err.println(again);
            }
        }
    }

    boolean append() throws IOException, InterruptedException {
        for (int part = 1 + random.nextInt(3); part > 0; part--) {
            List<ProducerRecord<String, String>> records = new ArrayList<>();
            for (int count = 1 + random.nextInt(3); count > 0; count--) {
                records.add(new ProducerRecord<>(topic, random.nextInt(partitions), null, name + "/" + number++));
            }
            send(records);
            noteReads(consumer.poll(Duration.ofMillis(random.nextInt(100))));
            if (random.nextInt(100) < 3) {
                Thread.sleep(500 + random.nextInt(2500));
            }
        }
        return end();
    }

    boolean copy(ConsumerRecords<String, String> polled, Map<TopicPartition, Long> firsts) throws IOException {
        noteReads(polled);
        number++;
        List<ProducerRecord<String, String>> copies = new ArrayList<>();
        Map<TopicPartition, OffsetAndMetadata> nexts = new HashMap<>();
        for (ConsumerRecord<String, String> each : polled) {
            String value = each.value() + " copied by " + name + "/" + number;
            copies.add(new ProducerRecord<>(output, each.partition(), null, value));
            TopicPartition place = new TopicPartition(each.topic(), each.partition());
            firsts.putIfAbsent(place, each.offset());
            nexts.put(place, new OffsetAndMetadata(each.offset() + 1));
        }
        send(copies);
        producer.sendOffsetsToTransaction(nexts, consumer.groupMetadata());
        return end();
    }

    /** Runs one transaction; throws if the client is fenced. */
    void transact(ConsumerRecords<String, String> polled) throws IOException, InterruptedException {
        Map<TopicPartition, Long> firsts = new HashMap<>();
        producer.beginTransaction();
        write("begin");
        try {
            if (output.isEmpty() ? append() : copy(polled, firsts)) {
                return;
            }
        } catch (ProducerFencedException | OutOfOrderSequenceException fatal) {
            throw fatal;
        } catch (KafkaException failure) {
            System.err.println(failure);
        }
        producer.abortTransaction();
        write("aborted");
        if (!firsts.isEmpty()) {
            write("moved");
        }
        firsts.forEach((place, offset) -> {
            if (consumer.assignment().contains(place)) {
                consumer.seek(place, offset);
            }
        });
    }

    void run() throws IOException, InterruptedException {
        while (!isToldToEnd) {
            ConsumerRecords<String, String> polled =
                    output.isEmpty() ? ConsumerRecords.empty() : consumer.poll(Duration.ofMillis(500));
            if (output.isEmpty() || !polled.isEmpty()) {
                transact(polled);
            }
        }
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        String output = arguments.length > 6 ? arguments[6] : "";
        new JavaClient(arguments[0], arguments[1], arguments[2], Integer.parseInt(arguments[3]), arguments[4],
                arguments[5], output).run();
        Runtime.getRuntime().halt(0);
    }
}
