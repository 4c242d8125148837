import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.RowType;

/** Conditions and schema changes, from the JSON they are asked in. */
final class Wishes {
    private Wishes() {}

    /** {@code {"op": ..., "column": ..., "values": [...]}}, or {@code {"op": "and", "parts": [...]}}. */
    static Predicate predicate(RowType type, JsonNode node) {
        String op = node.get("op").asText();
        PredicateBuilder builder = new PredicateBuilder(type);
        if (op.equals("and") || op.equals("or")) {
            List<Predicate> parts = new ArrayList<>();
            node.get("parts").forEach(part -> parts.add(predicate(type, part)));
            return op.equals("and") ? PredicateBuilder.and(parts) : PredicateBuilder.or(parts);
        }
        int at = builder.indexOf(node.get("column").asText());
        DataType column = type.getTypeAt(at);
        List<Object> values = new ArrayList<>();
        node.get("values").forEach(value -> values.add(Judge.fromJson(column, value)));
        switch (op) {
            case "equal":
                return builder.equal(at, values.get(0));
            case "not_equal":
                return builder.notEqual(at, values.get(0));
            case "less_than":
                return builder.lessThan(at, values.get(0));
            case "less_or_equal":
                return builder.lessOrEqual(at, values.get(0));
            case "greater_than":
                return builder.greaterThan(at, values.get(0));
            case "greater_or_equal":
                return builder.greaterOrEqual(at, values.get(0));
            case "between":
                return builder.between(at, values.get(0), values.get(1));
            case "is_in":
                return builder.in(at, values);
            case "is_not_in":
                return builder.notIn(at, values);
            case "is_null":
                return builder.isNull(at);
            case "is_not_null":
                return builder.isNotNull(at);
            case "startswith":
                return builder.startsWith(at, values.get(0));
            case "endswith":
                return builder.endsWith(at, values.get(0));
            case "contains":
                return builder.contains(at, values.get(0));
            default:
                throw new IllegalArgumentException("unknown condition " + op);
        }
    }

    /**
     * {@code ["add", name, type, after]}, {@code ["drop", name]}, {@code ["rename", name, to]} ...; a
     * name is a text, or a list of texts that leads into a row.
     */
    static List<SchemaChange> changes(JsonNode nodes) {
        List<SchemaChange> out = new ArrayList<>();
        for (JsonNode node : nodes) {
            String[] path = path(node.get(1));
            String name = path[path.length - 1];
            switch (node.get(0).asText()) {
                case "add":
                    DataType added = DataTypeJsonParser.parseDataType(node.get(2));
                    out.add(SchemaChange.addColumn(path, added, null, move(name, node.get(3))));
                    break;
                case "drop":
                    out.add(SchemaChange.dropColumn(path));
                    break;
                case "rename":
                    out.add(SchemaChange.renameColumn(path, node.get(2).asText()));
                    break;
                case "type":
                    DataType type = DataTypeJsonParser.parseDataType(node.get(2));
                    out.add(SchemaChange.updateColumnType(path, type, true));
                    break;
                case "move":
                    out.add(SchemaChange.updateColumnPosition(move(name, node.get(2))));
                    break;
                case "option":
                    out.add(SchemaChange.setOption(name, node.get(2).asText()));
                    break;
                case "no option":
                    out.add(SchemaChange.removeOption(name));
                    break;
                default:
                    throw new IllegalArgumentException("unknown change " + node);
            }
        }
        return out;
    }

    private static String[] path(JsonNode name) {
        if (!name.isArray()) {
            return new String[] {name.asText()};
        }
        List<String> steps = new ArrayList<>();
        name.forEach(step -> steps.add(step.asText()));
        return steps.toArray(new String[0]);
    }

    private static SchemaChange.Move move(String name, JsonNode after) {
        return after.isNull()
                ? SchemaChange.Move.first(name)
                : SchemaChange.Move.after(name, after.asText());
    }
}
