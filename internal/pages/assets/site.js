(function () {
  var root = document.documentElement;
  var diagrams = Array.prototype.slice.call(
    document.querySelectorAll('pre.mermaid')).filter(function (d) {
    return !d.closest('.player'); // the player shows the run
  });
  var sources = diagrams.map(function (d) { return d.textContent; });

  // colours are the style sheet's, for the diagrams.
  function colours() {
    var style = getComputedStyle(root);
    function of(name) { return style.getPropertyValue(name).trim(); }
    var ink = of('--ink'), paper = of('--paper'), box = of('--box');
    return {
      darkMode: root.dataset.theme === 'dark',
      background: paper, primaryColor: box, primaryTextColor: ink,
      primaryBorderColor: of('--faint'), lineColor: ink, textColor: ink,
      actorBkg: box, actorTextColor: ink, actorBorder: of('--faint'),
      actorLineColor: of('--faint'), signalColor: ink, signalTextColor: ink,
      noteBkgColor: of('--note'), noteTextColor: ink,
      noteBorderColor: of('--faint')
    };
  }

  // draw shows every diagram in the colours of the theme.
  function draw() {
    delete root.dataset.drawn;
    if (diagrams.length === 0) {
      root.dataset.drawn = '0';
      return;
    }
    mermaid.initialize({
      startOnLoad: false,
      theme: 'base',
      themeVariables: colours(),
      fontFamily: 'system-ui, sans-serif',
      sequence: { mirrorActors: false, actorMargin: 140, wrap: false,
        messageAlign: 'left', noteAlign: 'left' }
    });
    diagrams.forEach(function (d, i) {
      d.removeAttribute('data-processed');
      d.textContent = sources[i];
    });
    return mermaid.run({ nodes: diagrams }).catch(function (e) {
      console.error(e.message || e.str || String(e));
    }).then(function () {
      root.dataset.drawn = String(diagrams.length);
    });
  }

  function turn() {
    root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
    try { localStorage.setItem('theme', root.dataset.theme); } catch (e) { }
    draw();
  }

  function go(id) {
    var link = document.getElementById(id);
    if (link) { location.href = link.href; }
  }

  // A table with many columns is set closer, and its names stay in sight.
  document.querySelectorAll('main > table').forEach(function (table) {
    if (table.rows[0] && table.rows[0].cells.length > 8) {
      table.classList.add('many');
      table.tabIndex = 0; // a keyboard scrolls it
    }
  });

  document.getElementById('theme').addEventListener('click', turn);
  document.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) { return; }
    if (e.key === 'ArrowLeft') { go('previous'); }
    if (e.key === 'ArrowRight') { go('next'); }
    if (e.key === 'd') { turn(); }
    if (e.key === 'h') { location.href = '/'; }
  });
  draw();
})();
