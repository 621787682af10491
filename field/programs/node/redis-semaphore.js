// redis-semaphore's Mutex behind the protocol.

import { Mutex } from "redis-semaphore";
import { serve } from "./protocol.js";

class Owner {
  constructor(request, clients) {
    this.request = request;
    this.client = clients[0];
  }

  async acquire(left, signal, lost) {
    const { key, lease_ms: lease, poll_ms: poll, fixed_lease: fixed } = this.request;
    const mutex = new Mutex(this.client, key, {
      lockTimeout: lease,
      acquireTimeout: left || Infinity,
      acquireAttemptsLimit: left === 0 ? 1 : Infinity,
      retryInterval: poll,
      ...(fixed && { refreshInterval: 0 }),
      onLockLost: lost,
    });
    const granted = await mutex.tryAcquire(signal);
    if (granted) this.mutex = mutex;
    return granted;
  }

  // release() doesn't say whether the server had the lock.
  async unlock() {
    if (!this.mutex) return false;
    await this.mutex.release();
    this.mutex = undefined;
  }
}

serve({
  hello: {
    library: "redis-semaphore 5.8.0",
    features: ["renewal", "fixed_lease", "lost"],
    keys: ["mutex:{key}"],
  },
  build: (request, clients) => new Owner(request, clients),
});
