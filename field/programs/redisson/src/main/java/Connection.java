import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.*;

/** A client of Redisson's with one server, whose timeouts fit a lease. */
class Connection {
  /**
   * Redisson's defaults are for its lease of 30 s. They keep their share of another one. It has
   * four connections from the start instead of 24: a process has few owners and lives for seconds.
   */
  static RedissonClient open(JsonNode node, int lease) {
    Config config = new Config();
    config.setLockWatchdogTimeout(lease).setFairLockWaitTimeout(10L * lease);
    config.setPassword(node.path("password").asText(null));
    config.useSingleServer().setAddress("redis://" + node.get("address").asText())
        .setConnectionMinimumIdleSize(4)
        .setTimeout(lease / 10).setConnectTimeout(lease / 3).setSubscriptionTimeout(lease / 4)
        .setRetryDelay(new EqualJitterDelay(
            Duration.ofMillis(lease / 30), Duration.ofMillis(lease / 15)));
    return create(config);
  }

  /** The first connection of a new JVM may take longer than that share allows. */
  static RedissonClient create(Config config) {
    for (int left = 10; ; left--) {
      try {
        return Redisson.create(config);
      } catch (RedisException e) {
        if (left == 1) {
          throw e;
        }
      }
    }
  }
}
