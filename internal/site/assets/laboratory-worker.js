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
  self.lockladder(event.data, function (answer) { postMessage({ answer: answer }); rest(); });
};

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
