import java.io.File;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf.ConfVars;
import org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge;
import org.apache.hadoop.hive.metastore.txn.AcidHouseKeeperService;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;

/**
 * A Hive metastore on Derby: {@code HiveServer <port> <folder of its database> <warehouse> <seconds of a lock>}.
 *
 * <p>Of its threads for housekeeping it has one that the metastore alone can load, and the one that forgets locks.
 */
public class HiveServer {
    private static final String HIVE = "org.apache.hadoop.hive.metastore.";

    public static void main(String[] args) throws Throwable {
        Configuration conf = MetastoreConf.newMetastoreConf();
        boolean fresh = !new File(args[1]).exists();
        MetastoreConf.setVar(conf, ConfVars.CONNECT_URL_KEY, "jdbc:derby:" + args[1] + ";create=true");
        MetastoreConf.setVar(conf, ConfVars.WAREHOUSE, args[2]);
        MetastoreConf.setTimeVar(conf, ConfVars.TXN_TIMEOUT, Long.parseLong(args[3]), TimeUnit.SECONDS);
        MetastoreConf.setVar(conf, ConfVars.TASK_THREADS_ALWAYS, HIVE + "RuntimeStatsCleanerTask");
        MetastoreConf.setVar(conf, ConfVars.EXPRESSION_PROXY_CLASS, HIVE + "DefaultPartitionExpressionProxy");
        MetastoreConf.setBoolVar(conf, ConfVars.AUTO_CREATE_ALL, fresh);
        MetastoreConf.setBoolVar(conf, ConfVars.SCHEMA_VERIFICATION, false);
        TxnDbUtil.setConfValues(conf);
        if (fresh) {
            TxnDbUtil.prepDb(conf);
        }
        AcidHouseKeeperService forgets = new AcidHouseKeeperService();
        forgets.setConf(conf);
        Executors.newScheduledThreadPool(1).scheduleAtFixedRate(forgets, 1, 1, TimeUnit.SECONDS);
        HiveMetaStore.startMetaStore(Integer.parseInt(args[0]), HadoopThriftAuthBridge.getBridge(), conf);
    }
}
