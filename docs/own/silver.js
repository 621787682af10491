// PEXPIRE after SETNX: a lease, one command too late.

function* tryLock() {
  if ((yield ['SETNX', key, 'locked']) === 0) return false;
  return (yield ['PEXPIRE', key, ttl]) === 1;
}

function* unlock() {
  return (yield ['DEL', key]) === 1;
}
