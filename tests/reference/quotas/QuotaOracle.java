import java.net.InetAddress;
import java.util.*;
import java.util.concurrent.TimeUnit;
import kafka.server.*;
import org.apache.kafka.common.metrics.*;
import org.apache.kafka.common.metrics.stats.*;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import scala.Option;

/** Prints kafka_3_9_1.json: what Kafka's classes of quotas make of random values, changes of quotas and clients. */
public class QuotaOracle {
    static Random random = new Random(7);
    static String text(String s) { return s == null ? "null" : "\"" + s + "\""; }

    static void rates() {
        System.out.println(" \"rates\": [");
        for (int run = 0; run < 14; run++) {
            int windows = new int[] {1, 2, 3, 11}[random.nextInt(4)];
            int seconds = 1 + random.nextInt(2);
            MetricConfig config = new MetricConfig().timeWindow(seconds, TimeUnit.SECONDS).samples(windows);
            Rate rate = new Rate();
            long now = 1_000_000;
            StringBuilder steps = new StringBuilder();
            for (int step = 0; step < 25; step++) {
                int pause = random.nextInt(4) == 0 ? random.nextInt(30_000) : random.nextInt(1_500);
                now += pause;
                int value = random.nextInt(100_000);
                rate.record(config, value, now);
                double measured = rate.measure(config, now);
                steps.append(step > 0 ? ", " : "").append("[" + pause + ", " + value + ", " + measured + ", " + rate.windowSize(config, now) + "]");
            }
            System.out.println("  {\"windows\": " + windows + ", \"window_ms\": " + seconds * 1000 + ", \"steps\": [" + steps + "]}" + (run < 13 ? "," : ""));
        }
        System.out.println(" ],");
    }

    static void buckets() {
        System.out.println(" \"buckets\": [");
        for (int run = 0; run < 12; run++) {
            int windows = new int[] {1, 2, 11}[random.nextInt(3)];
            TokenBucket bucket = new TokenBucket();
            long now = 1_000_000_000;
            StringBuilder steps = new StringBuilder();
            double bound = 0.5 + random.nextInt(20);
            for (int step = 0; step < 20; step++) {
                if (random.nextInt(6) == 0) bound = 0.5 + random.nextInt(20);
                MetricConfig config = new MetricConfig().timeWindow(1, TimeUnit.SECONDS).samples(windows).quota(new Quota(bound, true));
                int pause = random.nextInt(4) == 0 ? random.nextInt(30_000) : random.nextInt(1_500);
                now += pause;
                int value = random.nextInt(60);
                bucket.record(config, value, now);
                steps.append(step > 0 ? ", " : "").append("[" + pause + ", " + value + ", " + bound + ", " + bucket.measure(config, now) + "]");
            }
            System.out.println("  {\"windows\": " + windows + ", \"steps\": [" + steps + "]}" + (run < 11 ? "," : ""));
        }
        System.out.println(" ],");
    }

    static String some(String... choices) { return choices[random.nextInt(choices.length)]; }

    static void limits() throws Exception {
        System.out.println(" \"limits\": [");
        int runs = 45;
        for (int run = 0; run < runs; run++) {
            Metrics metrics = new Metrics();
            ClientQuotaManager manager = new ClientQuotaManager(new ClientQuotaManagerConfig(), metrics, QuotaType.Produce$.MODULE$, Time.SYSTEM, "", Option.empty());
            StringBuilder changes = new StringBuilder(), asks = new StringBuilder();
            int count = 1 + random.nextInt(6);
            for (int i = 0; i < count; i++) {
                int level = random.nextInt(3);
                String user = level == 1 ? null : some("a", "b", "<default>");
                String client = level == 0 ? null : some("a", "b", "<default>");
                Double bound = random.nextInt(6) == 0 ? null : (double) (1 + random.nextInt(1000));
                manager.updateQuota(Option.apply(user), Option.apply(client), Option.apply(client), bound == null ? Option.empty() : Option.apply(Quota.upperBound(bound)));
                changes.append(i > 0 ? ", " : "").append("[" + text(user) + ", " + text(client) + ", " + bound + "]");
            }
            boolean first = true;
            for (String user : new String[] {"a", "b", "c"}) for (String client : new String[] {"a", "b", "c", ""}) {
                var session = new org.apache.kafka.network.Session(new KafkaPrincipal("User", user), InetAddress.getLoopbackAddress());
                var tags = manager.getOrCreateQuotaSensors(session, client).metricTags();
                double bound = manager.quota(user, client).bound();
                String found = bound >= 9e18 ? "null" : "[" + text(tags.apply("user").toString()) + ", " + text(tags.apply("client-id").toString()) + ", " + bound + "]";
                asks.append(first ? "" : ", ").append("[" + text(user) + ", " + text(client) + ", " + found + "]");
                first = false;
            }
            manager.shutdown();
            metrics.close();
            System.out.println("  {\"changes\": [" + changes + "], \"found\": [" + asks + "]}" + (run < runs - 1 ? "," : ""));
        }
        System.out.println(" ],");
    }

    static void throttles() throws Exception {
        System.out.println(" \"throttles\": [");
        double[][] cases = {{100, 1000}, {100, 1001}, {100, 5000}, {1, 100000}, {0, 1}, {0, 0}, {-1, 5}, {0.5, 50}, {1000, 123456}, {1, 3e10}, {9e18, 5}};
        for (int i = 0; i < cases.length; i++) {
            MockTime time = new MockTime();
            Metrics metrics = new Metrics(time);
            ClientQuotaManager manager = new ClientQuotaManager(new ClientQuotaManagerConfig(), metrics, QuotaType.Fetch$.MODULE$, time, "", Option.empty());
            ClientRequestQuotaManager requests = new ClientRequestQuotaManager(new ClientQuotaManagerConfig(), metrics, time, "", Option.empty());
            var session = new org.apache.kafka.network.Session(new KafkaPrincipal("User", "a"), InetAddress.getLoopbackAddress());
            manager.updateQuota(Option.apply("a"), Option.empty(), Option.empty(), Option.apply(Quota.upperBound(cases[i][0])));
            requests.updateQuota(Option.apply("a"), Option.empty(), Option.empty(), Option.apply(Quota.upperBound(cases[i][0])));
            int bytes = manager.recordAndGetThrottleTimeMs(session, "c", cases[i][1], time.milliseconds());
            int share = requests.recordAndGetThrottleTimeMs(session, "c", cases[i][1], time.milliseconds());
            System.out.println("  [" + cases[i][0] + ", " + cases[i][1] + ", " + bytes + ", " + share + ", " + manager.getMaxValueInQuotaWindow(session, "c") + "]" + (i < cases.length - 1 ? "," : ""));
            manager.shutdown(); requests.shutdown(); metrics.close();
        }
        System.out.println(" ]");
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("{");
        rates(); buckets(); limits(); throttles();
        System.out.println("}");
        System.exit(0);
    }
}

class MockTime implements Time {
    public long milliseconds() { return 1_700_000_000_000L; }
    public long nanoseconds() { return milliseconds() * 1_000_000; }
    public void sleep(long ms) { Time.SYSTEM.sleep(ms); }
    public void waitObject(Object object, java.util.function.Supplier<Boolean> condition, long deadline) throws InterruptedException {
        Time.SYSTEM.waitObject(object, condition, deadline);
    }
}
