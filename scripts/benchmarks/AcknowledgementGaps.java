import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends a steady rate of records to one partition with acks=all; measures the longest time between acknowledgements.
 *
 * Arguments: bootstrap servers, topic, records a second, bytes a record, number of first records that do not count.
 * Prints "steady" when it starts to count, continues until it reads a line, waits for requests in flight, and prints
 * one line of name=value pairs. Records follow a fixed schedule, whatever the delays.
 */
public class AcknowledgementGaps {
    static long sent;
    static volatile long acknowledged;
    static volatile long failed;
    static long lastNs;
    static long longestNs;
    static volatile long measuredFrom;
    static volatile boolean isOver;
    static volatile String failure = "none";

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("acks", "all");
        settings.put("linger.ms", "0");
        settings.put("request.timeout.ms", "1000");
        settings.put("metadata.max.age.ms", "500");
        settings.put("retry.backoff.max.ms", "100");
        settings.put("reconnect.backoff.max.ms", "100");
        String topic = arguments[1];
        long periodNs = 1_000_000_000L / Long.parseLong(arguments[2]);
        byte[] value = new byte[Integer.parseInt(arguments[3])];
        measuredFrom = Long.parseLong(arguments[4]);
        Thread asked = new Thread(AcknowledgementGaps::waitForALine);
        asked.setDaemon(true);
        asked.start();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            long startNs = System.nanoTime();
            while (!isOver) {
                long dueNs = startNs + sent * periodNs;
                long waitNs = dueNs - System.nanoTime();
                if (waitNs > 0) {
                    LockSupport.parkNanos(waitNs);
                    continue;
                }
                producer.send(new ProducerRecord<>(topic, 0, null, value), (metadata, error) -> acknowledged(error));
                sent++;
            }
        }
        System.out.printf(
            "sent=%d acknowledged=%d failed=%d longest_gap_ms=%.1f failure=%s%n",
            sent, acknowledged, failed, longestNs / 1e6, failure);
    }

    /** Runs on the producer's single I/O thread. */
    static void acknowledged(Exception error) {
        if (error != null) {
            failed++;
            failure = error.toString().replace(' ', '_');
            return;
        }
        long nowNs = System.nanoTime();
        acknowledged++;
        if (acknowledged == measuredFrom) {
            System.out.println("steady");
            System.out.flush();
        } else if (acknowledged > measuredFrom) {
            longestNs = Math.max(longestNs, nowNs - lastNs);
        }
        lastNs = nowNs;
    }

    static void waitForALine() {
        try {
            new BufferedReader(new InputStreamReader(System.in)).readLine();
        } catch (java.io.IOException error) {
            failure = error.toString();
        }
        isOver = true;
    }
}
