// The lease is renewed: renew is called after every third of it.
const ifMine = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call(";
const release = ifMine + "'DEL', KEYS[1]) end return 0";
const extend = ifMine + "'PEXPIRE', KEYS[1], ARGV[2]) end return 0";
let mine = '';

function* tryLock() {
  const next = token(), sent = now();
  if ((yield ['SET', key, next, 'PX', ttl, 'NX']) !== 'OK') return false;
  mine = next;
  if (now() - sent < ttl) return true;
  yield* unlock(); // the reply came when the lease was over
  return false;
}

function* unlock() { return (yield ['EVAL', release, 1, key, mine]) === 1; }
function* renew() { return (yield ['EVAL', extend, 1, key, mine, ttl]) === 1; }
