<?php

// Symfony's Lock with its Redis store behind the protocol of docs/any-language.md.

require 'Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

$owners = [];
$waiting = []; // requests that are tried again and again: PHP has no threads

function answer(array $request, string $type, array $more = []): void
{
    echo json_encode(['id' => $request['id'], 'type' => $type] + $more), "\n";
}

function connect(array $node): Redis
{
    [$host, $port] = explode(':', $node['address']);
    $redis = new Redis();
    $redis->connect($host, (int) $port, 5, null, 100, 5);
    if (isset($node['password'])) {
        $redis->auth(isset($node['user'])
            ? [$node['user'], $node['password']] : $node['password']);
    }

    return $redis;
}

// serve answers a request, and says whether it must be tried again.
function serve(array $r): bool
{
    global $factory, $owners, $node;
    try {
        switch ($r['type']) {
            case 'build':
                $factory ??= new LockFactory(new RedisStore(connect($node)));
                // A lock that is destroyed would release itself: a crash doesn't.
                $owners[$r['owner']] = $factory->createLock(
                    $r['key'], $r['lease_ms'] / 1000, false);
                answer($r, 'ok');
                break;
            case 'unlock':
                $owners[$r['owner']]->release();
                answer($r, 'ok');
                break;
            default: // acquire(true) does nothing but sleep and try again, either
                if ($owners[$r['owner']]->acquire()) {
                    answer($r, 'granted');
                } elseif ($r['type'] === 'try') {
                    answer($r, 'refused');
                } else {
                    return true;
                }
        }
    } catch (LockConflictedException $e) { // it was lost between save and refresh
        answer($r, 'error', ['error' => 'unknown', 'text' => $e->getMessage()]);
    } catch (Exception $e) { // of the network: nobody knows what the server has done
        $cause = $e->getPrevious() ?? $e;
        answer($r, 'error', ['error' => 'unknown', 'text' => $cause->getMessage()]);
    }

    return false;
}

stream_set_blocking(STDIN, false);
for ($text = '';;) {
    $read = [STDIN];
    $none = null;
    stream_select($read, $none, $none, 0, 10_000);
    $text .= fread(STDIN, 65536);
    while (($end = strpos($text, "\n")) !== false) {
        $r = json_decode(substr($text, 0, $end), true);
        $text = substr($text, $end + 1);
        $r['until'] = microtime(true) + ($r['deadline_ms'] ?? INF) / 1000;
        if ($r['type'] === 'hello') {
            $node = $r['nodes'][0];
            answer($r, 'hello', ['protocol' => 1, 'library' => 'Symfony Lock 5.4.53']);
        } elseif ($r['type'] !== 'cancel' && serve($r)) { // PHP can't be interrupted
            $waiting[] = ['again' => microtime(true) + 0.1] + $r;
        }
    }
    if (feof(STDIN)) {
        exit(0);
    }
    foreach ($waiting as $i => $r) {
        if (microtime(true) > $r['until']) {
            answer($r, 'error', ['error' => 'deadline', 'text' => 'not acquired in time']);
            unset($waiting[$i]);
        } elseif (microtime(true) > $r['again']) {
            $waiting[$i]['again'] = microtime(true) + 0.1;
            if (!serve($r)) {
                unset($waiting[$i]);
            }
        }
    }
}
