import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.TreeMap;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.options.ConfigOption;
import org.apache.paimon.options.Options;

/** Every option that Apache Paimon declares for a table: its key, its type, its values if they are few. */
final class Keys {
    private Keys() {}

    static JsonNode all() throws Exception {
        Field typed = ConfigOption.class.getDeclaredField("clazz");
        typed.setAccessible(true);
        Map<String, String> found = new TreeMap<>();
        for (Field field : CoreOptions.class.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) || field.getType() != ConfigOption.class) {
                continue;
            }
            field.setAccessible(true);
            ConfigOption<?> option = (ConfigOption<?>) field.get(null);
            Class<?> type = (Class<?>) typed.get(option);
            StringBuilder line = new StringBuilder(option.key() + "\t" + type.getSimpleName());
            if (type.isEnum()) {
                for (Object value : type.getEnumConstants()) {
                    line.append("\t").append(value);
                }
            } else if (option.defaultValue() instanceof Boolean) {
                line.append("\t").append(option.defaultValue());
            }
            found.put(option.key(), line.toString());
        }
        ArrayNode lines = JsonNodeFactory.instance.arrayNode();
        found.values().forEach(lines::add);
        return lines;
    }

    /** Whether each value parses: {@code {"bucket": ["1", "x"]}} gives {@code {"bucket": [true, false]}}. */
    static JsonNode parsed(JsonNode asked) throws Exception {
        ObjectNode verdicts = JsonNodeFactory.instance.objectNode();
        for (Field field : CoreOptions.class.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) || field.getType() != ConfigOption.class) {
                continue;
            }
            field.setAccessible(true);
            ConfigOption<?> option = (ConfigOption<?>) field.get(null);
            if (!asked.has(option.key())) {
                continue;
            }
            ArrayNode verdict = verdicts.putArray(option.key());
            for (JsonNode value : asked.get(option.key())) {
                verdict.add(parses(option, value.asText()));
            }
        }
        return verdicts;
    }

    private static boolean parses(ConfigOption<?> option, String value) {
        Options options = new Options();
        options.set(option.key(), value);
        try {
            options.get(option);
            return true;
        } catch (RuntimeException refused) {
            return false;
        }
    }
}
