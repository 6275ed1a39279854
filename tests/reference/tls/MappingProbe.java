import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;

/** Reads mapping rules and a name, separated by a tab, one case a line, and prints the user's name behind them. */
public class MappingProbe {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "US-ASCII"));
        PrintStream out = new PrintStream(System.out, false, "US-ASCII");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t", -1);
            String result;
            try {
                result = "=" + escape(SslPrincipalMapper.fromRules(unescape(parts[0])).getName(unescape(parts[1])));
            } catch (java.io.IOException error) {
                result = "none";
            } catch (RuntimeException error) {
                result = "error";
            }
            out.println(line + "\t" + result);
        }
        out.flush();
    }

    private static String unescape(String text) {
        StringBuilder plain = new StringBuilder();
        for (int at = 0; at < text.length(); at++) {
            if (text.startsWith("~u", at)) {
                plain.append((char) Integer.parseInt(text.substring(at + 2, at + 6), 16));
                at += 5;
            } else {
                plain.append(text.charAt(at));
            }
        }
        return plain.toString();
    }

    private static String escape(String text) {
        StringBuilder shown = new StringBuilder();
        for (char character : text.toCharArray()) {
            shown.append(character >= ' ' && character < '~' ? String.valueOf(character)
                : String.format("~u%04x", (int) character));
        }
        return shown.toString();
    }
}
