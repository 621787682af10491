// The theme is chosen before anything is painted: what was chosen here before,
// or what the system prefers, now and when that changes.
(function () {
  var dark = window.matchMedia('(prefers-color-scheme: dark)');
  function follow() {
    var chosen = null;
    try { chosen = localStorage.getItem('theme'); } catch (e) { /* no storage */ }
    document.documentElement.dataset.theme = chosen || (dark.matches ? 'dark' : 'light');
  }
  dark.addEventListener('change', follow);
  follow();
  if (/[?&]slides/.test(location.search)) { document.documentElement.dataset.waits = ''; } // the page isn't seen before its slides
  // An address that asks the laboratory for a run has it begin, with room for that.
  if (/[#&]rung=/.test(location.hash)) { document.documentElement.dataset.begun = ''; }
})();
