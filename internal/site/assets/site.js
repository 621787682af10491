(function () {
  var root = document.documentElement;
  function turn() {
    root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
    try { localStorage.setItem('theme', root.dataset.theme); } catch (e) { }
  }

  // ?slides shows one section of the page at a time, ?poster one of its tables.
  var main = document.querySelector('main');
  var query = new URLSearchParams(location.search);
  var slides = null, shown = 0, bar, count, resized;
  var BIG = '.copied, .panes, pre, table, .player, .game, :has(> img)'; // what isn't text

  // split puts the page on slides. It tries where they could begin, and takes what costs least:
  // few slides that are well filled, with no heading at the end and no sentence alone.
  function split() {
    Array.from(main.children).forEach(function (block, i) { block.dataset.block = i; });
    main.querySelectorAll('main > :is(.panes, table)').forEach(divide);
    main.querySelectorAll('main > pre, main > .copied > pre').forEach(divideCode);
    main.querySelectorAll('main > :is(ul, ol)').forEach(divideList);
    main.querySelectorAll('main > details').forEach(function (d) { d.name = 'answer'; }); // one is open
    var all = document.createElement('section'), units = [], title = null, room = window.innerHeight - 78;
    all.append.apply(all, Array.from(main.children).filter(function (n) { return n.className !== 'on'; }));
    main.replaceChildren(all);
    Array.from(all.children).forEach(function (block) {
      var box = block.getBoundingClientRect(), last = units[units.length - 1];
      if (last && (!box.height || block.matches('.tried + .outcome'))) { last.blocks.push(block); return; }
      var head = block.matches('h1, h2, h3'), big = block.matches(BIG), fills = block.matches('.player, .game');
      title = head ? block : title;
      units.push({ blocks: [block], head: head, title: title, big: big,
        top: box.top, bottom: box.bottom, more: fills ? room - box.height : 0, // than its height
        words: big || head ? 0 : (block.querySelector('summary') || block).textContent.trim().split(/\s+/).length,
        less: (block.matches('.copied, pre, .panes') ? 0.08 : block.matches('p') && big ? 0.3 : 0.03) * (fills ? room : box.height) });
    });
    // cost is what is bad about a slide with the units from i to before j.
    function cost(i, j) {
      var first = units[i], last = units[j - 1], high = last.bottom - first.top, cost = 30, words = 0, less = 0, big = false;
      units.slice(i, j).forEach(function (u, n) {
        high += u.more; less += u.less; words += u.words; big = big || u.big; cost += u.head && n ? 35 : 0;
      });
      if (!first.head) { // the title is repeated
        high += first.title ? first.title.offsetHeight + 24 : 0;
        cost += 15 + (i && /:$/.test(units[i - 1].blocks[0].textContent.trim()) ? 50 : 0);
      }
      if (high - less > room) { cost += j - i > 1 + first.head ? 1e5 : 1e3; }
      return cost + (last.head && j < units.length ? 2000 : 0) + 60 * Math.max(0, high / room - 1) + 80 * Math.pow(Math.max(0, 1 - high / room / 0.8), 2) +
        (big || words > 13 ? 0 : 500) + Math.pow(Math.max(0, words - 100) / 10, 2);
    }
    var best = [0], from = [], slides = [];
    units.forEach(function (u, n) {
      best[n + 1] = Infinity;
      for (var i = n; i >= 0 && (n - i < 2 || u.bottom - units[i].top < 2 * room); i--) {
        var sum = best[i] + cost(i, n + 1);
        if (sum < best[n + 1]) { best[n + 1] = sum; from[n + 1] = i; }
      }
    });
    for (var end = units.length; end; end = from[end]) {
      var section = document.createElement('section'), part = units.slice(from[end], end);
      var again = part[0].head || !part[0].title ? '' : part[0].title.cloneNode(true);
      if (again) { again.removeAttribute('id'); again.removeAttribute('data-block'); }
      section.append.apply(section, part.flatMap(function (u) { return u.blocks; }));
      section.prepend(again);
      slides.unshift(section);
    }
    main.replaceChildren.apply(main, slides);
    return slides;
  }

  // divideList lets a slide begin with any item of a list.
  function divideList(list) {
    Array.from(list.children).slice(1).forEach(function (item, i, items) {
      var rest = list.cloneNode();
      if (list.start) { rest.start = list.start + i + 1; } // of an ol
      rest.append(item);
      (i ? items[i - 1].parentNode : list).after(rest);
    });
  }

  // divide puts the rows of a long comparison into several.
  function divide(panes) {
    var rows = Array.from(panes.querySelectorAll('tr')), heights = rows.map(function (row) { return row.offsetHeight; });
    var high = panes.offsetHeight - heights[0], room = window.innerHeight * 0.74 - heights[0], part = panes, into;
    var most = Math.min(1.03 * room, high / Math.ceil(high / room - 0.15) + 2 * heights[1]), used = -heights[0];
    heights.forEach(function (height, i) {
      used += height;
      if (used > most && i > 1) {
        part.after(part = panes.cloneNode());
        into = part.nodeName === 'TABLE' ? part : part.appendChild(document.createElement('table'));
        into.append(rows[0].cloneNode(true));
        used = height;
      }
      if (into) { into.append(rows[i]); }
    });
  }

  // divideCode puts the lines of long code into several, where a line is empty or else a comment begins.
  function divideCode(pre) {
    var code = pre.querySelector('code') || pre, lines = code.innerHTML.split('\n');
    var room = window.innerHeight * 0.79, most = Math.floor(lines.length * room / pre.offsetHeight);
    if (lines.length <= 1.05 * most) { return; }
    most = Math.min(most, Math.ceil(lines.length / Math.ceil(lines.length / most)) + 3);
    var part = pre.closest('.copied') || pre, first = true;
    function last(begins) {
      for (var i = most; i < lines.length && i > most / 2; i--) {
        var before = lines.slice(0, i).join('');
        if (begins(lines[i], lines[i - 1]) && before.split('<span').length === before.split('</span').length) { return i; }
      }
    }
    while (lines.length) {
      var end = last(function (line) { return !line.trim(); }) ||
        last(function (line, before) { return /comment/.test(line) && !/comment/.test(before); }) || most;
      var text = lines.splice(0, end).join('\n').replace(/^\n/, '');
      if (first) { code.innerHTML = text; first = false; continue; }
      part.after(part = pre.cloneNode());
      part.append(code === pre ? '' : code.cloneNode());
      (part.querySelector('code') || part).innerHTML = text;
    }
  }

  // fill gives a slide the largest letters with which it fits, and a run or a level what room there
  // is. An opened answer that doesn't fit hides the rest. What is too high even so scrolls.
  function fill(section) {
    var low = bar.offsetTop - 6, answer = section.querySelector(':scope > [open]');
    var fills = section.querySelector(':scope > :is(.player, .game)');
    var boxes = Array.from(section.children, function (b) { return b.matches('.copied') ? b.firstChild : b; });
    var big = boxes.filter(function (b) { b.style.zoom = b.style.maxHeight = ''; return b.matches(BIG); });
    function over() { return section.getBoundingClientRect().bottom - low; }
    function fits(zoom) {
      for (; zoom > 0.969; zoom -= 0.03) {
        section.style.zoom = zoom;
        if (over() <= 0 && !boxes.some(function (b) { return b.scrollWidth > b.clientWidth + 1; })) { return true; }
      }
    }
    section.classList.remove('answered');
    if (fills) { fills.style.height = low - fills.getBoundingClientRect().top + 'px'; return; }
    if (fits(section.querySelector('details') ? 1.12 : 1.3)) { return; }
    section.classList.toggle('answered', !!answer);
    if (fits(1)) { return; }
    big.forEach(function (b) {
      for (var zoom = 1, least = b.matches('p') ? 0.6 : 0.93; zoom > least && over() > 0;) { b.style.zoom = zoom -= 0.02; }
    });
    var last = answer || big.pop() || boxes.pop(), left = last.getBoundingClientRect().height - over();
    if (over() > 0) { last.style.maxHeight = left / (last.currentCSSZoom || 1) + 'px'; last.style.overflow = 'auto'; }
  }

  // show turns to a slide, or to the next page's first one, or to the last one of the page
  // before; false without slides.
  function show(next) {
    if (!slides) { return false; }
    if (next < 0 || next >= slides.length) {
      if (next < 0) { go('previous', '?slides=last'); } else { go('next', '?slides'); }
      return true;
    }
    shown = next;
    slides.forEach(function (section, i) { section.hidden = i !== shown; });
    document.activeElement.blur(); // the keys are the slides'
    root.removeAttribute('data-black');
    window.scrollTo(0, 0);
    fill(slides[shown]);
    count.textContent = (shown + 1) + ' of ' + slides.length;
    history.replaceState(null, '', '?slides=' + (shown + 1) + location.hash);
    return true;
  }

  // present begins the slides, with what a mouse and a finger turn them with.
  function present() {
    root.dataset.slide = '';
    slides = split();
    bar = document.createElement('nav');
    function add(name, text, act) {
      var b = document.createElement(act ? 'button' : 'span');
      b.textContent = text;
      if (name) { b.setAttribute('aria-label', name); }
      if (act) { b.addEventListener('click', act); }
      bar.append(b);
      return b;
    }
    bar.className = 'slides';
    bar.setAttribute('aria-label', 'slides');
    add('previous slide', '‹', function () { show(shown - 1); });
    count = add('', '');
    add('next slide', '›', function () { show(shown + 1); });
    add('keys', '?', function () { help.showModal(); });
    add('end the slides', '×', leave);
    document.body.append(bar);
    // having is the slide with an element.
    function having(selector) { return slides.findIndex(function (section) { return section.querySelector(selector); }); }
    function named() { return /^#[\w-]+$/.test(location.hash) ? having('[id="' + location.hash.slice(1) + '"]') : -1; }
    var asked = query.get('slides'), at = having('[data-block="' + query.get('block') + '"]');
    if (at < 0) { at = asked ? (asked === 'last' ? slides.length : Number(asked) || 1) - 1 : named(); }
    show(Math.max(0, Math.min(slides.length - 1, at)));
    window.addEventListener('hashchange', function () { if (named() >= 0) { show(named()); } });
    main.addEventListener('toggle', function () { fill(slides[shown]); }, true);
    main.addEventListener('click', function (e) { // a level that is opened from a slide is one
      var a = e.target.closest('a[href*="#level="]');
      if (a && !a.search) { a.search = a.pathname === location.pathname ? location.search : '?slides'; }
    });
    window.addEventListener('resize', function () { // other parts fit
      clearTimeout(resized);
      var block = slides[shown].querySelector('[data-block]').dataset.block;
      resized = setTimeout(function () { location.replace('?slides&block=' + block + location.hash); }, 300);
    });
  }
  // leave shows the whole page, at what the slide shows.
  function leave() {
    var titled = slides.slice(0, shown + 1).map(function (section) {
      return section.querySelector('h2[id], h3[id]');
    }).filter(Boolean).pop();
    location.href = location.pathname + (titled ? '#' + titled.id : location.hash);
  }

  // poster leaves a title, the page's legend and a table: the first one on A3, or that of
  // the section with the given id on A4.
  function poster(section) {
    var title = section ? document.getElementById(section) : main.querySelector('h1');
    var table = title && title.nextElementSibling;
    while (table && table.nodeName !== 'TABLE') { table = table.nextElementSibling; }
    if (!table) { return; }
    if (!section) { group(table); }
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

  function go(id, query) {
    var link = document.getElementById(id);
    if (link) { location.href = link.href + (query || ''); }
  }

  document.getElementById('theme').addEventListener('click', turn);

  // Keys can be switched off, for those whose software uses them.
  var keys = document.getElementById('keys'), help = document.getElementById('help');
  try { keys.checked = localStorage.getItem('keys') !== 'off'; } catch (e) { }
  keys.addEventListener('change', function () {
    try { localStorage.setItem('keys', keys.checked ? 'on' : 'off'); } catch (e) { }
  });
  function scrolls(element) {
    for (; element && element !== document.body; element = element.parentElement) {
      if (element.scrollWidth > element.clientWidth + 1 && element.tabIndex >= 0) { return true; }
    }
    return false;
  }
  // A clicker's keys are the slides' again when a choice is made, and after a slider.
  main.addEventListener('change', function (e) { if (slides) { e.target.blur(); } });
  document.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys.checked) { return; }
    var target = e.target.tagName ? e.target : document.body;
    if (help.open) { help.close(); e.preventDefault(); return; }
    var on = slides && { PageDown: 1, PageUp: -1 }[e.key]; // a clicker sends these
    if (slides && e.key === 'Escape') { leave(); }
    if (!on && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) { return; }
    if (e.key === 'ArrowLeft' && !scrolls(target) && !show(shown - 1)) { go('previous'); }
    if (e.key === 'ArrowRight' && !scrolls(target) && !show(shown + 1)) { go('next'); }
    if (slides) {
      if (e.key === ' ' && !/^(BUTTON|A|SUMMARY)$/.test(target.tagName)) { on = e.shiftKey ? -1 : 1; }
      if (on) { show(shown + on); e.preventDefault(); }
      if (e.key === '.' || e.key === 'b') { root.toggleAttribute('data-black'); }
    }
    if (e.key === '?') { help.showModal(); }
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

  // A phone shows the rows of a table of sentences as cards.
  main.querySelectorAll('table').forEach(function (table) {
    var head = Array.from(table.rows[0].cells), cells = Array.from(table.querySelectorAll('tbody td'));
    if (head.length < 3 || head.length > 7 || !cells.some(function (td) { return td.textContent.length > 85; })) { return; }
    table.classList.add('cards');
    cells.forEach(function (td) { td.dataset.name = td.cellIndex && head[td.cellIndex].textContent; });
  });

  // What scrolls can be reached by a keyboard, and code can be copied. A table that is folded
  // has no width yet.
  document.querySelectorAll('pre, .panes, main > table, main > details > table, p:has(> img)').forEach(function (box) {
    var wide = box.rows && box.rows[0] && box.rows[0].cells.length > 9;
    if (wide || box.scrollWidth > box.clientWidth + 1) { box.tabIndex = 0; }
  });
  if (navigator.clipboard) {
    document.querySelectorAll('pre.code:not(.unified)').forEach(function (pre) {
      var code = pre.querySelector('code').textContent, button = document.createElement('button'); // slides divide it later
      button.className = 'copy';
      button.type = 'button';
      button.textContent = 'copy';
      button.addEventListener('click', function () {
        var text = code, typed = [];
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
  side.parentElement.classList.add('ready');
  // The address says which level is played.
  function level(hash) { return new URLSearchParams(hash.slice(1)).get('level'); }
  function marks() {
    var all = Array.from(side.querySelectorAll('a[href*="#level="]')).filter(function (a) {
      a.removeAttribute('aria-current');
      return a.pathname === location.pathname;
    });
    var now = !/&after=/.test(location.hash) && // a comparison is no level
      (all.find(function (a) { return level(a.hash) === level(location.hash); }) || all[0]);
    if (now) { now.setAttribute('aria-current', 'page'); }
  }
  window.addEventListener('hashchange', marks);
  marks();
  var here = side.querySelector('li [aria-current]');
  if (here && side.open) { // the list is scrolled to it, the page is not
    var list = side.parentElement;
    list.scrollTop += here.getBoundingClientRect().top - list.getBoundingClientRect().top -
      list.clientHeight / 2;
  }

  // A scenario's name in the matrix leads to what happens in it.
  var abouts = {};
  main.querySelectorAll('li > strong:first-child').forEach(function (name) { abouts[name.textContent] = name.parentNode; });
  main.querySelectorAll('tbody td:first-child').forEach(function (td) {
    var name = td.textContent, about = abouts.hasOwnProperty(name) && abouts[name];
    if (!about) { return; }
    var a = document.createElement('a');
    a.href = '#' + (about.id = 'about-' + name);
    a.title = about.textContent.replace(/ Exercises: .*/, '');
    a.append(name);
    td.replaceChildren(a);
  });

  // The matrix can be entered at a scenario or at a rung.
  function enter() {
    var name = decodeURIComponent(location.hash.slice(1)), short = name.replace(/.*\//, '');
    var table = name && main.querySelector('table');
    if (!table || document.getElementById(name)) { return; }
    Array.from(table.rows).forEach(function (row) {
      if (row.cells[0].textContent === name) { row.classList.add('entered'); }
    });
    Array.from(table.rows[0].cells).forEach(function (cell) {
      if (cell.textContent === short) { cell.classList.add('entered'); }
    });
    var first = table.querySelector('.entered');
    if (first) { first.scrollIntoView({ block: 'center', inline: 'center' }); }
  }
  enter();

  // The search looks through all sections. Its texts come when they are asked for.
  var search = document.getElementById('search'), found = document.getElementById('found');
  var script = document.querySelector('script[data-search]'), home = document.getElementById('home');
  var plain = /\.html$/.test(home.getAttribute('href')); // an export
  window.lockladder = window.lockladder || {};
  function load() {
    if (lockladder.pages) { look(); return; }
    if (search.value) { found.textContent = 'searching …'; }
    found.hidden = !search.value;
    if (load.begun) { return; }
    load.begun = true;
    var s = document.createElement('script');
    s.src = script.dataset.search;
    s.onload = look;
    s.onerror = function () { s.remove(); load.begun = false; found.textContent = 'The search needs a file that does not come: ' + s.src; };
    document.head.append(s);
  }
  function address(page, anchor) {
    var base = new URL('.', new URL(home.getAttribute('href'), location.href));
    return new URL(plain ? page.page : page.file, base).href + (anchor ? '#' + anchor : '');
  }
  // spaced is a text in which words are found by the space before them.
  function spaced(text) { return (' ' + text.toLowerCase() + ' ').replace(/[^\p{L}\p{N}]+/gu, ' '); }
  // stem is a word without its ending: fencing finds fenced.
  function stem(w) { return ' ' + w.replace(/^(.{4,}?)(ing|ed|(?<![isu])s)$/, '$1'); }
  // worth is how well a text fits the words: one that it begins with counts more than one
  // that is somewhere in it, and a whole word more than a part.
  function worth(text, words) {
    return words.reduce(function (sum, w) {
      var at = text.indexOf(stem(w));
      return sum + (at === 0 ? 3 : at > 0 ? 2 : 0) + (text.indexOf(' ' + w + ' ') >= 0 ? 1 : 0);
    }, 0) + (text === spaced(words.join(' ')) ? 6 : 0);
  }
  // marked is a text in which the words are marked.
  function marked(text, words) {
    var any = new RegExp('(' + words.map(function (w) {
      return stem(w).trim();
    }).join('|') + ')', 'iu');
    return text.split(any).map(function (part, i) {
      var mark = document.createElement('mark');
      mark.textContent = part;
      return i % 2 ? mark : part;
    });
  }
  // excerpt is about so much of a text around a word, from a word to a word.
  function excerpt(text, word) {
    var at = Math.max(0, text.toLowerCase().indexOf(word));
    var from = at < 60 ? 0 : text.indexOf(' ', at - 50) + 1;
    var to = text.length < from + 150 ? text.length : text.lastIndexOf(' ', from + 150);
    return (from ? '… ' : '') + text.slice(from, to) + (to < text.length ? ' …' : '');
  }
  // entries are the sections. Each has parts: its text, and the rows of its tables.
  var entries, little = ('a an and are at be by can did do does for from get how i in is it me my of on or our should that the this to ' +
    'vs versus we what when which who why will with would you your').split(' ');
  function entry(page, section) {
    var parts = [{ raw: section.text, text: spaced(section.text), head: '' }];
    (section.tables || []).forEach(function (rows) {
      rows.forEach(function (row) {
        parts.push({ raw: row, text: spaced(row), head: spaced(rows[0]), row: true });
      });
    });
    return { page: page, section: section, parts: parts, heading: spaced(section.title), title: spaced(page.title) };
  }
  // fit is the part of a section that has the most of the words.
  function fit(e, words) {
    var heading = worth(e.heading, words), first = e.section.level === 1;
    var titled = heading && (e.section.term ? 17 : e.page.rung && first && 9); // has the whole answer
    var around = (/matrix\.md$/.test(e.page.file) ? 0 : 4) * heading + // it names everything
      2 * worth(e.title, words) + (titled || 0) + (first ? 6 : 0);
    return e.parts.map(function (part) {
      var all = e.heading + e.title + part.text + part.head;
      var has = words.filter(function (w) { return all.indexOf(stem(w)) >= 0; }).length;
      return { page: e.page, section: e.section, part: part, titled: titled, words: has, score: around +
        worth(part.text, words) - 6 * (words.length - has) + (words[1] && part.text.indexOf(spaced(words.join(' '))) >= 0 ? 8 : 0) };
    }).reduce(better);
  }
  function better(a, b) { return (b.words - a.words || b.score - a.score) > 0 ? b : a; }
  // place is where a hit is on its page: a row is found by its word.
  function place(hit, word) {
    var text = hit.section.term ? hit.section.title : '';
    if (hit.part.row) { text = (hit.part.raw.split(' ').find(function (t) { return spaced(t).indexOf(stem(word)) >= 0; }) || '')
      .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''); }
    return (hit.section.anchor || '') + (text && ':~:text=' + encodeURIComponent(text).replace(/-/g, '%2D'));
  }
  function look() {
    var words = spaced(search.value.replace(/fail(s|ed)? over/i, 'failover')).split(' ').filter(Boolean);
    var big = words.filter(function (w) { return little.indexOf(w) < 0; });
    if (big.length) { words = big; }
    found.replaceChildren();
    found.hidden = words.length === 0;
    if (words.length === 0) { return; }
    entries = entries || lockladder.pages.flatMap(function (page) {
      return page.sections.map(function (section) { return entry(page, section); });
    });
    var hits = entries.map(function (e) { return fit(e, words); });
    var most = Math.max.apply(null, hits.map(function (hit) { return hit.words; }));
    hits = hits.filter(function (hit) { return most && (hit.words === most || hit.titled); });
    hits.sort(function (a, b) { return b.score - a.score; });
    if (most && most < words.length) { found.append('Nothing has all of these words. Closest:'); }
    var list = document.createElement('ul');
    hits.slice(0, 12).forEach(function (hit) {
      var li = document.createElement('li'), a = document.createElement('a');
      var word = words.find(function (w) { return hit.part.text.indexOf(stem(w)) >= 0; }) || words[0];
      a.href = address(hit.page, place(hit, word));
      a.append.apply(a, marked(hit.page.title + (hit.section.level > 1 ? ' › ' +
        hit.section.title : ''), words));
      li.append(a, ' ');
      li.append.apply(li, marked(excerpt(hit.part.raw, stem(word).trim()), words));
      list.append(li);
    });
    found.append(hits.length ? list : 'Nothing is found.');
    found.setAttribute('role', 'status');
  }
  search.addEventListener('input', load);
  search.addEventListener('focus', load);
  document.addEventListener('click', function (e) { // the results lie over the page
    if (e.target !== search && !(found.contains(e.target) && !e.target.closest('a'))) { found.hidden = true; }
  });
  search.addEventListener('keydown', function (e) {
    var first = found.querySelector('a');
    if (e.key === 'Enter' && first) { location.href = first.href; }
  });
  // The arrow keys go through the results, and Escape closes them.
  [search, found].forEach(function (box) {
    box.addEventListener('keydown', function (e) {
      var stops = [search].concat(Array.from(found.querySelectorAll('a')));
      var on = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      var next = on && stops[stops.indexOf(document.activeElement) + on];
      if (next) { next.focus(); e.preventDefault(); }
      if (e.key === 'Escape') { search.value = ''; look(); search.blur(); }
      e.stopPropagation();
    });
  });
  // A matrix can be read one lock at a time: what breaks it.
  document.querySelectorAll('main > table').forEach(function (table) {
    var head = Array.from(table.rows[0].cells);
    if (head.length < 5 || head[1].textContent !== 'invariant' || query.has('slides') || query.has('poster')) { return; }
    var select = document.createElement('select'), label = document.createElement('label');
    head.slice(1).forEach(function (th, i) {
      select.add(new Option(i ? 'what breaks ' + th.textContent : 'every lock', i && i + 1));
    });
    label.className = 'one-lock';
    label.append('Show: ', select);
    select.addEventListener('change', function () {
      var one = Number(select.value);
      Array.from(table.rows).forEach(function (row, r) {
        row.hidden = one && r && row.cells[one].textContent.indexOf('✗') < 0;
        Array.from(row.cells).forEach(function (cell, c) { cell.hidden = one && c > 1 && c !== one; });
      });
    });
    table.before(label);
  });
  if (query.has('poster')) { poster(query.get('poster')); }
  window.addEventListener('load', function () { // a player is drawn where it can be measured
    if (query.has('slides')) { present(); }
  });
})();
