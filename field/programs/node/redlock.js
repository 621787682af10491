// redlock, as its README recommends it: using() renews the lock while a routine runs.
// The routine here lasts until the protocol's unlock.

import Redlock, { ResourceLockedError } from "redlock";
import { serve } from "./protocol.js";

class Owner {
  constructor(request, clients) {
    this.request = request;
    const poll = request.poll_ms ?? 200;
    this.redlock = new Redlock(clients, { retryDelay: poll, retryJitter: poll / 2 });
  }

  async acquire(left, signal, lost) {
    const { key, lease_ms: lease, fixed_lease: fixed } = this.request;
    const settings = { retryCount: -1 };
    if (left !== Infinity) {
      settings.retryCount = Math.floor(left / this.redlock.settings.retryDelay);
    }
    try {
      if (fixed) {
        const lock = await this.redlock.acquire([key], lease, settings);
        this.release = () => lock.release();
        return true;
      }
      return await new Promise((granted, failed) => {
        let end;
        const ended = new Promise((resolve) => (end = resolve));
        const done = this.redlock.using([key], lease, settings, (aborted) => {
          aborted.addEventListener("abort", lost);
          this.release = () => {
            aborted.removeEventListener("abort", lost);
            end();
            return done;
          };
          granted(true);
          return ended;
        });
        done.catch(failed);
      });
    } catch (e) {
      if (await locked(e)) return false;
      throw e;
    }
  }

  async unlock() {
    const release = this.release;
    if (!release) return false;
    this.release = undefined;
    try {
      await release();
    } catch (e) {
      if (await locked(e)) return false;
      throw e;
    }
  }
}

// locked says whether servers have denied it. Where one has failed, it throws that.
async function locked(error) {
  const attempts = await Promise.all(error.attempts ?? []);
  const votes = [...(attempts.at(-1)?.votesAgainst.values() ?? [])];
  const failed = votes.find((e) => !(e instanceof ResourceLockedError));
  if (failed) throw failed;
  return votes.length > 0;
}

serve({
  hello: {
    library: "redlock 5.0.0-beta.2",
    features: ["renewal", "fixed_lease", "lost"],
    servers: 5,
  },
  build: (request, clients) => new Owner(request, clients),
});
