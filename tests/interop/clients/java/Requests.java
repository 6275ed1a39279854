import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.DefaultHostResolver;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestAndSize;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/** The command `requests` of clients/README.md, by the network client of Kafka's own clients, 3.9 or newer. */
public class Requests {
    private static final int TIMEOUT_MS = 30_000;

    private final NetworkClient client;
    private final Node node;

    private Requests(String server) {
        int colon = server.lastIndexOf(':');
        node = new Node(0, server.substring(0, colon), Integer.parseInt(server.substring(colon + 1)));
        AdminClientConfig config = new AdminClientConfig(
            Map.of("bootstrap.servers", server, "reconnect.backoff.ms", "0", "reconnect.backoff.max.ms", "0"));
        client = ClientUtils.createNetworkClient(config, "java", new Metrics(), "requests", new LogContext(),
            new ApiVersions(), Time.SYSTEM, 1, TIMEOUT_MS, new ManualMetadataUpdater(), new DefaultHostResolver());
    }

    private AbstractResponse answer(AbstractRequest request) throws IOException {
        AbstractRequest.Builder<AbstractRequest> builder =
            new AbstractRequest.Builder<>(request.apiKey(), request.version()) {
                @Override
                public AbstractRequest build(short version) {
                    return request;
                }
            };
        long now = Time.SYSTEM.milliseconds();
        return NetworkClientUtils.sendAndReceive(
            client, client.newClientRequest(node.idString(), builder, now, true), Time.SYSTEM).responseBody();
    }

    private void connect() throws IOException {
        if (!NetworkClientUtils.awaitReady(client, node, Time.SYSTEM, TIMEOUT_MS)) {
            throw new IOException("not connected");
        }
    }

    private String outcome(String[] words) {
        ApiKeys api = ApiKeys.forId(Integer.parseInt(words[0]));
        byte[] body = words.length > 2 ? HexFormat.of().parseHex(words[2]) : new byte[0];
        AbstractRequest request = parsed(api, Short.parseShort(words[1]), ByteBuffer.wrap(body));
        long began = System.nanoTime();
        try {
            connect();
            AbstractResponse response = answer(request);
            return "{\"codes\": " + codes(response) + ", \"throttle_ms\": " + response.throttleTimeMs() + took(began);
        } catch (IOException | UnsupportedVersionException error) {
            return "{\"error\": \"" + error.getMessage().replace("\"", "'") + "\"" + took(began);
        }
    }

    /** Kafka 3.9 reads a request from the buffer, later versions from an accessor. */
    private static AbstractRequest parsed(ApiKeys api, short version, ByteBuffer body) {
        Method parse = Arrays.stream(AbstractRequest.class.getMethods())
            .filter(each -> each.getName().equals("parseRequest")).findFirst().orElseThrow();
        Object input = parse.getParameterTypes()[2].isInstance(body) ? body : new ByteBufferAccessor(body);
        try {
            return ((RequestAndSize) parse.invoke(null, api, version, input)).request;
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** The error codes of the response. Kafka does not count the one at the top of each response. */
    private static Set<Short> codes(AbstractResponse response) {
        Set<Short> codes = response.errorCounts().keySet().stream().map(Errors::code).collect(Collectors.toSet());
        try {
            codes.add((Short) response.data().getClass().getMethod("errorCode").invoke(response.data()));
        } catch (ReflectiveOperationException error) {
            // it has none at its top
        }
        return codes;
    }

    private static String took(long began) {
        return ", \"took_ms\": " + (System.nanoTime() - began) / 1_000_000 + "}";
    }

    public static void main(String[] arguments) throws IOException {
        Requests requests = new Requests(arguments[1]);
        requests.connect();
        System.out.println("{\"newest\": {" + Arrays.stream(ApiKeys.values())
            .map(each -> "\"" + each.id + "\": " + each.latestVersion()).collect(Collectors.joining(", ")) + "}}");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(requests.outcome(line.split(" ")));
        }
        requests.client.close();
    }
}
