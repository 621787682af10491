// The laboratory's program runs beside the page, so that the page stays usable while it
// computes, and can end it. It is asked by messages and answers by messages.
'use strict';

// A browser makes code fast when it has run for a while. While the learner reads the
// first answers, the program runs two larger scenarios whose answers nobody sees, so
// that the learner's own first large run takes half as long.
var larger = JSON.stringify({ rung: 'redlock', scenario: 'mutual_exclusion', invariant: '' });
var left = 2, idle = 0;

function rest() {
  clearTimeout(idle);
  if (left > 0) {
    idle = setTimeout(function () { left -= 1; self.lockladder(larger, rest); }, 700);
  }
}

self.lockladderReady = function () { postMessage({ ready: true }); };
self.onmessage = function (event) {
  clearTimeout(idle);
  self.lockladder(event.data, function (answer) {
    postMessage({ answer: mistake ? blamed(answer) : explained(answer) });
    mistake = '';
    early = false;
    last = null;
    rest();
  });
};

// mistake is the first one that a learner's code has made, in one line: whatever came of
// it says nothing about the lock.
// An early one is of a release before the owner has asked for the lock.
var mistake = '', early = false;
function wrong(text) {
  mistake = mistake || text;
  return { thrown: text };
}
function blamed(answer) {
  return JSON.stringify(Object.assign(JSON.parse(answer), { error: mistake, mistake: true, early: early }));
}

// explained has what a program in Go says of a learner's lock in the words of the lock.
function explained(answer) {
  var a = last && JSON.parse(answer), error = a && a.error || '', name = last && last.name;
  if (/a free lock on a healthy server is not granted|can't release a lock that it holds/.test(error)) {
    a.error = last.why || at(last.line || begins(name)) + name + ' returned false, though the lock is ' +
      (name === 'unlock' ? 'this owner\'s' : 'free') + (last.command ? ': Redis replied ' + shown(last.reply) + ' to ' +
      last.command.join(' ').replace(/:warm:\w+/g, '') : '. It sent no command: write yield before a command');
  } else if (/the lock was granted(,| without)/.test(error)) {
    a.early = true; // in another scenario it may be refused
    a.error = at(begins('tryLock')) + 'tryLock returned true' + (/without a command/.test(error) ?
      ' without sending a command: only Redis knows whether the lock is free' : ', but no command has set the key `key`');
  } else { return answer; }
  return JSON.stringify(Object.assign(a, { mistake: true }));
}

// A learner's lock is a few generator functions, and the program resumes a call of one
// with each reply, see package coroutine. A yield of a command tells its line.
var FUNCTIONS = ['tryLock', 'unlock', 'lock', 'renew'];
var SETTING = ['key', 'ttl', 'token', 'now', 'sleep', 'Math', 'loops'];

