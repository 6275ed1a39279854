import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.util.Map;
import kafka.docker.KafkaDockerWrapper$;
import scala.jdk.javaapi.CollectionConverters;

/** The settings that Kafka's image makes of the environment on standard input (JSON), one line each. */
public class ImageSettings {
    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        Map<String, String> environment = new ObjectMapper().readValue(System.in, Map.class);
        var given = scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(environment));
        PrintStream output = new PrintStream(System.out, true, "UTF-8");
        CollectionConverters.asJava(KafkaDockerWrapper$.MODULE$.getServerConfigsFromEnv(given)).forEach(output::println);
    }
}
