import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.redisson.*;
import org.redisson.api.*;
import org.redisson.config.*;

/** Sells a stock behind Redisson's lock or fair lock, for the benchmark: see docs/any-language.md. */
public class Workload {
  static final ObjectMapper json = new ObjectMapper();

  /** All threads share a client, as Redisson's users do; it has a connection for each. */
  static RedissonClient connect(JsonNode node, int owners) {
    Config config = new Config();
    config.setPassword(node.path("password").asText(null));
    config.useSingleServer().setAddress("redis://" + node.get("address").asText())
        .setConnectionPoolSize(owners + 8).setConnectionMinimumIdleSize(owners + 8);
    return Redisson.create(config);
  }

  static ObjectNode sell(JsonNode r, JsonNode node, String kind) throws Exception {
    int owners = r.get("owners").asInt();
    RedissonClient client = connect(node, owners);
    RAtomicLong stock = client.getAtomicLong(r.get("stock").asText());
    String key = r.get("key").asText();
    List<long[]> sections = Collections.synchronizedList(new ArrayList<>());
    List<String> failures = Collections.synchronizedList(new ArrayList<>());
    AtomicLong taken = new AtomicLong(), lost = new AtomicLong(), began = new AtomicLong();
    CountDownLatch ready = new CountDownLatch(owners), open = new CountDownLatch(1);
    List<Thread> threads = new ArrayList<>();
    for (int n = 0; n < owners; n++) {
      threads.add(new Thread(() -> {
        RLock lock = kind.equals("fair") ? client.getFairLock(key) : client.getLock(key);
        ready.countDown();
        for (int turn = 0; turn < r.get("turns").asInt(); turn++) {
          try {
            open.await();
            long asked = (System.nanoTime() - began.get()) / 1000;
            lock.lock();
            try {
              long entered = (System.nanoTime() - began.get()) / 1000;
              long left = stock.get();
              if (left > 0) {
                taken.incrementAndGet();
                lost.addAndGet(stock.decrementAndGet() == left - 1 ? 0 : 1);
              }
              sections.add(new long[] {asked, entered, (System.nanoTime() - began.get()) / 1000});
            } finally {
              lock.unlock();
            }
          } catch (Exception e) {
            failures.add(e.toString());
          }
        }
      }));
    }
    RLock warm = kind.equals("fair") ? client.getFairLock(key + ":warm") : client.getLock(key + ":warm");
    for (int n = 0; n < 2000; n++) { // or Java would interpret most of the workload
      warm.lock();
      stock.get();
      warm.unlock();
    }
    threads.forEach(Thread::start);
    ready.await();
    began.set(System.nanoTime());
    open.countDown();
    for (Thread thread : threads) {
      thread.join();
    }
    return json.createObjectNode().put("type", "sold").put("taken", taken.get())
        .put("lost_updates", lost.get()).put("failures", failures.size())
        .put("text", failures.isEmpty() ? "" : failures.get(0))
        .set("sections", json.valueToTree(sections));
  }

  public static void main(String[] args) throws Exception {
    JsonNode node = null;
    for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
      JsonNode r = json.readTree(in.nextLine());
      ObjectNode says;
      if (r.get("type").asText().equals("hello")) {
        node = r.get("nodes").get(0);
        says = json.createObjectNode().put("type", "hello").put("protocol", 1)
            .put("library", "Redisson 4.7.0, " + args[0]);
      } else {
        says = sell(r, node, args[0]);
      }
      System.out.println(says.set("id", r.get("id")).toString());
    }
    Runtime.getRuntime().halt(0);
  }
}
