import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.paimon.crosspartition.GlobalIndexAssigner;
import org.apache.paimon.crosspartition.IndexBootstrap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableWrite;

/** Writes rows whose key may be in another partition: an index of all keys says where. */
final class Wanderers {
    private Wanderers() {}

    static void write(FileStoreTable table, BatchTableWrite write, List<InternalRow> rows)
            throws Exception {
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try (GlobalIndexAssigner index = new GlobalIndexAssigner(table)) {
            index.open(
                    32 << 20,
                    thread,
                    Judge.spill(),
                    1,
                    0,
                    (row, bucket) -> {
                        try {
                            write.write(row, bucket);
                        } catch (Exception error) {
                            throw new IllegalStateException(error);
                        }
                    });
            new IndexBootstrap(table)
                    .bootstrap(
                            1,
                            0,
                            key -> {
                                try {
                                    index.bootstrapKey(key);
                                } catch (Exception error) {
                                    throw new IllegalStateException(error);
                                }
                            });
            index.endBoostrap(true);
            for (InternalRow row : rows) {
                index.processInput(row);
            }
        } finally {
            thread.shutdownNow();
        }
    }
}
