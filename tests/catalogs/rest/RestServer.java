import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Map;
import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.rest.auth.AuthProvider;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.auth.DLFDefaultSigner;
import org.apache.paimon.rest.auth.DLFToken;
import org.apache.paimon.rest.responses.ConfigResponse;

/**
 * Paimon's own REST catalog server: {@code RestServer <data> <warehouse> bear <token>} or {@code ... dlf <key> <secret>}.
 *
 * <p>The line {@code lose} on its input makes it answer to the next commit that it does with an error.
 */
public class RestServer {
    public static void main(String[] args) throws Exception {
        Map<String, String> defaults = new HashMap<>();
        defaults.put("prefix", "paimon");
        AuthProvider auth =
                args[2].equals("bear") ? new BearTokenAuthProvider(args[3]) : signatures(args[3], args[4]);
        RESTCatalogServer server =
                new RESTCatalogServer(args[0], auth, new ConfigResponse(defaults, new HashMap<>()), args[1]);
        server.start();
        System.out.println("READY " + server.getUrl());
        Field lose = RESTCatalogServer.class.getField("commitSuccessThrowException");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            lose.setBoolean(null, line.equals("lose"));
            System.out.println("DONE");
        }
        server.shutdown();
        System.exit(0);
    }

    /** What a request with its own date and token has to be signed with. */
    private static AuthProvider signatures(String key, String secret) {
        DLFDefaultSigner signer = new DLFDefaultSigner("cn-hangzhou");
        return (headers, request) -> {
            Map<String, String> signed = new HashMap<>();
            for (String name :
                    new String[] {
                        "Content-MD5",
                        "Content-Type",
                        "x-dlf-content-sha256",
                        "x-dlf-date",
                        "x-dlf-version",
                        "x-dlf-security-token"
                    }) {
                String value = headers.get(name.toLowerCase());
                if (value != null) {
                    signed.put(name, value);
                }
            }
            try {
                DLFToken token = new DLFToken(key, secret, headers.get("x-dlf-security-token"), null);
                Map<String, String> merged = new HashMap<>(headers);
                merged.put("Authorization", signer.authorization(request, token, "", signed));
                return merged;
            } catch (Exception e) {
                throw new RuntimeException(e);
            }
        };
    }
}
