import java.time.DateTimeException;
import java.util.List;
import java.util.Map;
import org.apache.paimon.fs.Path;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.operation.PartitionExpire;
import org.apache.paimon.partition.PartitionTimeExtractor;
import org.apache.paimon.partition.actions.SuccessFileMarkDoneAction;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.core.type.TypeReference;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.TableCommitImpl;

/** What Apache Paimon does to keep a table; each verb answers what it says in {@link #answer}. */
final class Upkeep {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Upkeep() {}

    /** The answer to {@code verb}; null if the newest snapshot is all there is to say. */
    static JsonNode answer(String verb, FileStoreTable table, JsonNode ask) throws Exception {
        String name = ask.path("name").asText();
        switch (verb) {
            case "untag":
                table.deleteTag(name);
                return null;
            case "branch":
                if (ask.hasNonNull("tag")) {
                    table.createBranch(name, ask.get("tag").asText());
                } else {
                    table.createBranch(name);
                }
                return null;
            case "unbranch":
                table.deleteBranch(name);
                return null;
            case "forward":
                table.fastForward(name);
                return null;
            case "rollback":
                if (ask.hasNonNull("snapshot")) {
                    table.rollbackTo(ask.get("snapshot").asLong());
                } else {
                    table.rollbackTo(name);
                }
                return null;
            case "rollback_as_latest":
                try (TableCommitImpl commit = table.newCommit("judge")) {
                    commit.rollbackToAsLatest(table.tagManager().getOrThrow(name));
                }
                return null;
            case "manifests":
                table.newCommit("judge").compactManifests();
                return null;
            case "tags":
                ArrayNode tags = JSON.createArrayNode();
                table.tagManager().tagObjects().forEach(tag -> tags.add(tag.getRight()));
                return tags;
            case "make_tags":
                table.store().newTagAutoManager(table).run();
                return null;
            case "partition_times":
                ArrayNode times = JSON.createArrayNode();
                for (JsonNode asked : ask.get("cases")) {
                    times.add(time(asked));
                }
                return times;
            case "mark_done":
                Path folder = new Path(table.location(), name);
                new SuccessFileMarkDoneAction(table.fileIO(), table.location()).markDone(name);
                return JSON.readTree(table.fileIO().readFileUtf8(new Path(folder, "_SUCCESS")));
            case "orphans":
                long before = ask.get("older_than").asLong();
                long deleted = new LocalOrphanFilesClean(table, before).clean().getDeletedFileCount();
                return JSON.getNodeFactory().numberNode(deleted);
            case "statistics":
                Statistics found = table.statistics().orElse(null);
                return found == null ? JSON.nullNode() : JSON.readTree(found.toJson());
            case "expire_partitions":
                ArrayNode gone = JSON.createArrayNode();
                PartitionExpire expire = table.store().newPartitionExpire("judge", table);
                for (Map<String, String> partition : expire.expire(Long.MAX_VALUE)) {
                    gone.add(JSON.valueToTree(partition));
                }
                return gone;
            default:
                throw new IllegalArgumentException("unknown verb " + verb);
        }
    }

    /** When the partition of a case is, or the exception that says that it is no time. */
    private static String time(JsonNode asked) {
        String pattern = asked.get("pattern").textValue();
        String formatter = asked.get("formatter").textValue();
        List<String> keys = JSON.convertValue(asked.get("keys"), new TypeReference<>() {});
        List<String> values = JSON.convertValue(asked.get("values"), new TypeReference<>() {});
        try {
            return new PartitionTimeExtractor(pattern, formatter).extract(keys, values).toString();
        } catch (DateTimeException | IllegalArgumentException e) {
            return e.getClass().getSimpleName();
        }
    }
}
