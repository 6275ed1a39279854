import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.NameCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.internals.OAuthBearerClientInitialResponse;
import org.apache.kafka.common.security.oauthbearer.internals.secured.ValidatorAccessTokenValidator;
import org.apache.kafka.common.security.plain.PlainAuthenticateCallback;
import org.apache.kafka.common.security.plain.internals.PlainSaslServer;
import org.apache.kafka.common.security.scram.ScramCredential;
import org.apache.kafka.common.security.scram.ScramCredentialCallback;
import org.apache.kafka.common.security.scram.internals.ScramMechanism;
import org.apache.kafka.common.security.scram.internals.ScramSaslServer;
import org.jose4j.jwk.JsonWebKeySet;
import org.jose4j.keys.resolvers.JwksVerificationKeyResolver;

/**
 * Reads a kind of message and base64 of its parts a line; prints what Kafka's server side makes of it, or "refused".
 * The password of each user is its name; SCRAM stops after the first message.
 */
public class SaslProbe {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", -1);
            byte[] message = Base64.getDecoder().decode(words[1]);
            try {
                System.out.println("taken " + encoded(taken(words, message)));
            } catch (Exception refused) {
                System.out.println("refused");
            }
        }
    }

    private static String taken(String[] words, byte[] message) throws Exception {
        String[] user = {null};
        CallbackHandler handler = callbacks -> {
            for (Callback callback : callbacks) {
                if (callback instanceof NameCallback)
                    user[0] = ((NameCallback) callback).getDefaultName();
                else if (callback instanceof PlainAuthenticateCallback) {
                    PlainAuthenticateCallback plain = (PlainAuthenticateCallback) callback;
                    plain.authenticated(new String(plain.password()).equals(user[0]));
                } else if (callback instanceof ScramCredentialCallback)
                    ((ScramCredentialCallback) callback)
                        .scramCredential(new ScramCredential(new byte[1], new byte[32], new byte[32], 4096));
            }
        };
        switch (words[0]) {
            case "plain":
                PlainSaslServer plain = new PlainSaslServer(handler);
                plain.evaluateResponse(message);
                return plain.getAuthorizationID();
            case "scram":
                new ScramSaslServer(ScramMechanism.SCRAM_SHA_256, Collections.emptyMap(), handler).evaluateResponse(message);
                return user[0];
            case "bearer":
                OAuthBearerClientInitialResponse first = new OAuthBearerClientInitialResponse(message);
                return first.authorizationId() + "\0" + first.tokenValue();
            default:
                return token(words, new String(message, StandardCharsets.UTF_8));
        }
    }

    /** Words: "token", token, clock skew, audience or "-", issuer or "-", base64 of a key set. */
    private static String token(String[] words, String token) throws Exception {
        String keys = new String(Base64.getDecoder().decode(words[5]), StandardCharsets.UTF_8);
        Set<String> audiences = new HashSet<>();
        if (!words[3].equals("-"))
            audiences.add(words[3]);
        OAuthBearerToken valid = new ValidatorAccessTokenValidator(Integer.parseInt(words[2]), audiences,
            words[4].equals("-") ? null : words[4],
            new JwksVerificationKeyResolver(new JsonWebKeySet(keys).getJsonWebKeys()), "scope", "sub").validate(token);
        return valid.principalName() + "\0" + valid.lifetimeMs();
    }

    private static String encoded(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }
}
