import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.utils.Exit;

/** Runs tools of Kafka one after the other in one JVM, which spares the start of a JVM for each. See README.md. */
public final class ToolServer {
    private static final Collected OUT = new Collected();
    private static final Collected ERR = new Collected();

    /** A stream that stays the same, as Scala keeps the first one it saw, and gives what was written since. */
    private static final class Collected extends OutputStream {
        private final ByteArrayOutputStream written = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            written.write(one);
        }

        @Override
        public synchronized void write(byte[] bytes, int start, int length) {
            written.write(bytes, start, length);
        }

        synchronized byte[] take() {
            byte[] taken = written.toByteArray();
            written.reset();
            return taken;
        }
    }

    private ToolServer() {
    }

    public static void main(String[] ignored) throws Exception {
        DataInputStream requests = new DataInputStream(System.in);
        DataOutputStream responses = new DataOutputStream(new FileOutputStream(FileDescriptor.out));
        System.setIn(InputStream.nullInputStream());
        System.setOut(new PrintStream(OUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(ERR, true, StandardCharsets.UTF_8));
        while (true) {
            String[] words;
            try {
                words = readWords(requests);
            } catch (EOFException end) {
                Runtime.getRuntime().halt(0);
                return;
            }
            int code = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            System.out.flush();
            System.err.flush();
            responses.writeInt(code);
            write(responses, OUT.take());
            write(responses, ERR.take());
            responses.flush();
        }
    }

    private static String[] readWords(DataInputStream requests) throws IOException {
        String[] words = new String[requests.readInt()];
        for (int index = 0; index < words.length; index++) {
            words[index] = new String(requests.readNBytes(requests.readInt()), StandardCharsets.UTF_8);
        }
        return words;
    }

    private static void write(DataOutputStream responses, byte[] bytes) throws IOException {
        responses.writeInt(bytes.length);
        responses.write(bytes);
    }

    /** Returns the exit code. A tool that exits stops right there, as a process does: its thread never goes on. */
    private static int run(String tool, String[] arguments) {
        CompletableFuture<Integer> exit = new CompletableFuture<>();
        Exit.Procedure procedure = (code, message) -> {
            exit.complete(code);
            sleepForEver();
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        Thread thread = new Thread(() -> exit.complete(call(tool, arguments)), "main");
        thread.setDaemon(true);
        thread.start();
        return exit.join();
    }

    private static int call(String tool, String[] arguments) {
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException thrown) {
            System.err.print("Exception in thread \"main\" ");
            thrown.getCause().printStackTrace();
        } catch (ReflectiveOperationException missing) {
            missing.printStackTrace();
        }
        return 1;
    }

    private static void sleepForEver() {
        while (true) {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException again) {
                // nobody does that
            }
        }
    }
}