// What is written, the lines of yields of which it can't be seen what they send, and the call
// that was resumed last. A loop counts its turns, so that one without an end is found at once.
var written = '', unclear = [], last = null, turns = 0, beat = 0;
function loops(line) {
  if (++turns > 1e6) { throw new RangeError(wrong(at(line) + 'this loop has no end: it went round a million times without a yield').thrown); }
  return true;
}
function lineOf(pattern) {
  var place = written.search(pattern);
  return place < 0 ? 0 : written.slice(0, place).split('\n').length;
}
function begins(name) { return lineOf(new RegExp('function\\s*\\*?\\s*' + name + '\\b')); }
// instrumented is the code with the line in each command, and with loops that count. Strings and
// comments, which may have Lua in them, stay as they are.
function instrumented(code) {
  written = code;
  unclear = [];
  turns = 0;
  return code.replace(/(`(?:\\[^]|[^`\\])*`|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|\/\/.*|\/\*[^]*?\*\/)|\byield\b(?!\s*(?:\*|sleep\b))(\s*\[)?|\b(while\s*\()|\b(for\s*\([^;()]*;)(\s*;)?/g,
    function (all, other, command, turn, first, endless, place) {
      var line = code.slice(0, place).split('\n').length;
      if (command) { return all + line + ','; }
      if (turn || first) { return (turn || first) + 'loops(' + line + ')' + (endless || ','); }
      if (!other) { unclear.push(line); }
      return all;
    });
}

// What would make a run differ from the next one, or leave the virtual network, says what
// is there instead. It is no protection: the worker's policy forbids to ask other hosts.
var INSTEAD = {
  Date: 'time is virtual here: use now()', performance: 'time is virtual here: use now()',
  setTimeout: 'time is virtual here: yield sleep(ms)',
  setInterval: 'time is virtual here: yield sleep(ms)',
  crypto: 'every run is the same: token() is a word that no owner has used',
  fetch: 'a lock here talks to Redis: yield a command', self: 'a lock here has no page',
  globalThis: 'a lock here has no page', postMessage: 'a lock here has no page'
};
function absent(why) {
  function refuse() { throw new TypeError(why); }
  return new Proxy(refuse, { get: refuse, apply: refuse, construct: refuse });
}
var ABSENT = Object.keys(INSTEAD).map(function (name) { return absent(INSTEAD[name]); });
var calculates = {};
Object.getOwnPropertyNames(Math).forEach(function (name) { calculates[name] = Math[name]; });
calculates.random = absent(INSTEAD.crypto);

// place is the line of an error in the learner's code, with what is wrong there.
function place(error, lines) {
  if (!(error instanceof Error)) { return 'Your code throws ' + shown(error); }
  var line = Number((/lock\.js:(\d+)/.exec(error.stack) || [])[1]) || error.lineNumber || error.line || 0;
  function hear(event) {
    line = event.lineno;
    event.preventDefault();
  }
  if (!line && self.reportError) { // a syntax error's stack has no line of the code
    self.addEventListener('error', hear);
    self.reportError(error);
    self.removeEventListener('error', hear);
  }
  var plain = /reserved/.test(error.message) && written.split('\n').slice(0, line || lines).join('\n').match(/function\s+\w+/g);
  if (plain) { return at(line) + 'only a function with a star can yield: write ' + plain.pop().replace('function', 'function*'); }
  if (line > lines) { return 'Your code ends too early: a {, a ( or a quote is not closed'; }
  return at(line) + error.message;
}
function at(line) { return line ? 'Line ' + line + ' of your code: ' : 'Your code: '; }
function shown(value) {
  var text = typeof value === 'function' ? 'a function' : JSON.stringify(value);
  return text === undefined ? 'undefined' : text.slice(0, 60);
}

// lockladderCompile is called by the program. It returns null where the code is no lock.
self.lockladderCompile = function (code) {
  var numbered = instrumented(code), make, has;
  try {
    make = (0, eval)('(function (' + SETTING.concat(Object.keys(INSTEAD)) + ') {"use strict";' +
      numbered + '\nreturn {' + FUNCTIONS.map(function (name) {
      return name + ': typeof ' + name + ' === "undefined" ? null : ' + name;
    }) + '};})//# sourceURL=lock.js');
    has = make.apply(null, ['', 0, String, Number, sleep, calculates, loops].concat(ABSENT));
  } catch (e) {
    wrong(place(e, code.split('\n').length));
    return null;
  }
  FUNCTIONS.forEach(function (name, i) {
    if (has[name] ? Object.prototype.toString.call(has[name]) !== '[object GeneratorFunction]' : i < 2) {
      wrong(at(begins(name)) + 'a lock needs a generator function ' + name + ': function* ' + name + '() { … }');
    }
  });
  return mistake ? null : { file: 'your lock/lock.js', waits: !!has.lock, renews: !!has.renew,
    owner: function (key, ttl) { return owner(make, key, ttl); } };
};

// owner has variables of its own. It begins calls, which are resumed with JSON and answer
// with JSON.
function owner(make, key, ttl) {
  var given = {}, asked = false;
  function token() { return given.token + (given.used++ ? '.' + given.used : ''); }
  function now() { return given.now; }
  var own = make.apply(null, [key, ttl, token, now, sleep, calculates, loops].concat(ABSENT));
  return function (name) {
    var call = { name: name, generator: own[name](), line: 0, left: MOST[name] || 1000 };
    var first = !asked && name === 'unlock';
    asked = true;
    return function (text) {
      var right = !mistake;
      given = Object.assign(JSON.parse(text), { used: 0 });
      var answer = Object.assign(resume(call, given), { line: call.line, used: given.used > 0 });
      if (right && first && /undefined/.test(mistake)) {
        early = true;
        mistake += '. Here unlock was called before tryLock: give the variable a start value';
      }
      return JSON.stringify(answer);
    };
  };
}

// MOST are the steps that a call may take. One that waits asks again and again.
var MOST = { lock: 100000 };
function Sleep(ms) { this.ms = ms; }
function sleep(ms) { return new Sleep(ms); }

// resume goes on with a call until it yields or ends.
function resume(call, given) {
  if (Date.now() > beat + 1000) { postMessage({ beat: beat = Date.now() }); } // it goes on
  var thrown = given.error && new Error(given.error), next;
  last = call;
  call.reply = given.reply;
  turns = 0;
  if (/^ERR unknown command/.test(given.error)) {
    return wrong(at(call.line) + 'there is no command ' + /[`'](.*?)[`']/.exec(given.error)[1] +
      ', or the laboratory doesn\'t have it');
  }
  if (call.left-- === 0) { return wrong(at(call.line || begins(call.name)) + call.name + ' loops: it has no end after ' +
    (MOST[call.name] || 1000) + ' steps'); }
  try {
    next = thrown ? call.generator.throw(thrown) : call.generator.next(given.reply);
  } catch (e) {
    call.why = (e === thrown ? at(call.line) + 'Redis replied "' + given.error + '" to ' + (call.command || []).join(' ') :
      place(e)) + '. An error that isn\'t caught ends ' + call.name;
    return e === thrown ? { passed: true } :
      e && e.constructor === Error ? { thrown: e.message } : wrong(place(e));
  }
  return next.done ? returned(next.value, call) : yielded(next.value, call);
}
function returned(value, call) {
  var name = call.name;
  if (value === undefined && name !== 'tryLock') { value = true; }
  if (Array.isArray(value) && !call.command) {
    return wrong(at(lineOf(/\breturn\s*\(?\s*\[/) || begins(name)) + name + ' returns a command that was never sent: write yield before it');
  }
  return typeof value === 'boolean' && (value || name !== 'lock') ? { ended: true, value: value } :
    wrong(at(begins(name)) + name + ' returns ' + (value === undefined ? 'nothing' : shown(value)) + ': it must return ' +
      { tryLock: 'true if the lock was granted, false if it was not', lock: 'when the lock is granted',
        unlock: 'true, or false if the lock was not yours', renew: 'true, or false if the lock is lost' }[name]);
}
function yielded(value, call) {
  if (value instanceof Sleep) {
    return value.ms >= 0 && value.ms < 1e9 ? { sleep: value.ms } :
      wrong(at(begins(call.name)) + call.name + ' sleeps for ' + shown(value.ms) + ' ms: it must be a number from 0 on');
  }
  if (!Array.isArray(value)) {
    return wrong(at(unclear.length === 1 ? unclear[0] : begins(call.name)) + call.name + ' yields ' + shown(value) +
      ": yield a command, such as ['GET', key], or sleep(ms)");
  }
  call.line = typeof value[0] === 'number' ? value[0] : 0;
  var words = value.slice(call.line ? 1 : 0);
  var bad = words.findIndex(function (w) { return typeof w !== 'string' && !Number.isFinite(w); });
  call.command = words;
  if (words.length === 0) { return wrong(at(call.line) + 'the command is empty'); }
  return bad < 0 ? { command: words.map(String) } : wrong(at(call.line) + 'word ' + (bad + 1) +
    ' of the command is ' + shown(words[bad]) + ', it must be a string or a number');
}

// A host may unpack what is compressed, or leave it as it is.
function unpacked(bytes) {
  var body = new Blob([bytes]).stream();
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    body = body.pipeThrough(new DecompressionStream('gzip'));
  }
  return new Response(body, { headers: { 'Content-Type': 'application/wasm' } });
}

// loaded is the body of a response, with what has come so far as the stage.
async function loaded(response) {
  var whole = response.headers.get('Content-Length') / 1e6, parts = [], size = 0;
  var reader = response.body.getReader();
  for (var part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    postMessage({ stage: (size / 1e6).toFixed(1) + (whole ? ' of ' + whole.toFixed(1) : '') +
      ' MB loaded' });
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function start() {
  postMessage({ stage: 'waiting for the site, which compiles it first' });
  var response = await fetch('laboratory/laboratory.wasm.gz');
  if (!response.ok) {
    throw new Error((await response.text()).split('\n')[0]);
  }
  var bytes = await loaded(response);
  postMessage({ stage: 'the browser compiles it' });
  importScripts('laboratory/wasm_exec.js');
  var go = new Go();
  go.argv = ['laboratory'];
  var program = await WebAssembly.instantiateStreaming(unpacked(bytes), go.importObject);
  await go.run(program.instance);
  throw new Error('the program has ended');
}

start().catch(function (error) {
  postMessage({ failed: error.message || String(error) });
});
