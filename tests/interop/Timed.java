import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableRead;

/** Work of Apache Paimon on rows that are in memory already, with the seconds that it takes. */
final class Timed {
    private Timed() {}

    /** Commit every row of {@code from} to {@code to}. */
    static JsonNode write(Table to, Table from) throws Exception {
        List<InternalRow> rows = rows(from);
        long started = System.nanoTime();
        BatchWriteBuilder builder = to.newBatchWriteBuilder();
        try (BatchTableWrite write = builder.newWrite();
                BatchTableCommit commit = builder.newCommit()) {
            write.withIOManager(Judge.spill());
            for (InternalRow row : rows) {
                write.write(row);
            }
            commit.commit(write.prepareCommit());
        }
        return answer(started, rows.size());
    }

    /** Compact every bucket fully. */
    static JsonNode compact(FileStoreTable table) throws Exception {
        long started = System.nanoTime();
        Judge.compact(table, true);
        return answer(started, 0);
    }

    /** Read the changes of all snapshots. */
    static JsonNode changes(Table table, long to) throws Exception {
        long started = System.nanoTime();
        ReadBuilder builder = table.newReadBuilder();
        StreamTableScan scan = builder.newStreamScan();
        scan.restore(1L);
        long count = 0;
        for (Long at = 1L; at != null && at <= to; ) {
            List<Split> splits = scan.plan().splits();
            for (Split split : splits) {
                count += drain(builder.newRead(), split);
            }
            Long reached = scan.checkpoint();
            if (splits.isEmpty() && at.equals(reached)) {
                break;
            }
            at = reached;
        }
        return answer(started, count);
    }

    private static List<InternalRow> rows(Table table) throws Exception {
        List<InternalRow> rows = new ArrayList<>();
        ReadBuilder builder = table.newReadBuilder();
        InternalRowSerializer copier = new InternalRowSerializer(table.rowType());
        for (Split split : builder.newScan().plan().splits()) {
            try (RecordReaderIterator<InternalRow> found =
                    new RecordReaderIterator<>(builder.newRead().createReader(split))) {
                while (found.hasNext()) {
                    rows.add(copier.toBinaryRow(found.next()).copy());
                }
            }
        }
        return rows;
    }

    private static long drain(TableRead read, Split split) throws Exception {
        long count = 0;
        try (RecordReaderIterator<InternalRow> rows =
                new RecordReaderIterator<>(read.createReader(split))) {
            while (rows.hasNext()) {
                rows.next();
                count++;
            }
        }
        return count;
    }

    private static JsonNode answer(long started, long rows) {
        ObjectNode answer = new ObjectMapper().createObjectNode();
        answer.put("seconds", (System.nanoTime() - started) / 1e9);
        answer.put("rows", rows);
        return answer;
    }
}
