import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sets faults on a broker over HTTP, and checks that a producer gets over them. Start the broker first:
 *
 *   pybroker --test-kit
 *   java -cp 'libs/*' FaultsTest.java localhost:9092 http://localhost:8092
 */
public class FaultsTest {
    private static final HttpClient HTTP = HttpClient.newHttpClient();

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0];
        String kit = arguments[1] + "/v1/test";
        String topic = "orders-" + UUID.randomUUID(); // the broker keeps the topics of earlier runs
        Map<String, Object> settings = Map.of("bootstrap.servers", servers, "acks", "all", "retry.backoff.ms", 10);
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            check(producer.send(new ProducerRecord<>(topic, "one")).get().offset() == 0, "the first offset is 0");

            post(kit + "/faults", "{\"api\": \"Produce\", \"error\": \"NOT_LEADER_OR_FOLLOWER\", \"times\": 2}");
            RecordMetadata second = producer.send(new ProducerRecord<>(topic, "two")).get();
            check(second.offset() == 1, "the second record is written once");
            check(get(kit + "/faults").contains("\"fired\":2"), "the fault has fired twice");

            post(kit + "/reset", "{}");
            check(!get(kit + "/faults").contains("fired"), "no fault is left");
        }
        System.out.println("passed");
    }

    private static void check(boolean isTrue, String what) {
        if (!isTrue) {
            throw new AssertionError(what);
        }
    }

    private static String get(String address) throws Exception {
        return send(HttpRequest.newBuilder(URI.create(address)));
    }

    private static String post(String address, String body) throws Exception {
        return send(HttpRequest.newBuilder(URI.create(address))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    private static String send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> answer = HTTP.send(request.build(), HttpResponse.BodyHandlers.ofString());
        check(answer.statusCode() < 300, answer.statusCode() + ": " + answer.body());
        return answer.body();
    }
}
