import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SaslExtensions;
import org.apache.kafka.common.security.auth.SaslExtensionsCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;

/** The command `logins` of clients/README.md, by Kafka's own Java clients from 3.9 on. */
public class Logins {
    private static final String STRINGS = "org.apache.kafka.common.serialization.String";
    private static final String PACKAGE = "org.apache.kafka.common.security.";
    private static final int RECORDS = 10;

    private final Map<String, Object> settings = new HashMap<>();
    private final String topic;

    private Logins(String[] row) {
        String mechanism = row[5];
        topic = row[8];
        settings.put("bootstrap.servers", row[1]);
        settings.put("security.protocol", row[2]);
        if (row[2].endsWith("SSL")) {
            settings.put("ssl.truststore.type", "PEM");
            settings.put("ssl.truststore.location", row[3]);
        }
        if (!row[4].isEmpty()) {
            settings.put("ssl.keystore.type", "PEM");
            settings.put("ssl.keystore.location", row[4]);
        }
        if (mechanism.equals("OAUTHBEARER")) {
            settings.put("sasl.login.callback.handler.class", TokenHandler.class);
            logIn(mechanism, "oauthbearer.OAuthBearerLoginModule required token=\"" + row[7] + "\";");
        } else if (!mechanism.isEmpty()) {
            String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
            logIn(mechanism, module + " required username=\"" + row[6] + "\" password=\"" + row[7] + "\";");
        }
    }

    private void logIn(String mechanism, String module) {
        settings.put("sasl.mechanism", mechanism);
        settings.put("sasl.jaas.config", PACKAGE + module);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader rows = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = rows.readLine(); line != null; line = rows.readLine()) {
            String[] row = line.split("\t", -1);
            String facts;
            try {
                facts = new Logins(row).use();
            } catch (Exception error) {
                facts = "\"error\": " + quoted(texts(error));
            }
            System.out.println("{\"login\": " + quoted(row[0]) + ", " + facts + "}");
        }
    }

    private String use() throws Exception {
        int partitions = administer();
        produce();
        String values = consume().stream().sorted().map(Logins::quoted).collect(Collectors.joining(", "));
        return "\"partitions\": " + partitions + ", \"values\": [" + values + "]";
    }

    private Map<String, Object> with(String... pairs) {
        Map<String, Object> all = new HashMap<>(settings);
        for (int i = 0; i < pairs.length; i += 2) {
            all.put(pairs[i], pairs[i + 1]);
        }
        return all;
    }

    private int administer() throws Exception {
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all().get();
            return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
        }
    }

    private void produce() {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(with("transactional.id", topic,
                "key.serializer", STRINGS + "Serializer", "value.serializer", STRINGS + "Serializer"))) {
            producer.initTransactions();
            producer.beginTransaction();
            for (int n = 0; n < RECORDS; n++) {
                producer.send(new ProducerRecord<>(topic, "value-" + n));
            }
            producer.commitTransaction();
        }
    }

    private List<String> consume() {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(with("group.id", topic,
                "key.deserializer", STRINGS + "Deserializer", "value.deserializer", STRINGS + "Deserializer",
                "auto.offset.reset", "earliest", "isolation.level", "read_committed"))) {
            consumer.subscribe(List.of(topic));
            while (values.size() < RECORDS) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    values.add(record.value());
                }
            }
            consumer.commitSync();
        }
        return values;
    }

    /** The texts of an exception and its causes. */
    private static String texts(Throwable error) {
        return error == null ? "" : error + " " + texts(error.getCause());
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"").replaceAll("\\p{Cntrl}", " ") + "\"";
    }

    /** Hands out the token of the JAAS option of this name. */
    public static class TokenHandler implements AuthenticateCallbackHandler {
        private String token;

        @Override
        public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
            token = (String) entries.get(0).getOptions().get("token");
        }

        @Override
        public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
            for (Callback callback : callbacks) {
                if (callback instanceof OAuthBearerTokenCallback) {
                    ((OAuthBearerTokenCallback) callback).token(new Token(token));
                } else if (callback instanceof SaslExtensionsCallback) {
                    ((SaslExtensionsCallback) callback).extensions(SaslExtensions.empty());
                } else {
                    throw new UnsupportedCallbackException(callback);
                }
            }
        }

        @Override
        public void close() {
        }
    }

    private static class Token implements OAuthBearerToken {
        private final String value;
        private final long now = System.currentTimeMillis();

        private Token(String value) {
            this.value = value;
        }

        @Override
        public String value() {
            return value;
        }

        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public long lifetimeMs() {
            return now + 3_600_000;
        }

        @Override
        public String principalName() {
            return "oauth";
        }

        @Override
        public Long startTimeMs() {
            return now;
        }
    }
}
