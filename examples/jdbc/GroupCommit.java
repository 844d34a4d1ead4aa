import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;

/** Batches, single rows, NULLs and dates through server-side prepared statements; what went in must come out. */
public class GroupCommit {
  static final int BATCHES = 5, BATCH_SIZE = 10, SINGLES = 200;

  public static void main(String[] args) throws Exception {
    String host = args.length > 0 ? args[0] : "127.0.0.1";
    int port = args.length > 1 ? Integer.parseInt(args[1]) : 9030;
    String base = "jdbc:mariadb://" + host + ":" + port + "/";
    String options = "?useServerPrepStmts=true&useLocalSessionState=true&rewriteBatchedStatements=true"
        + "&cachePrepStmts=true&prepStmtCacheSqlLimit=99999&prepStmtCacheSize=50&sessionVariables=group_commit=async_mode";
    try (Connection admin = DriverManager.getConnection(base, "root", ""); Statement s = admin.createStatement()) {
      s.execute("CREATE DATABASE IF NOT EXISTS db");
      s.execute("DROP TABLE IF EXISTS db.jdbc_dt");
      s.execute("CREATE TABLE db.jdbc_dt (id INT NOT NULL, name VARCHAR(50), score INT, price DECIMAL(20,4), born DATE, at DATETIME(6), "
          + "ratio DOUBLE, big BIGINT) DUPLICATE KEY(id) DISTRIBUTED BY HASH(id) BUCKETS 1 "
          + "PROPERTIES (\"replication_num\" = \"1\", \"group_commit_interval_ms\" = \"300\")");
    }
    try (Connection conn = DriverManager.getConnection(base + "db" + options, "root", "")) {
      try (Statement s = conn.createStatement(); ResultSet r = s.executeQuery("SELECT @@group_commit")) {
        r.next();
        check("session variable", "async_mode", r.getString(1));
      }
      String sql = "insert into jdbc_dt values(?, ?, ?, ?, ?, ?, ?, ?)";
      try (PreparedStatement stmt = conn.prepareStatement(sql)) {
        for (int j = 0; j < BATCHES; j++) {
          for (int i = 0; i < BATCH_SIZE; i++) {
            fill(stmt, j * BATCH_SIZE + i);
            stmt.addBatch();
          }
          int[] result = stmt.executeBatch();
          check("batch size", BATCH_SIZE, result.length);
        }
        // One statement executed many times: later executions send no types.
        for (int i = 0; i < SINGLES; i++) {
          fill(stmt, BATCHES * BATCH_SIZE + i);
          check("affected rows", 1, stmt.executeUpdate());
        }
      }
      int total = BATCHES * BATCH_SIZE + SINGLES;
      waitFor(conn, total);
      int seen = 0;
      try (PreparedStatement q = conn.prepareStatement("select id, name, score, price, born, at, ratio, big from jdbc_dt where id >= ? order by id")) {
        q.setInt(1, 0);
        try (ResultSet r = q.executeQuery()) {
          while (r.next()) {
            int id = r.getInt(1);
            check("id", seen, id);
            check("name", id % 7 == 0 ? null : "name" + id, r.getString(2));
            check("score", id % 5 == 0 ? null : id + 10, (Object) r.getObject(3));
            check("price", new BigDecimal(id + ".2500"), r.getBigDecimal(4));
            check("born", Date.valueOf("2024-02-29"), r.getDate(5));
            check("at", Timestamp.valueOf("2024-02-29 23:59:58.123456"), r.getTimestamp(6));
            check("ratio", id / 8.0, r.getDouble(7));
            check("big", Long.MAX_VALUE - id, r.getLong(8));
            seen++;
          }
        }
      }
      check("rows", total, seen);
      System.out.println("jdbc: " + total + " rows went in and came out equal");
    }
  }

  static void fill(PreparedStatement stmt, int id) throws SQLException {
    stmt.setInt(1, id);
    if (id % 7 == 0) stmt.setNull(2, Types.VARCHAR); else stmt.setString(2, "name" + id);
    if (id % 5 == 0) stmt.setNull(3, Types.INTEGER); else stmt.setInt(3, id + 10);
    stmt.setBigDecimal(4, new BigDecimal(id + ".25"));
    stmt.setDate(5, Date.valueOf("2024-02-29"));
    stmt.setTimestamp(6, Timestamp.valueOf("2024-02-29 23:59:58.123456"));
    stmt.setDouble(7, id / 8.0);
    stmt.setLong(8, Long.MAX_VALUE - id);
  }

  static void waitFor(Connection conn, int total) throws Exception {
    long end = System.currentTimeMillis() + 20_000;
    int n = -1;
    while (System.currentTimeMillis() < end) {
      try (Statement s = conn.createStatement(); ResultSet r = s.executeQuery("select count(*) from jdbc_dt")) {
        r.next();
        n = r.getInt(1);
        if (n == total) return;
      }
      Thread.sleep(50);
    }
    throw new IllegalStateException("the table has " + n + " rows, want " + total);
  }

  static void check(String what, Object want, Object got) {
    if (want == null ? got != null : !want.equals(got)) {
      throw new IllegalStateException(what + ": got " + got + ", want " + want);
    }
  }
}
