import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.paimon.AppendOnlyFileStore;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.BucketAssigner;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.table.sink.RowPartitionKeyExtractor;
import org.apache.paimon.manifest.ManifestCommittable;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.IntType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;

/**
 * Apache Paimon itself as the judge of our tables, in one long-lived process.
 *
 * <p>Each line on standard input asks: {@code {"verb": ..., "warehouse": ..., "table": "db.name",
 * "options": {...}, ...}}. Each line on standard output answers: {@code {"ok": result}} or {@code
 * {"error": class, "message": text}}. Rows are arrays whose first member is the row kind. Numbers
 * and booleans are themselves; decimals, dates, times and timestamps (always nine digits) are text;
 * bytes are "0x..." text; arrays and rows are arrays; maps are arrays of pairs.
 */
public final class Judge {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DateTimeFormatter MOMENT =
            DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.nnnnnnnnn");

    private static final DateTimeFormatter TIME =
            new DateTimeFormatterBuilder()
                    .appendPattern("HH:mm:ss")
                    .optionalStart()
                    .appendFraction(ChronoField.NANO_OF_SECOND, 0, 6, true)
                    .toFormatter();

    private Judge() {}

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader questions =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = questions.readLine()) != null; ) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                answer.set("ok", answer(JSON.readTree(line)));
            } catch (Throwable thrown) {
                thrown.printStackTrace(); // into the log, for whoever asks where
                Throwable cause = thrown;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                answer.put("error", cause.getClass().getSimpleName());
                answer.put("message", String.valueOf(cause.getMessage()));
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    private static JsonNode answer(JsonNode ask) throws Exception {
        if (ask.get("verb").asText().equals("picks")) {
            return Picks.of(ask.get("cases"));
        }
        if (ask.get("verb").asText().equals("options")) {
            return Keys.all();
        }
        if (ask.get("verb").asText().equals("option values")) {
            return Keys.parsed(ask.get("values"));
        }
        Options context = new Options();
        context.set("warehouse", ask.get("warehouse").asText());
        texts(ask.get("catalog")).forEach(context::set);
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(context))) {
            Identifier name = Identifier.fromString(ask.get("table").asText());
            String verb = ask.get("verb").asText();
            if (verb.equals("create")) {
                create(catalog, name, ask);
                return JSON.nullNode();
            }
            if (verb.equals("alter")) {
                catalog.alterTable(name, Wishes.changes(ask.get("changes")), false);
                return JSON.nullNode();
            }
            Table table = catalog.getTable(name);
            Map<String, String> dynamic = texts(ask.get("options"));
            if (!dynamic.isEmpty()) {
                table = table.copy(dynamic);
            }
            switch (verb) {
                case "read":
                    return read(table, ask.get("columns"), ask.get("where"));
                case "changes":
                    return changes(table, ask.get("after").asLong(), ask.get("to").asLong());
                case "stream":
                    return stream(table, ask.get("until").asLong());
                case "write":
                    JsonNode watermark = ask.get("watermark");
                    BatchWriteBuilder into = overwriting(table, ask.path("overwrite").asText());
                    Long mark = watermark == null ? null : watermark.asLong();
                    write(table, into, ask.get("rows"), mark);
                    break;
                case "rounds":
                    for (JsonNode rows : ask.get("rounds")) {
                        write(table, table.newBatchWriteBuilder(), rows, null);
                    }
                    break;
                case "compact":
                    compact((FileStoreTable) table, !ask.path("minor").asBoolean());
                    break;
                case "expire":
                    expire((FileStoreTable) table, ask.get("retain").asText());
                    break;
                case "tag":
                    table.createTag(ask.get("name").asText());
                    break;
                case "columns":
                    return columns(table);
                case "timed_write":
                    Identifier from = Identifier.fromString(ask.get("from").asText());
                    return Timed.write(table, catalog.getTable(from));
                case "timed_compact":
                    return Timed.compact((FileStoreTable) table);
                case "timed_changes":
                    return Timed.changes(table, ask.get("to").asLong());
                default:
                    JsonNode said = Upkeep.answer(verb, (FileStoreTable) table, ask);
                    if (said != null) {
                        return said;
                    }
            }
            return newest((FileStoreTable) table);
        }
    }

    private static JsonNode newest(FileStoreTable table) {
        Long id = table.snapshotManager().latestSnapshotId();
        return id == null ? JSON.nullNode() : JSON.getNodeFactory().numberNode(id);
    }

    private static void create(Catalog catalog, Identifier name, JsonNode ask) throws Exception {
        catalog.createDatabase(name.getDatabaseName(), true);
        Schema.Builder schema = Schema.newBuilder();
        for (JsonNode column : ask.get("columns")) {
            schema.column(column.get(0).asText(), DataTypeJsonParser.parseDataType(column.get(1)));
        }
        schema.primaryKey(list(ask.get("primary_key")));
        schema.partitionKeys(list(ask.get("partition_by")));
        schema.options(texts(ask.get("options")));
        catalog.createTable(name, schema.build(), false);
    }

    private static JsonNode columns(Table table) {
        ArrayNode out = JSON.createArrayNode();
        for (DataField field : table.rowType().getFields()) {
            out.addArray().add(field.name()).add(field.type().asSQLString());
        }
        return out;
    }

    // ------------------------------------------------------------------ reading

    private static JsonNode read(Table table, JsonNode columns, JsonNode where) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        if (columns != null && !columns.isNull()) {
            List<String> names = table.rowType().getFieldNames();
            builder.withProjection(list(columns).stream().mapToInt(names::indexOf).toArray());
        }
        if (where != null && !where.isNull()) {
            builder.withFilter(Wishes.predicate(table.rowType(), where));
        }
        ArrayNode rows = JSON.createArrayNode();
        TableRead read = builder.newRead().executeFilter();
        take(rows, builder.readType(), read, builder.newScan().plan().splits());
        return rows;
    }

    /** What a streaming reader that stood at {@code after} is given until it stands at {@code to}. */
    private static JsonNode changes(Table table, long after, long to) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        ArrayNode rows = JSON.createArrayNode();
        StreamTableScan scan = builder.newStreamScan();
        scan.restore(after + 1);
        for (long next = after + 1; next <= to; ) {
            List<Split> splits = scan.plan().splits();
            Long reached = scan.checkpoint();
            if (reached == null || reached > to + 1) {
                break;
            }
            take(rows, table.rowType(), builder.newRead(), splits);
            if (reached == next && splits.isEmpty()) {
                break;
            }
            next = reached;
        }
        return rows;
    }

    /** What a streaming reader is given from its start until it stands behind {@code until}. */
    private static JsonNode stream(Table table, long until) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        ArrayNode rows = JSON.createArrayNode();
        StreamTableScan scan = builder.newStreamScan();
        Long before = null;
        while (before == null || before <= until) {
            List<Split> splits;
            try {
                splits = scan.plan().splits();
            } catch (EndOfScanException end) {
                break;
            }
            take(rows, builder.readType(), builder.newRead(), splits);
            Long reached = scan.checkpoint();
            if (reached == null || reached.equals(before)) {
                break;
            }
            before = reached;
        }
        if (before != null) {
            scan.notifyCheckpointComplete(before);
        }
        return rows;
    }

    private static void take(ArrayNode out, RowType type, TableRead read, List<Split> splits)
            throws Exception {
        read.withIOManager(spill());
        for (Split split : splits) {
            try (RecordReaderIterator<InternalRow> rows =
                    new RecordReaderIterator<>(read.createReader(split))) {
                while (rows.hasNext()) {
                    InternalRow row = rows.next();
                    ArrayNode cells = out.addArray();
                    cells.add(row.getRowKind().shortString());
                    addFields(cells, type, row);
                }
            }
        }
    }

    private static void addFields(ArrayNode out, RowType type, InternalRow row) {
        List<DataType> types = type.getFieldTypes();
        for (int i = 0; i < types.size(); i++) {
            InternalRow.FieldGetter getter = InternalRow.createFieldGetter(types.get(i), i);
            out.add(toJson(types.get(i), getter.getFieldOrNull(row)));
        }
    }

    private static JsonNode toJson(DataType type, Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return JSON.getNodeFactory().booleanNode((Boolean) value);
            case TINYINT:
            case SMALLINT:
            case INTEGER:
            case BIGINT:
                return JSON.getNodeFactory().numberNode(((Number) value).longValue());
            case DATE:
                return text(LocalDate.ofEpochDay((Integer) value));
            case TIME_WITHOUT_TIME_ZONE:
                return text(TIME.format(LocalTime.ofNanoOfDay((Integer) value * 1_000_000L)));
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return text(MOMENT.format(((Timestamp) value).toLocalDateTime()));
            case DECIMAL:
                return text(((Decimal) value).toBigDecimal().toPlainString());
            case BINARY:
            case VARBINARY:
                return text("0x" + HexFormat.of().formatHex((byte[]) value));
            case ARRAY:
                return elements(((ArrayType) type).getElementType(), (InternalArray) value);
            case MAP:
                MapType map = (MapType) type;
                return pairs(map.getKeyType(), map.getValueType(), (InternalMap) value);
            case MULTISET:
                DataType element = ((MultisetType) type).getElementType();
                return pairs(element, new IntType(), (InternalMap) value);
            case ROW:
                ArrayNode cells = JSON.createArrayNode();
                addFields(cells, (RowType) type, (InternalRow) value);
                return cells;
            default: // FLOAT and DOUBLE as Java prints them, and text
                return text(value);
        }
    }

    private static JsonNode elements(DataType type, InternalArray array) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        ArrayNode out = JSON.createArrayNode();
        for (int i = 0; i < array.size(); i++) {
            out.add(toJson(type, getter.getElementOrNull(array, i)));
        }
        return out;
    }

    private static JsonNode pairs(DataType keyType, DataType valueType, InternalMap map) {
        JsonNode keys = elements(keyType, map.keyArray());
        JsonNode values = elements(valueType, map.valueArray());
        ArrayNode out = JSON.createArrayNode();
        for (int i = 0; i < map.size(); i++) {
            out.addArray().add(keys.get(i)).add(values.get(i));
        }
        return out;
    }

    private static JsonNode text(Object value) {
        return JSON.getNodeFactory().textNode(value.toString());
    }

    // ------------------------------------------------------------------ writing

    /** A writer that replaces the {@code table}, the {@code partitions} of its rows, or nothing. */
    private static BatchWriteBuilder overwriting(Table table, String what) {
        if (what.isEmpty()) {
            return table.newBatchWriteBuilder();
        }
        String dynamic = String.valueOf(what.equals("partitions"));
        Map<String, String> options = Map.of("dynamic-partition-overwrite", dynamic);
        return table.copy(options).newBatchWriteBuilder().withOverwrite();
    }

    private static void write(Table table, BatchWriteBuilder builder, JsonNode rows, Long watermark)
            throws Exception {
        List<DataType> types = table.rowType().getFieldTypes();
        FileStoreTable store = (FileStoreTable) table;
        boolean dynamic = store.bucketMode() == BucketMode.HASH_DYNAMIC;
        BucketAssigner assigner = dynamic ? assigner(store) : null;
        RowPartitionKeyExtractor keys = new RowPartitionKeyExtractor(store.schema());
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(spill());
            List<InternalRow> given = new ArrayList<>();
            for (JsonNode cells : rows) {
                GenericRow row = new GenericRow(types.size());
                row.setRowKind(RowKind.fromShortString(cells.get(0).asText()));
                for (int i = 0; i < types.size(); i++) {
                    row.setField(i, fromJson(types.get(i), cells.get(i + 1)));
                }
                given.add(row);
            }
            if (store.bucketMode() == BucketMode.KEY_DYNAMIC) {
                Wanderers.write(store, write, given);
                given.clear();
            }
            for (InternalRow row : given) {
                if (assigner == null) {
                    write.write(row);
                } else {
                    int hash = keys.trimmedPrimaryKey(row).hashCode();
                    write.write(row, assigner.assign(keys.partition(row), hash));
                }
            }
            if (watermark == null) {
                commit.commit(write.prepareCommit());
            } else {
                List<CommitMessage> done = write.prepareCommit();
                ((TableCommitImpl) commit)
                        .commit(new ManifestCommittable(Long.MAX_VALUE, watermark, done));
            }
        }
    }

    private static BucketAssigner assigner(FileStoreTable table) {
        return new HashBucketAssigner(
                table.snapshotManager(),
                "judge",
                table.store().newIndexFileHandler(),
                1,
                1,
                0,
                table.coreOptions().dynamicBucketTargetRowNum(),
                table.coreOptions().dynamicBucketMaxBuckets());
    }

    static Object fromJson(DataType type, JsonNode value) {
        if (value.isNull()) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return value.asBoolean();
            case TINYINT:
                return (byte) value.asInt();
            case SMALLINT:
                return (short) value.asInt();
            case INTEGER:
                return value.asInt();
            case BIGINT:
                return value.asLong();
            case FLOAT:
                return (float) number(value.asText());
            case DOUBLE:
                return number(value.asText());
            case DATE:
                return (int) LocalDate.parse(value.asText()).toEpochDay();
            case TIMESTAMP_WITHOUT_TIME_ZONE:
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse(value.asText()));
            case DECIMAL:
                DecimalType decimal = (DecimalType) type;
                BigDecimal number = new BigDecimal(value.asText());
                return Decimal.fromBigDecimal(number, decimal.getPrecision(), decimal.getScale());
            case CHAR:
            case VARCHAR:
                return BinaryString.fromString(value.asText());
            case BINARY:
            case VARBINARY:
                return HexFormat.of().parseHex(value.asText().substring(2));
            case TIME_WITHOUT_TIME_ZONE:
                return (int) (LocalTime.parse(value.asText()).toNanoOfDay() / 1_000_000);
            case ARRAY:
                List<Object> items = new ArrayList<>();
                value.forEach(v -> items.add(fromJson(((ArrayType) type).getElementType(), v)));
                return new GenericArray(items.toArray());
            case MAP:
                return map(((MapType) type).getKeyType(), ((MapType) type).getValueType(), value);
            case MULTISET:
                return map(((MultisetType) type).getElementType(), new IntType(), value);
            case ROW:
                List<DataType> types = ((RowType) type).getFieldTypes();
                GenericRow row = new GenericRow(types.size());
                for (int i = 0; i < types.size(); i++) {
                    row.setField(i, fromJson(types.get(i), value.get(i)));
                }
                return row;
            default:
                throw new UnsupportedOperationException("the judge does not write " + type);
        }
    }

    /** A float as Java or as Python prints it. */
    private static double number(String text) {
        switch (text) {
            case "inf":
                return Double.POSITIVE_INFINITY;
            case "-inf":
                return Double.NEGATIVE_INFINITY;
            case "nan":
                return Double.NaN;
            default:
                return Double.parseDouble(text);
        }
    }

    private static GenericMap map(DataType keyType, DataType valueType, JsonNode pairs) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (JsonNode pair : pairs) {
            map.put(fromJson(keyType, pair.get(0)), fromJson(valueType, pair.get(1)));
        }
        return new GenericMap(map);
    }

    static void compact(FileStoreTable table, boolean full) throws Exception {
        if (table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            pack(table);
            return;
        }
        Map<String, String> writing = Map.of("write-only", "false");
        BatchWriteBuilder builder = table.copy(writing).newBatchWriteBuilder();
        Set<List<Object>> done = new HashSet<>();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(spill());
            for (ManifestEntry entry : table.store().newScan().plan().files()) {
                if (done.add(List.of(entry.partition(), entry.bucket()))) {
                    write.compact(entry.partition(), entry.bucket(), full);
                }
            }
            commit.commit(write.prepareCommit());
        }
    }

    /** Append tables without buckets: small files are packed into larger ones. */
    private static void pack(FileStoreTable table) throws Exception {
        BaseAppendFileStoreWrite write = ((AppendOnlyFileStore) table.store()).newWrite("judge");
        write.withIOManager(spill());
        List<CommitMessage> done = new ArrayList<>();
        try {
            for (AppendCompactTask task : new AppendCompactCoordinator(table, false).run()) {
                done.add(task.doCompact(table, write));
            }
        } catch (EndOfScanException nothingLeft) {
            return;
        }
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            commit.commit(done);
        }
        write.close();
    }

    private static void expire(FileStoreTable table, String retain) {
        Map<String, String> keep = new HashMap<>();
        keep.put("snapshot.num-retained.min", "1");
        keep.put("snapshot.num-retained.max", retain);
        keep.put("snapshot.time-retained", "1 ms");
        table.copy(keep).newCommit("judge").expireSnapshots();
    }

    static IOManager spill() throws IOException {
        Path folder = Files.createTempDirectory("judge");
        folder.toFile().deleteOnExit();
        return IOManager.create(folder.toString());
    }

    private static Map<String, String> texts(JsonNode node) {
        Map<String, String> out = new HashMap<>();
        if (node != null) {
            node.fields().forEachRemaining(e -> out.put(e.getKey(), e.getValue().asText()));
        }
        return out;
    }

    private static List<String> list(JsonNode node) {
        List<String> out = new ArrayList<>();
        if (node != null) {
            node.forEach(element -> out.add(element.asText()));
        }
        return out;
    }
}
