import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import kafka.security.authorizer.AclAuthorizer;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.security.authorizer.AclEntry;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Asks Apache Kafka's AclAuthorizer. Each line of the input has fields separated by tabs:
 * "new ALLOW_EVERYONE", "acl TYPE PATTERN NAME PRINCIPAL HOST OPERATION PERMISSION" (codes), "may PRINCIPAL HOST
 * OPERATION TYPE NAME", "any PRINCIPAL HOST OPERATION TYPE", "host ADDRESS". The last three print a line.
 */
public class AclAuthorizerProbe {
    record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        public String listenerName() { return "L"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return ""; }
        public int correlationId() { return 0; }
    }

    private static AclAuthorizer authorizer;
    private static Map<ResourcePattern, Set<AclEntry>> acls;

    private static void begin(boolean allowEveryone) throws Exception {
        authorizer = new AclAuthorizer();
        acls = new HashMap<>();
        Field field = AclAuthorizer.class.getDeclaredField("shouldAllowEveryoneIfNoAclIsFound");
        field.setAccessible(true);
        field.setBoolean(authorizer, allowEveryone);
    }

    private static void add(String[] f) {
        ResourcePattern pattern = new ResourcePattern(ResourceType.fromCode(Byte.parseByte(f[1])), f[3],
            PatternType.fromCode(Byte.parseByte(f[2])));
        AclEntry entry = new AclEntry(new AccessControlEntry(f[4], f[5], AclOperation.fromCode(Byte.parseByte(f[6])),
            AclPermissionType.fromCode(Byte.parseByte(f[7]))));
        Set<AclEntry> entries = acls.computeIfAbsent(pattern, key -> new HashSet<>());
        entries.add(entry);
        authorizer.updateCache(pattern, new AclAuthorizer.VersionedAcls(
            CollectionConverters.asScala(entries).toSet(), 0));
    }

    private static boolean may(String[] f) throws Exception {
        Context context = new Context(SecurityUtils.parseKafkaPrincipal(f[1]), InetAddress.getByName(f[2]));
        AclOperation operation = AclOperation.fromCode(Byte.parseByte(f[3]));
        ResourceType type = ResourceType.fromCode(Byte.parseByte(f[4]));
        if (f[0].equals("any"))
            return authorizer.authorizeByResourceType(context, operation, type) == AuthorizationResult.ALLOWED;
        Action action = new Action(operation, new ResourcePattern(type, f[5], PatternType.LITERAL), 1, true, true);
        return authorizer.authorize(context, List.of(action)).get(0) == AuthorizationResult.ALLOWED;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] fields = line.split("\t", -1);
            switch (fields[0]) {
                case "new" -> begin(Boolean.parseBoolean(fields[1]));
                case "acl" -> add(fields);
                case "host" -> out.println(InetAddress.getByName(fields[1]).getHostAddress());
                default -> out.println(may(fields));
            }
        }
        out.flush();
    }
}
