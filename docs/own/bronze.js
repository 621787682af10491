// SETNX takes the lock, DEL frees it.

function* tryLock() {
  return (yield ['SETNX', key, 'locked']) === 1;
}

function* unlock() {
  return (yield ['DEL', key]) === 1;
}
