import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's locks behind the protocol of docs/any-language.md: lock, fair or readwrite. */
public class Program {
  /** An owner is a thread for Redisson, so that each has one here. */
  record Owner(RLock lock, RLock reads, ExecutorService thread, long lease) {}

  static final PrintStream out = System.out;
  static final Gson gson = new Gson();
  static final Map<String, Owner> owners = new HashMap<>();
  static RedissonClient client;
  static JsonObject node;

  static synchronized void answer(JsonObject request, String type, Object... more) {
    JsonObject a = new JsonObject();
    a.add("id", request.get("id"));
    a.addProperty("type", type);
    for (int i = 0; i < more.length; i += 2) {
      a.add((String) more[i], gson.toJsonTree(more[i + 1]));
    }
    out.println(a);
    out.flush();
  }

  static void build(JsonObject r, String kind) {
    if (client == null) { // the watchdog's lease is a setting of the client
      Config config = new Config();
      config.setLockWatchdogTimeout(r.get("lease_ms").getAsLong());
      if (node.has("password")) {
        config.setPassword(node.get("password").getAsString());
      }
      config.useSingleServer().setAddress("redis://" + node.get("address").getAsString());
      client = Redisson.create(config);
    }
    String key = r.get("key").getAsString();
    RLock lock = kind.equals("fair") ? client.getFairLock(key) : client.getLock(key);
    RLock reads = null;
    if (kind.equals("readwrite")) {
      lock = client.getReadWriteLock(key).writeLock();
      reads = client.getReadWriteLock(key).readLock();
    }
    boolean fixed = r.has("fixed_lease") && r.get("fixed_lease").getAsBoolean();
    owners.put(r.get("owner").getAsString(), new Owner(lock, reads,
        Executors.newSingleThreadExecutor(task -> {
          Thread thread = new Thread(task);
          thread.setDaemon(true);
          return thread;
        }), fixed ? r.get("lease_ms").getAsLong() : -1)); // -1: the watchdog renews it
    answer(r, "ok");
  }

  static void serve(JsonObject r, Owner o) {
    String type = r.get("type").getAsString();
    RLock lock = type.contains("read") ? o.reads : o.lock;
    try {
      switch (type) {
        case "unlock", "read_unlock" -> {
          lock.unlock();
          answer(r, "ok");
        }
        case "try", "try_read" ->
            answer(r, lock.tryLock(0, o.lease, TimeUnit.MILLISECONDS) ? "granted" : "refused");
        default -> {
          long left = r.has("deadline_ms") ? r.get("deadline_ms").getAsLong() : Long.MAX_VALUE;
          if (lock.tryLock(left, o.lease, TimeUnit.MILLISECONDS)) {
            answer(r, "granted");
          } else {
            answer(r, "error", "error", "deadline", "text", "not acquired in time");
          }
        }
      }
    } catch (IllegalMonitorStateException e) {
      answer(r, "error", "error", "not_held", "text", e.getMessage());
    } catch (Exception e) { // of the network: nobody knows what the server has done
      answer(r, "error", "error", "unknown", "text", e.toString());
    }
  }

  public static void main(String[] args) throws Exception {
    System.setOut(System.err); // standard output is the protocol's
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line; (line = in.readLine()) != null; ) {
      JsonObject r = JsonParser.parseString(line).getAsJsonObject();
      String type = r.get("type").getAsString();
      if (type.equals("hello")) {
        node = r.getAsJsonArray("nodes").get(0).getAsJsonObject();
        answer(r, "hello", "protocol", 1, "library", "Redisson 4.7.0, " + args[0],
            "features", args[0].equals("readwrite")
                ? new String[] {"renewal", "fixed_lease", "reentry", "read_write"}
                : new String[] {"renewal", "fixed_lease", "reentry"});
      } else if (type.equals("build")) {
        build(r, args[0]);
      } else if (!type.equals("cancel")) { // Redisson can interrupt a thread, not a request
        Owner o = owners.get(r.get("owner").getAsString());
        o.thread.execute(() -> serve(r, o));
      }
    }
    Runtime.getRuntime().halt(0); // releases nothing
  }
}
