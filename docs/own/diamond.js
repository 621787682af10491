// Compare and delete in one Lua script.
const release = `if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1]) end return 0`;
let mine = '';

function* tryLock() {
  const next = token();
  if ((yield ['SET', key, next, 'PX', ttl, 'NX']) !== 'OK') return false;
  mine = next;
  return true;
}

function* unlock() { return (yield ['EVAL', release, 1, key, mine]) === 1; }
