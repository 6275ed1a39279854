import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.LongStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Transactions of one of these kinds:
 *   commit  servers topic partitions producers records seconds: each producer commits transactions of so many records
 *   fill    servers topic records: transactions of 100 records, of which every tenth is aborted
 *   copy    servers from to records: reads committed records, and commits 1,000 of them with their offsets at a time
 * Records have 100 bytes. Prints one line of name=value pairs.
 */
public class TransactionLoad {
    static final byte[] VALUE = new byte[100];
    static final int COPIED_AT_ONCE = 1000;
    static final int FILLED_AT_ONCE = 100;
    static final long WARM_UP_NS = 2_000_000_000L;
    static final LongAdder ENDED = new LongAdder();

    public static void main(String[] arguments) throws Exception {
        List<String> rest = Arrays.asList(arguments).subList(2, arguments.length);
        switch (arguments[0]) {
            case "commit" -> commit(arguments[1], rest);
            case "fill" -> fill(arguments[1], rest.get(0), Integer.parseInt(rest.get(1)));
            case "copy" -> copy(arguments[1], rest.get(0), rest.get(1), Integer.parseInt(rest.get(2)));
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static void commit(String servers, List<String> rest) throws Exception {
        String topic = rest.get(0);
        int partitions = Integer.parseInt(rest.get(1));
        int producers = Integer.parseInt(rest.get(2));
        int records = Integer.parseInt(rest.get(3));
        long measuredNs = (long) (Double.parseDouble(rest.get(4)) * 1e9);
        ExecutorService threads = Executors.newFixedThreadPool(producers);
        CountDownLatch ready = new CountDownLatch(producers);
        Callable<long[]> committing = () -> commitFor(measuredNs, servers, topic, partitions, records, ready);
        long[] all = new long[0];
        for (Future<long[]> each : threads.invokeAll(Collections.nCopies(producers, committing))) {
            all = LongStream.concat(Arrays.stream(all), Arrays.stream(each.get())).toArray();
        }
        threads.shutdown();
        Arrays.sort(all);
        System.out.printf(
                "rate=%.2f p50_ms=%.3f p99_ms=%.3f ended=%d%n",
                all.length / (measuredNs / 1e9),
                all[all.length / 2] / 1e6,
                all[(int) (all.length * 0.99)] / 1e6,
                ENDED.sum());
    }

    /** Returns the nanoseconds of each transaction in the measured time, which begins after a warm-up of all producers. */
    static long[] commitFor(
            long measuredNs, String servers, String topic, int partitions, int records, CountDownLatch ready)
            throws InterruptedException {
        LongStream.Builder taken = LongStream.builder();
        try (KafkaProducer<byte[], byte[]> producer = producer(servers)) {
            ready.countDown();
            ready.await();
            long fromNs = System.nanoTime() + WARM_UP_NS;
            for (long beganNs = System.nanoTime(); beganNs < fromNs + measuredNs; ) {
                producer.beginTransaction();
                for (int number = 0; number < records; number++) {
                    producer.send(new ProducerRecord<>(topic, number % partitions, null, VALUE));
                }
                producer.commitTransaction();
                ENDED.increment();
                long endedNs = System.nanoTime();
                if (fromNs <= beganNs && endedNs <= fromNs + measuredNs) {
                    taken.add(endedNs - beganNs);
                }
                beganNs = endedNs;
            }
        }
        return taken.build().toArray();
    }

    static void fill(String servers, String topic, int records) {
        int committed = 0;
        try (KafkaProducer<byte[], byte[]> producer = producer(servers)) {
            for (int number = 0; number * FILLED_AT_ONCE < records; number++) {
                producer.beginTransaction();
                for (int each = 0; each < FILLED_AT_ONCE; each++) {
                    producer.send(new ProducerRecord<>(topic, 0, null, VALUE));
                }
                if (number % 10 == 9) {
                    producer.flush();
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                    committed += FILLED_AT_ONCE;
                }
            }
        }
        System.out.printf("committed=%d%n", committed);
    }

    static void copy(String servers, String from, String to, int records) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", "copy-" + System.nanoTime());
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        settings.put("isolation.level", "read_committed");
        settings.put("max.poll.records", COPIED_AT_ONCE);
        long beganNs = 0;
        int copied = 0;
        try (KafkaProducer<byte[], byte[]> producer = producer(servers);
                KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                        settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(from));
            while (copied < records) {
                ConsumerRecords<byte[], byte[]> polled = consumer.poll(Duration.ofSeconds(30));
                if (polled.isEmpty()) {
                    throw new IllegalStateException("no more records after " + copied);
                }
                if (beganNs == 0) {
                    beganNs = System.nanoTime();
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<byte[], byte[]> each : polled) {
                    producer.send(new ProducerRecord<>(to, each.partition(), each.key(), each.value()));
                    TopicPartition partition = new TopicPartition(from, each.partition());
                    offsets.put(partition, new OffsetAndMetadata(each.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                producer.commitTransaction();
                copied += polled.count();
            }
        }
        System.out.printf("rate=%.2f%n", copied / ((System.nanoTime() - beganNs) / 1e9));
    }

    static KafkaProducer<byte[], byte[]> producer(String servers) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", servers);
        settings.put("transactional.id", "load-" + Thread.currentThread().getId() + "-" + System.nanoTime());
        settings.put("acks", "all");
        settings.put("linger.ms", 5);
        settings.put("batch.size", 65536);
        KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        return producer;
    }
}
