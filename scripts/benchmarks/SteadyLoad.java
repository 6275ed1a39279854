import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends messages at a steady rate by several producers, while as many consumers, each in its own group, read all of them.
 *
 * All run in one process, because sixteen JVMs on two cores would measure themselves. Producers follow a fixed schedule
 * of ticks. The latency of a message counts from its tick to its receipt, so the delay of a blocked producer is included
 * (no "coordinated omission").
 *
 * Arguments: bootstrap servers, topic, messages a second in all, bytes a message, number of producers (and consumers),
 * seconds of warm-up, measured seconds. Prints one line of name=value pairs.
 */
public class SteadyLoad {
    static final long TICK_NS = 2_000_000;
    static final long TIMEOUT_NS = 30_000_000_000L;

    static String servers;
    static String topic;
    static int size;
    static long measuredFromNs;
    static long scheduleEndNs;
    static final AtomicLong acknowledged = new AtomicLong();
    static final AtomicLong measured = new AtomicLong();
    static final AtomicLong failed = new AtomicLong();
    static volatile long sentInAll = -1;
    static volatile long lastAcknowledgementNs;
    static volatile String failure = "";

    public static void main(String[] arguments) throws Exception {
        servers = arguments[0];
        topic = arguments[1];
        double rate = Double.parseDouble(arguments[2]);
        size = Integer.parseInt(arguments[3]);
        int pairs = Integer.parseInt(arguments[4]);
        long warmUpNs = (long) (Double.parseDouble(arguments[5]) * 1e9);
        long lengthNs = (long) (Double.parseDouble(arguments[6]) * 1e9);

        List<Reader> readers = new ArrayList<>();
        CountDownLatch ready = new CountDownLatch(pairs);
        for (int number = 0; number < pairs; number++) {
            readers.add(new Reader(number, ready));
        }
        readers.forEach(Thread::start);
        ready.await();

        long startNs = System.nanoTime() + 100_000_000;
        measuredFromNs = startNs + warmUpNs;
        scheduleEndNs = measuredFromNs + lengthNs;
        List<Writer> writers = new ArrayList<>();
        for (int number = 0; number < pairs; number++) {
            writers.add(new Writer(startNs, rate / pairs));
        }
        writers.forEach(Thread::start);
        long sent = 0;
        for (Writer writer : writers) {
            writer.join();
            sent += writer.sent;
        }
        sentInAll = sent;
        Histogram latencies = new Histogram();
        long fewest = Long.MAX_VALUE;
        long most = 0;
        long lastReceiptNs = 0;
        for (Reader reader : readers) {
            reader.join();
            fewest = Math.min(fewest, reader.received);
            most = Math.max(most, reader.received);
            lastReceiptNs = Math.max(lastReceiptNs, reader.lastReceiptNs);
            latencies.add(reader.latencies);
        }
        System.out.printf(
            "sent=%d acknowledged=%d fewest_received=%d most_received=%d failed=%d rate=%.1f late_ms=%.3f"
                + " client_cpu_s=%.2f avg_ms=%.3f p50_ms=%.3f p99_ms=%.3f p999_ms=%.3f max_ms=%.3f%n",
            sent, acknowledged.get(), fewest, most, failed.get(),
            measured.get() * 1e9 / Math.max(1, lastAcknowledgementNs - measuredFromNs),
            Math.max(0, lastReceiptNs - scheduleEndNs) / 1e6,
            ProcessHandle.current().info().totalCpuDuration().get().toMillis() / 1e3,
            latencies.average() / 1e6, latencies.percentile(0.5) / 1e6, latencies.percentile(0.99) / 1e6,
            latencies.percentile(0.999) / 1e6, latencies.max / 1e6);
        if (!failure.isEmpty()) {
            System.out.println(failure);
        }
    }

    static synchronized void fail(Exception error) {
        failed.incrementAndGet();
        failure = error.toString();
    }

    static void putTime(byte[] value, long time) {
        for (int index = 0; index < 8; index++) {
            value[index] = (byte) (time >>> (8 * index));
        }
    }

    static long timeOf(byte[] value) {
        long time = 0;
        for (int index = 0; index < 8; index++) {
            time |= (value[index] & 0xffL) << (8 * index);
        }
        return time;
    }

    static class Writer extends Thread {
        final long startNs;
        final double perTick;
        long sent;

