// What readers type, and what the pages say for it: this is the one place for everyday words.

// alike are words.
lockladder.alike = {
  'cron crontab scheduler': 'minute timetable job', 'duplicate double': 'twice idempotency', 'idempotent': 'idempotency', 'two': 'both', 'webhook': 'task job',
  'oversold inventory booking reservation': 'oversell stock sold', 'steal stolen somebody someone stranger wrong': 'another foreign',
  'stuck locked frozen blocked zombie': 'orphaned forever hangs', 'kill killed dead died die': 'crash dies', 'lose loses losing': 'lost loss',
  'expiry ttl': 'lease expire ends pexpire', 'timeout': 'lease ttl deadline', 'heartbeat extend keepalive': 'renew watchdog', 'eviction': 'evict',
  'retry backoff': 'polling attempt repeated', 'worker pod instance thread': 'client holder process', 'recursive nested': 'reentrant reentry',
  'split brain': 'partition', 'pubsub subscribe subscription': 'notify message wakes', 'sentinel replication': 'replica failover', 'persistence aof': 'restart disk', 'internet offline wifi': 'network',
  'performance speed slow latency throughput measure': 'benchmark costs fast', 'monitor metric observability prometheus': 'count alert log production',
  'postgres postgresql mysql': 'mariadb sql database', 'js': 'javascript', 'golang': 'go', 'dotnet csharp': 'net', 'get_lock': 'mariadb', 'consul hazelcast': 'zookeeper etcd', 'celery django flask': 'python',
  'election elect': 'zookeeper etcd timetable', 'sidekiq rails ruby': 'library languages', 'jedis lettuce setifabsent kotlin': 'java redisson', 'springboot': 'spring', 'gc': 'garbage', 'concurrency concurrent': 'race', 'rwlock': 'readwrite', 'p50 p99 percentile': 'benchmark', 'cheat cheatsheet': 'handout',
  'course lesson class classroom teach training student': 'workshop participants exercises', 'playground sandbox simulate': 'laboratory', 'tutorial beginner introduction basics': 'guarantee bronze'
};

// phrases are several words.
lockladder.phrases = [[/.*(lock was already expired|lock not held).*/i, 'error message ErrNotHeld'], [/(not|never|\w+n.?t) (get |being )?(released?|unlocked|deleted|freed)(?! an? )|lock( \w+)? (stays?|remains?|still (held|there))( forever)?/i, 'orphaned bronze'],
  [/(two|both|several|2) \w+ (got|get|hold|holds|have|has|acquired?|own) (the |a |one |same )*lock/i, 'two holders'],
  [/\b(lock|lease)( \w+){0,2} expir(es|ed|ing)( too)?( early| soon| fast)?|\bexpir(ed|ing) (lock|lease)s?\b/i, 'work takes longer than the lease'], [/extend( \w+)? (lock|lease|ttl)/i, 'renew the lease'],
  [/.*(know|detect|notice|find out).* lost\b.*/i, 'holder learns of a loss'], [/(fail\w*|can(not|.?t)|could.?n.t|unable|not) (to )?((acquire|obtain)\w*( the| a)?( lock)?|get (the |a )?lock)/i, 'clients wait orphaned lock'],
  [/.*\b(choos|pick|select a|compar|decide|best)\w*( \w+){0,2} locks?\b.*/i, 'which lock'], [/.*\b(runs?|ran|processed|executed|sent) (twice|two times|multiple times)/i, 'do the same job at the same time'],
  [/.*(i\/o timeout|connection re(fused|set)|broken pipe).*/i, 'request got no answer'], [/.*\b(failover|restart)\w* .*(lost|lose|gone|forg).*|.*lost .*(failover|restart).*/i, 'servers that forget'], [/^moved \d.*/i, 'MOVED'],
  [/.*\b(what|which|best|right|good) (ttl|lease|timeout).*/i, 'how long should a lease be'], [/.*redlock (safe|broken|dead).*/i, 'redlock'], [/^noperm .*/i, 'access control lists'],
  [/.*\bsafe(ly)?\b.*\b(release|unlock)\w*.*|.*\b(release|unlock)\w*\b.*\bsafe(ly)?\b.*|^if redis\.call.*|^release\.lua$/i, 'release compares and deletes in one script'],
  [/.*\bauto\w*.?(renew|extend|refresh)\w*.*/i, 'watchdog renews'], [/.*\bredis (goes|went|is) (down|away|offline)\b.*|.*redis (crash|die|outage)\w*.*/i, 'servers that forget'],
  [/.*\b(jobs?|tasks?|crons?|schedulers?) \w+ on (every|each|all|several|many) .*|.*\b(two|several|all|every) \w+ (run|execute|do|start)s? (the|a) (same )?(job|task).*/i, 'once a minute in one of four services'],
  [/.*lockatmostfor.*/i, 'ShedLock'], [/\bredis lock$/i, 'which lock at work'], [/\bfifo\b/i, 'order of arrival'], [/.*\bttl -1\b.*|.*\b(no|without) (a )?(ttl|lease|expiry)\b.*/i, 'orphaned bronze'], [/.*stop.the.world.*/i, 'GC pause'],
  [/^(re-?entrant|recursive) locks?$/i, 'reentrant idea'], [/unit.?tests?\b/i, 'test your own'], [/.*timeout.?(error|exception).*/i, 'gave up the wait was too long'],
  [/\bnode\.?js\b|\btypescript\b/i, 'library node-redlock'], [/double.?book\w*/i, 'stock sold twice'], [/^distributed (lock|mutex)(es|s)?$/i, 'lock guarantee']];
