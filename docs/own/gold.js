// SET NX PX: the lock and its lease in one command.

function* tryLock() {
  return (yield ['SET', key, 'locked', 'PX', ttl, 'NX']) === 'OK';
}

function* unlock() {
  return (yield ['DEL', key]) === 1;
}
