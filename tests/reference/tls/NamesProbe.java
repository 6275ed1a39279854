import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HexFormat;
import javax.security.auth.x500.X500Principal;

/** Reads names in DER, one a line in hexadecimal, and prints each with Java's name of it. Run it with Java 25. */
public class NamesProbe {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "US-ASCII"));
        PrintStream out = new PrintStream(System.out, false, "US-ASCII");
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            StringBuilder shown = new StringBuilder();
            String name;
            try {
                name = new X500Principal(HexFormat.of().parseHex(line)).getName();
            } catch (IllegalArgumentException error) {
                name = "refused";
            }
            for (char character : name.toCharArray()) {
                shown.append(character >= ' ' && character <= '~' && character != '\\'
                    ? String.valueOf(character) : String.format("\\u%04x", (int) character));
            }
            out.println(line + " " + shown);
        }
        out.flush();
    }
}
