import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf.ConfVars;
import org.apache.hadoop.hive.metastore.security.HadoopThriftAuthBridge;
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
        MetastoreConf.setVar(conf, ConfVars.TXN_TIMEOUT, args[3] + "s");
        MetastoreConf.setVar(conf, ConfVars.TIMEDOUT_TXN_REAPER_INTERVAL, "1s");
        MetastoreConf.setVar(conf, ConfVars.TASK_THREADS_ALWAYS, HIVE + "RuntimeStatsCleanerTask");
        MetastoreConf.setVar(conf, ConfVars.TASK_THREADS_REMOTE_ONLY, HIVE + "txn.AcidHouseKeeperService");
        MetastoreConf.setVar(conf, ConfVars.EXPRESSION_PROXY_CLASS, HIVE + "DefaultPartitionExpressionProxy");
        MetastoreConf.setBoolVar(conf, ConfVars.AUTO_CREATE_ALL, fresh);
        MetastoreConf.setBoolVar(conf, ConfVars.SCHEMA_VERIFICATION, false);
        if (fresh) {
            TxnDbUtil.setConfValues(conf);
            TxnDbUtil.prepDb(conf);
        }
        HiveMetaStore.startMetaStore(Integer.parseInt(args[0]), HadoopThriftAuthBridge.getBridge(), conf);
    }
}
