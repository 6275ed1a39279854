import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupResult;

/** Removes members from a group. README.md describes arguments and output. */
public class Administrator {
    public static void main(String[] arguments) throws Exception {
        String group = arguments[1];
        String[] instances = Arrays.copyOfRange(arguments, 2, arguments.length);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", arguments[0]))) {
            if (instances.length == 0) {
                admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions()).all().get();
                return;
            }
            RemoveMembersFromConsumerGroupOptions options = new RemoveMembersFromConsumerGroupOptions(
                Arrays.stream(instances).map(MemberToRemove::new).collect(Collectors.toSet()));
            RemoveMembersFromConsumerGroupResult result = admin.removeMembersFromConsumerGroup(group, options);
            for (String instance : instances) {
                try {
                    result.memberResult(new MemberToRemove(instance)).get();
                    System.out.println(instance + ": removed");
                } catch (ExecutionException failure) {
                    System.out.println(instance + ": " + failure.getCause().getClass().getSimpleName());
                }
            }
        }
    }
}