        Writer(long startNs, double rate) {
            this.startNs = startNs;
            this.perTick = rate * TICK_NS / 1e9;
        }

        @Override
        public void run() {
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", servers);
            settings.put("acks", "all");
            settings.put("linger.ms", 5);
            settings.put("batch.size", 65536);
            settings.put("key.serializer", ByteArraySerializer.class);
            settings.put("value.serializer", ByteArraySerializer.class);
            try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
                producer.partitionsFor(topic);
                for (long tick = 0; ; tick++) {
                    long intendedNs = startNs + tick * TICK_NS;
                    if (intendedNs >= scheduleEndNs) {
                        break;
                    }
                    for (long now = System.nanoTime(); now < intendedNs; now = System.nanoTime()) {
                        LockSupport.parkNanos(intendedNs - now);
                    }
                    long due = (long) (perTick * (tick + 1));
                    while (sent < due) {
                        send(producer, intendedNs);
                    }
                }
            } catch (Exception error) {
                fail(error);
            }
        }

        void send(KafkaProducer<byte[], byte[]> producer, long intendedNs) {
            byte[] value = new byte[size];
            putTime(value, intendedNs);
            sent++;
            producer.send(new ProducerRecord<>(topic, value), (metadata, error) -> {
                if (error != null) {
                    fail(error);
                    return;
                }
                acknowledged.incrementAndGet();
                if (intendedNs >= measuredFromNs) {
                    measured.incrementAndGet();
                    lastAcknowledgementNs = System.nanoTime();
                }
            });
        }
    }

    static class Reader extends Thread {
        final int number;
        final CountDownLatch ready;
        final Histogram latencies = new Histogram();
        long received;
        long lastReceiptNs;

        Reader(int number, CountDownLatch ready) {
            this.number = number;
            this.ready = ready;
        }

        @Override
        public void run() {
            Map<String, Object> settings = new HashMap<>();
            settings.put("bootstrap.servers", servers);
            settings.put("group.id", "steady-" + number);
            settings.put("auto.offset.reset", "earliest");
            settings.put("max.poll.records", 5000);
            settings.put("key.deserializer", ByteArrayDeserializer.class);
            settings.put("value.deserializer", ByteArrayDeserializer.class);
            try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
                consumer.subscribe(Arrays.asList(topic));
                while (consumer.assignment().isEmpty()) {
                    consumer.poll(java.time.Duration.ofMillis(100));
                }
                consumer.assignment().forEach(consumer::position);
                ready.countDown();
                read(consumer);
            } catch (Exception error) {
                fail(error);
                ready.countDown();
            }
        }

        void read(KafkaConsumer<byte[], byte[]> consumer) {
            long quietSinceNs = System.nanoTime();
            while (received != sentInAll && System.nanoTime() - quietSinceNs < TIMEOUT_NS) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(java.time.Duration.ofMillis(100))) {
                    received++;
                    lastReceiptNs = quietSinceNs = System.nanoTime();
                    long intendedNs = timeOf(record.value());
                    if (intendedNs >= measuredFromNs) {
                        latencies.record(lastReceiptNs - intendedNs);
                    }
                }
            }
        }
    }

    /** A histogram of nanoseconds in buckets of at most 1/64 of their value each. */
    static class Histogram {
        final long[] counts = new long[64 * 64];
        long total;
        double sum;
        long max;

        void record(long value) {
            long positive = Math.max(1, value);
            int shift = Math.max(0, 58 - Long.numberOfLeadingZeros(positive));
            counts[shift * 64 + (int) (positive >>> shift)]++;
            total++;
            sum += positive;
            max = Math.max(max, positive);
        }

        void add(Histogram other) {
            for (int index = 0; index < counts.length; index++) {
                counts[index] += other.counts[index];
            }
            total += other.total;
            sum += other.sum;
            max = Math.max(max, other.max);
        }

        double average() {
            return total == 0 ? 0 : sum / total;
        }

        /** Returns the upper end of the bucket that holds the percentile. */
        double percentile(double share) {
            long below = 0;
            for (int index = 0; index < counts.length; index++) {
                below += counts[index];
                if (below > 0 && below >= share * total) {
                    int shift = index / 64;
                    return Math.min(max, (index % 64 + 1.0) * (1L << shift));
                }
            }
            return max;
        }
    }
}
