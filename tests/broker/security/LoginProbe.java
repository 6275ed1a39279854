import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.internals.expiring.ExpiringCredential;
import org.apache.kafka.common.security.oauthbearer.internals.expiring.ExpiringCredentialRefreshConfig;
import org.apache.kafka.common.security.oauthbearer.internals.expiring.ExpiringCredentialRefreshingLogin;
import org.apache.kafka.common.security.oauthbearer.internals.secured.HttpAccessTokenRetriever;
import org.apache.kafka.common.security.oauthbearer.internals.secured.LoginAccessTokenValidator;

/** Reads a question a line; prints what Kafka's client side of OAUTHBEARER makes of it, or "refused". */
public class LoginProbe {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            try {
                System.out.println(answer(words));
            } catch (Exception refused) {
                System.out.println("refused");
            }
        }
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "renewal":
                return renewal(words);
            case "token":
                OAuthBearerToken token = new LoginAccessTokenValidator("scope", "sub").validate(words[1]);
                return encoded(token.principalName()) + " " + token.startTimeMs() + " " + token.lifetimeMs();
            default:
                return (String) call("formatAuthorizationHeader", decoded(words[1]), decoded(words[2]), false) + " "
                    + call("formatRequestBody", decoded(words[3]));
        }
    }

    /** Words: "renewal", beginning or "-", end, now, factor, least period in s, buffer in s. There is no jitter. */
    private static String renewal(String[] words) throws Exception {
        ExpiringCredential credential = new ExpiringCredential() {
            public String principalName() { return "broker"; }
            public Long startTimeMs() { return words[1].equals("-") ? null : Long.valueOf(words[1]); }
            public long expireTimeMs() { return Long.parseLong(words[2]); }
            public Long absoluteLastRefreshTimeMs() { return null; }
        };
        Map<String, Object> configs = new HashMap<>();
        configs.put(SaslConfigs.SASL_LOGIN_REFRESH_WINDOW_FACTOR, Double.valueOf(words[4]));
        configs.put(SaslConfigs.SASL_LOGIN_REFRESH_WINDOW_JITTER, 0.0);
        configs.put(SaslConfigs.SASL_LOGIN_REFRESH_MIN_PERIOD_SECONDS, Short.valueOf(words[5]));
        configs.put(SaslConfigs.SASL_LOGIN_REFRESH_BUFFER_SECONDS, Short.valueOf(words[6]));
        ExpiringCredentialRefreshingLogin login = new ExpiringCredentialRefreshingLogin("", new Configuration() {
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) { return null; }
        },
            new ExpiringCredentialRefreshConfig(configs, true), null, LoginProbe.class) {
            public ExpiringCredential expiringCredential() { return credential; }
        };
        Field held = ExpiringCredentialRefreshingLogin.class.getDeclaredField("expiringCredential");
        held.setAccessible(true);
        held.set(login, credential);
        Method refreshMs = ExpiringCredentialRefreshingLogin.class.getDeclaredMethod("refreshMs", long.class);
        refreshMs.setAccessible(true);
        return String.valueOf(refreshMs.invoke(login, Long.parseLong(words[3])));
    }

    private static Object call(String name, Object... values) throws Exception {
        for (Method method : HttpAccessTokenRetriever.class.getDeclaredMethods())
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method.invoke(null, values);
            }
        throw new IllegalStateException(name);
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String decoded(String text) {
        return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
    }
}
