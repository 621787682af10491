// The theme is chosen before anything is painted: what was chosen here before,
// or what the system prefers.
(function () {
  var chosen = null;
  try { chosen = localStorage.getItem('theme'); } catch (e) { /* no storage */ }
  var dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = chosen || (dark ? 'dark' : 'light');
  // An address that asks the laboratory for a run has it begin, with room for that.
  if (/[#&]rung=/.test(location.hash)) { document.documentElement.dataset.begun = ''; }
})();
