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

async function start() {
  var response = await fetch('laboratory/laboratory.wasm.gz');
  if (!response.ok) {
    throw new Error((await response.text()).split('\n')[0]);
  }
  var bytes = new Uint8Array(await response.arrayBuffer());
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
