(function () {
  var root = document.documentElement;
  function turn() {
    root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
    try { localStorage.setItem('theme', root.dataset.theme); } catch (e) { }
  }

  // ?slides shows one section of the page at a time, ?poster one of its tables.
  var main = document.querySelector('main');
  var query = new URLSearchParams(location.search);
  var slides = null, shown = 0;

  // split puts each section, from one heading to the next, into an element.
  function split() {
    var sections = [document.createElement('section')];
    Array.prototype.slice.call(main.childNodes).forEach(function (n) {
      if (n.nodeName === 'H2' || n.nodeName === 'H3') {
        sections.push(document.createElement('section'));
      }
      sections[sections.length - 1].appendChild(n);
    });
    sections.forEach(function (section) { main.appendChild(section); });
    return sections;
  }

  // show turns to a slide, or to the next page's first one; false without slides.
  function show(next) {
    if (!slides) { return false; }
    if (next < 0 || next >= slides.length) {
      var link = document.getElementById(next < 0 ? 'previous' : 'next');
      if (link) { location.href = link.href + '?slides'; }
      return true;
    }
    shown = next;
    slides.forEach(function (section, i) { section.hidden = i !== shown; });
    window.scrollTo(0, 0);
    root.dataset.slide = (shown + 1) + ' of ' + slides.length;
    return true;
  }

  // poster leaves a title, the page's legend and a table: the first one on A3, or that of
  // the section with the given id on A4.
  function poster(section) {
    var title = section ? document.getElementById(section) : main.querySelector('h1');
    var table = title && title.nextElementSibling;
    while (table && table.nodeName !== 'TABLE') { table = table.nextElementSibling; }
    if (!table) { return; }
    if (!section) { group(table); }
    table.className = '';
    main.replaceChildren(title, main.querySelector('ul'), table);
    root.dataset.poster = section;
    table.style.setProperty('--rows', table.rows.length);
    var style = document.createElement('style');
    style.textContent = section ? ':root { --width: 210mm; --height: 297mm; }' :
      ':root { --width: 297mm; --height: 420mm; }';
    style.textContent += '@page { size: ' + (section ? 'A4' : 'A3') + ' portrait; margin: 8mm; }';
    document.head.appendChild(style);
  }

  // group orders a table's scenarios by the families in which the page lists them.
  function group(table) {
    main.querySelectorAll('h3 + ul').forEach(function (list) {
      var rule = table.tBodies[0].insertRow(), name = document.createElement('th');
      var scenarios = Array.from(list.querySelectorAll('li > strong:first-child'),
        function (scenario) { return scenario.textContent; });
      rule.className = 'family';
      name.colSpan = table.rows[0].cells.length;
      name.textContent = list.previousElementSibling.textContent;
      rule.append(name);
      Array.from(table.rows).forEach(function (row) {
        if (scenarios.indexOf(row.cells[0].textContent) >= 0) {
          table.tBodies[0].append(row);
        }
      });
    });
  }

  // Paper shows what is folded.
  window.addEventListener('beforeprint', function () {
    document.querySelectorAll('details').forEach(function (d) { d.open = true; });
  });

  function go(id) {
    var link = document.getElementById(id);
    if (link) { location.href = link.href; }
  }

  // A table with many columns is set closer, and its names stay in sight.
  document.querySelectorAll('main > table, main > details > table').forEach(function (table) {
    if (table.rows[0] && table.rows[0].cells.length > 9) {
      table.classList.add('many');
      table.tabIndex = 0; // a keyboard scrolls it
    }
  });

  document.getElementById('theme').addEventListener('click', turn);

  // Keys can be switched off, for those whose software uses them.
  var keys = document.getElementById('keys');
  try { keys.checked = localStorage.getItem('keys') !== 'off'; } catch (e) { }
  keys.addEventListener('change', function () {
    try { localStorage.setItem('keys', keys.checked ? 'on' : 'off'); } catch (e) { }
  });
  function scrolls(element) {
    for (; element && element !== document.body; element = element.parentElement) {
      if (element.scrollWidth > element.clientWidth + 1 && element.tabIndex >= 0) {
        return true;
      }
    }
    return false;
  }
  document.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys.checked) { return; }
    var target = e.target.tagName ? e.target : document.body;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) { return; }
    if (e.key === 'ArrowLeft' && !scrolls(target) && !show(shown - 1)) { go('previous'); }
    if (e.key === 'ArrowRight' && !scrolls(target) && !show(shown + 1)) { go('next'); }
    if (e.key === 'd') { turn(); }
    if (e.key === 'h') { go('home'); }
    if (e.key === '/') { search.focus(); e.preventDefault(); }
  });

  // The address keeps what a page has put there, such as a level and a moment.
  document.querySelector('.skip').addEventListener('click', function (e) {
    e.preventDefault();
    main.tabIndex = -1;
    main.focus();
    main.scrollIntoView();
  });

  // The list of the levels has a mark at those that were done in this browser.
  var done = {};
  try { done = JSON.parse(localStorage.getItem('lockladder levels')) || {}; } catch (e) { }
  function plainly(key) { return key.replace(/-/g, ' '); }
  done = Object.keys(done).map(plainly);
  main.querySelectorAll('li > a:first-child').forEach(function (a) {
    var m = /\/levels\/(.+)\.(?:json|html)#level=([a-z-]+)$/.exec(a.href);
    if (m && done.indexOf(plainly(m[1] + ' ' + m[2])) >= 0) {
      var mark = document.createElement('span');
      mark.className = 'done';
      mark.textContent = '✓ done: ';
      a.before(mark);
    }
  });

  // What scrolls can be reached by a keyboard, and code can be copied.
  document.querySelectorAll('pre.code, .panes, main > table').forEach(function (box) {
    if (box.scrollWidth > box.clientWidth + 1) { box.tabIndex = 0; }
  });
  if (navigator.clipboard) {
    document.querySelectorAll('pre.code:not(.unified)').forEach(function (pre) {
      var code = pre.querySelector('code'), button = document.createElement('button');
      button.className = 'copy';
      button.type = 'button';
      button.textContent = 'copy';
      button.addEventListener('click', function () {
        var text = code.textContent, typed = [];
        if (pre.classList.contains('console')) { // what is typed, without its output
          text.split('\n').forEach(function (line) {
            if (line.indexOf('$ ') === 0) { typed.push(line.slice(2)); }
          });
          text = typed.join('\n');
        }
        navigator.clipboard.writeText(text).then(function () {
          button.textContent = 'copied';
          setTimeout(function () { button.textContent = 'copy'; }, 1500);
        });
      });
      var frame = document.createElement('div');
      frame.className = 'copied';
      pre.replaceWith(frame);
      frame.append(pre, button);
    });
  }

  // The list of pages is folded on a narrow screen.
  var side = document.querySelector('.side details');
  if (window.matchMedia('(max-width: 75rem)').matches) { side.open = false; }
  var here = side.querySelector('[aria-current]');
  if (here && side.open) { // the list is scrolled to it, the page is not
    var list = side.parentElement;
    list.scrollTop += here.getBoundingClientRect().top - list.getBoundingClientRect().top -
      list.clientHeight / 2;
  }

  // The search looks through all sections. Its texts come when they are asked for.
  var search = document.getElementById('search'), found = document.getElementById('found');
  var script = document.querySelector('script[data-search]'), home = document.getElementById('home');
  var plain = /\.html$/.test(home.getAttribute('href')); // an export
  window.lockladder = window.lockladder || {};
  function load(then) {
    if (lockladder.pages) { then(); return; }
    var s = document.createElement('script');
    s.src = script.dataset.search;
    s.onload = then;
    document.head.append(s);
  }
  function address(page, anchor) {
    var base = new URL('..', new URL(home.getAttribute('href'), location.href));
    return new URL(plain ? page.page : page.file, base).href + (anchor ? '#' + anchor : '');
  }
  function look() {
    var words = search.value.toLowerCase().split(/\s+/).filter(Boolean), hits = [];
    found.replaceChildren();
    found.hidden = words.length === 0;
    if (words.length === 0) { return; }
    lockladder.pages.forEach(function (page) {
      page.sections.forEach(function (section) {
        var title = (page.title + ' ' + section.title).toLowerCase();
        var all = title + ' ' + section.text.toLowerCase();
        if (words.every(function (w) { return all.indexOf(w) >= 0; })) {
          hits.push({ page: page, section: section, score: words.filter(function (w) {
            return title.indexOf(w) >= 0;
          }).length });
        }
      });
    });
    hits.sort(function (a, b) { return b.score - a.score; });
    var list = document.createElement('ul');
    hits.slice(0, 12).forEach(function (hit) {
      var li = document.createElement('li'), a = document.createElement('a');
      a.href = address(hit.page, hit.section.anchor);
      a.textContent = hit.page.title + (hit.section.level > 1 ? ' › ' + hit.section.title : '');
      var at = Math.max(0, hit.section.text.toLowerCase().indexOf(words[0]) - 40);
      li.append(a, ' ' + (at > 0 ? '…' : '') + hit.section.text.slice(at, at + 140));
      list.append(li);
    });
    found.append(hits.length ? list : 'Nothing is found.');
    found.setAttribute('role', 'status');
  }
  search.addEventListener('input', function () { load(look); });
  search.addEventListener('keydown', function (e) {
    if (e.key === 'Escape') { search.value = ''; look(); search.blur(); }
    var first = found.querySelector('a');
    if (e.key === 'Enter' && first) { location.href = first.href; }
  });
  if (query.has('poster')) { poster(query.get('poster')); }
  window.addEventListener('load', function () { // a player is drawn where it can be measured
    if (!query.has('slides')) { return; }
    slides = split();
    show(0);
  });
})();
