import com.fasterxml.jackson.databind.*;
import java.util.*;
import java.util.concurrent.*;
import org.redisson.*;
import org.redisson.api.*;

/** Redisson's locks behind the protocol of docs/any-language.md: lock, fair, readwrite or red. */
public class Program {
  /** An owner is a thread for Redisson, so that each has one here. */
  record Owner(RLock lock, RLock reads, ExecutorService thread, long lease) {}

  static final ObjectMapper json = new ObjectMapper();
  static final Map<String, Owner> owners = new HashMap<>();
  static final List<RedissonClient> clients = new ArrayList<>();
  static JsonNode nodes;

  static synchronized void answer(JsonNode request, String type, Map<String, Object> more) {
    Map<String, Object> answer = new HashMap<>(more);
    answer.put("id", request.get("id"));
    answer.put("type", type);
    System.out.println(json.valueToTree(answer).toString());
  }

  static Owner build(JsonNode r, String kind) {
    int lease = r.get("lease_ms").asInt();
    if (clients.isEmpty()) {
      nodes.forEach(node -> clients.add(Connection.open(node, lease)));
    }
    String key = r.get("key").asText();
    RedissonClient first = clients.get(0);
    RLock lock = switch (kind) {
      case "fair" -> first.getFairLock(key);
      case "readwrite" -> first.getReadWriteLock(key).writeLock();
      case "red" -> new RedissonRedLock(
          clients.stream().map(client -> client.getLock(key)).toArray(RLock[]::new));
      default -> first.getLock(key);
    };
    return new Owner(lock, first.getReadWriteLock(key).readLock(),
        Executors.newSingleThreadExecutor(),
        r.path("fixed_lease").asBoolean() ? lease : -1); // -1: the watchdog renews it
  }

  static void serve(JsonNode r, String type, Owner o) {
    RLock lock = type.contains("read") ? o.reads : o.lock;
    boolean attempt = type.startsWith("try");
    long left = attempt ? 0 : r.path("deadline_ms").asLong(Long.MAX_VALUE);
    try {
      if (type.endsWith("unlock")) {
        lock.unlock();
        answer(r, "ok", Map.of());
      } else if (lock.tryLock(left, o.lease, TimeUnit.MILLISECONDS)) {
        answer(r, "granted", Map.of());
      } else if (attempt) {
        answer(r, "refused", Map.of());
      } else {
        answer(r, "error", Map.of("error", "deadline", "text", "not acquired in time"));
      }
    } catch (IllegalMonitorStateException e) {
      answer(r, "error", Map.of("error", "not_held", "text", e.getMessage()));
    } catch (Exception e) { // of the network: nobody knows what the server has done
      answer(r, "error", Map.of("error", "unknown", "text", e.toString()));
    }
  }

  public static void main(String[] args) throws Exception {
    String features = "renewal fixed_lease reentry";
    features += args[0].equals("readwrite") ? " read_write" : "";
    for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
      JsonNode r = json.readTree(in.nextLine());
      String type = r.get("type").asText();
      if (type.equals("hello")) {
        nodes = r.get("nodes");
        answer(r, "hello", Map.of("protocol", 1, "library", "Redisson 4.7.0, " + args[0],
            "features", features.split(" "), "servers", args[0].equals("red") ? 5 : 1));
      } else if (type.equals("build")) {
        owners.put(r.get("owner").asText(), build(r, args[0]));
        answer(r, "ok", Map.of());
      } else if (!type.equals("cancel")) { // Redisson can interrupt a thread, not a request
        Owner o = owners.get(r.get("owner").asText());
        o.thread.execute(() -> serve(r, type, o));
      }
    }
    Runtime.getRuntime().halt(0); // releases nothing
  }
}
