import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.security.PasswordEncoder;


/**
 * Reads a line each "encode cipher keyFactory keyLength password" or "decode cipher text", with texts in base64, and prints the
 * encoded text, or the decoded password in base64. The secret is the program's argument.
 */
public class KafkaPasswordProbe {
    public static void main(String[] arguments) throws Exception {
        Password secret = new Password(arguments[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("encode")) {
                PasswordEncoder encoder = PasswordEncoder.encrypting(secret, words[2], words[1], Integer.parseInt(words[3]), 2048);
                System.out.println(encoder.encode(new Password(text(words[4]))));
            } else {
                // As Kafka's broker does, with the cipher that its settings name: it decides how parameters are read.
                PasswordEncoder encoder = PasswordEncoder.encrypting(secret, null, words[1], 128, 4096);
                byte[] password = encoder.decode(text(words[2])).value().getBytes(StandardCharsets.UTF_8);
                System.out.println(Base64.getEncoder().encodeToString(password));
            }
        }
    }

    private static String text(String encoded) {
        return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
    }
}
