import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.mergetree.LevelSortedRun;
import org.apache.paimon.mergetree.SortedRun;
import org.apache.paimon.mergetree.compact.CompactStrategy;
import org.apache.paimon.mergetree.compact.EarlyFullCompaction;
import org.apache.paimon.mergetree.compact.ForceUpLevel0Compaction;
import org.apache.paimon.mergetree.compact.UniversalCompaction;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.stats.SimpleStats;

/** What Apache Paimon compacts in a bucket whose sorted runs have given levels and sizes. */
final class Picks {
    private Picks() {}

    /**
     * Of each case {@code {"levels": n, "runs": [[level, size], ...], "trigger": ..., ...}} the
     * output level and the number of runs, or null.
     */
    static JsonNode of(JsonNode cases) {
        ArrayNode out = new ObjectMapper().createArrayNode();
        for (JsonNode one : cases) {
            List<LevelSortedRun> runs = new ArrayList<>();
            for (JsonNode run : one.get("runs")) {
                DataFileMeta file = file(runs.size(), run.get(0).asInt(), run.get(1).asLong());
                runs.add(new LevelSortedRun(run.get(0).asInt(), SortedRun.fromSingle(file)));
            }
            Optional<CompactUnit> unit = strategy(one).pick(one.get("levels").asInt(), runs);
            if (unit.isPresent()) {
                CompactUnit found = unit.get();
                out.addArray().add(found.outputLevel()).add(found.files().size());
            } else {
                out.addNull();
            }
        }
        return out;
    }

    private static CompactStrategy strategy(JsonNode one) {
        EarlyFullCompaction early = null;
        if (one.has("total") || one.has("incremental")) {
            early = new EarlyFullCompaction(null, size(one, "total"), size(one, "incremental"));
        }
        UniversalCompaction universal =
                new UniversalCompaction(
                        one.get("amplification").asInt(),
                        one.get("ratio").asInt(),
                        one.get("trigger").asInt(),
                        early,
                        null);
        boolean force = one.get("force").asBoolean();
        return force ? new ForceUpLevel0Compaction(universal, null) : universal;
    }

    private static Long size(JsonNode one, String name) {
        return one.has(name) ? one.get(name).asLong() : null;
    }

    private static DataFileMeta file(int number, int level, long size) {
        return DataFileMeta.create(
                "f" + number,
                size,
                1,
                BinaryRow.EMPTY_ROW,
                BinaryRow.EMPTY_ROW,
                SimpleStats.EMPTY_STATS,
                SimpleStats.EMPTY_STATS,
                0,
                0,
                0,
                level,
                Collections.emptyList(),
                0L,
                null,
                FileSource.APPEND,
                null,
                null,
                null,
                null);
    }
}
