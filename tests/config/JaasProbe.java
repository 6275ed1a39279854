import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.URIParameter;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;


/** Reads "setting" or "file" and base64 of JAAS text a line; prints the entries that Kafka or Java reads, or "refused". */
public class JaasProbe {
    public static void main(String[] arguments) throws Exception {
        Constructor<?> setting = Class.forName("org.apache.kafka.common.security.JaasConfig")
            .getDeclaredConstructor(String.class, String.class);
        setting.setAccessible(true);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Path file = Files.createTempFile("jaas", ".conf");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            byte[] text = Base64.getDecoder().decode(words[1]);
            try {
                Configuration configuration;
                if (words[0].equals("setting")) {
                    configuration = (Configuration) setting.newInstance("KafkaServer", new String(text, StandardCharsets.UTF_8));
                } else {
                    Files.write(file, text);
                    configuration = Configuration.getInstance("JavaLoginConfig", new URIParameter(file.toUri()));
                }
                System.out.println("read" + shown(configuration.getAppConfigurationEntry("KafkaServer")));
            } catch (Exception refused) {
                System.out.println("refused");
            }
        }
        Files.delete(file);
    }

    private static String shown(AppConfigurationEntry[] entries) {
        StringBuilder text = new StringBuilder();
        for (AppConfigurationEntry entry : entries == null ? new AppConfigurationEntry[0] : entries) {
            String flag = entry.getControlFlag().toString().replaceAll(".*: ", "");
            text.append(' ').append(encoded(entry.getLoginModuleName())).append(':').append(flag);
            for (Map.Entry<String, ?> option : new TreeMap<>(entry.getOptions()).entrySet())
                text.append(':').append(encoded(option.getKey())).append('=').append(encoded((String) option.getValue()));
        }
        return text.toString();
    }

    private static String encoded(String text) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
