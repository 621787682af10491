// Each acquisition has its own token: GET, compare, DEL.
let mine = '';

function* tryLock() {
  const next = token();
  if ((yield ['SET', key, next, 'PX', ttl, 'NX']) !== 'OK') return false;
  mine = next;
  return true;
}

function* unlock() {
  if ((yield ['GET', key]) !== mine) return false;
  return (yield ['DEL', key]) === 1;
}
