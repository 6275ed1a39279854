import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.StringReader;
import java.util.Base64;
import java.util.Properties;
import kafka.server.KafkaConfig;

/** Reads base64 of a properties text a line; prints what Apache Kafka makes of it, or "refused". */
public class KafkaSettingsProbe {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Properties properties = new Properties();
            properties.load(new StringReader(new String(Base64.getDecoder().decode(line), "ISO-8859-1")));
            properties.putIfAbsent("zookeeper.connect", "localhost:2181");
            try {
                KafkaConfig config = KafkaConfig.fromProps(properties, false);
                StringBuilder listeners = new StringBuilder();
                for (int i = 0; i < config.listeners().size(); i++)
                    listeners.append(' ').append(config.listeners().apply(i).connectionString());
                System.out.println("taken " + config.logRetentionTimeMillis() + " " + config.logRollTimeMillis() + " "
                    + config.logRollTimeJitterMillis() + " " + config.logFlushIntervalMs() + " "
                    + config.interBrokerListenerName().value() + " "
                    + String.join(",", scala.jdk.javaapi.CollectionConverters.asJava(config.logDirs())) + listeners);
            } catch (RuntimeException refused) {
                System.out.println("refused");
            }
        }
    }
}
