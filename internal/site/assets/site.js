(function () {
  var root = document.documentElement;
  function turn() {
    root.dataset.theme = root.dataset.theme === 'dark' ? 'light' : 'dark';
    try { localStorage.setItem('theme', root.dataset.theme); } catch (e) { }
  }

  var main = document.querySelector('main');
  var query = new URLSearchParams(location.search);

  // ?poster leaves a title, what is meant by the table's words, and a table: that of the section with
  // the given id on A4, or the first one on A3: 'all' of it on two sheets, or what breaks the eight
  // steps to safety.
  function poster(which) {
    var section = document.getElementById(which), title = section || main.querySelector('h1');
    var table = title, legend = main.querySelector('ul'), why = legend && legend.nextElementSibling;
    while (table && table.nodeName !== 'TABLE') { table = table.nextElementSibling; }
    if (!table || !legend) { return; }
    which = section ? which : which && 'all';
    if (which === 'all') { table.tBodies[0].append.apply(table.tBodies[0], table.nextElementSibling.querySelectorAll('tbody tr')); }
    if (!which) {
      Array.from(table.rows).forEach(function (row, r) {
        Array.from(row.cells).slice(10).forEach(function (cell) { cell.remove(); });
        if (r && row.textContent.indexOf('✗') < 0) { row.remove(); }
      });
    }
    title.textContent = 'Lock Ladder: ' + (which ? title.textContent.toLowerCase() : 'what breaks which lock');
    Array.from(legend.children).forEach(function (sign) {
      if (table.textContent.indexOf(sign.textContent[0]) < 0) { sign.remove(); }
    });
    var ideas = explained(Array.from(table.querySelectorAll('thead a')).map(function (rung) { return [rung.textContent, rung.title]; }));
    var terms = explained((section ? [] : meanings(table)).concat([['Lock Ladder', 'github.com/lockladder/lockladder, ' +
      new Date(document.lastModified).toLocaleDateString('en', { dateStyle: 'long' })]]));
    var sheets = [[title, legend, ideas, why, table]], second = which === 'all' && table.cloneNode();
    if (!section) {
      table.rows[0].cells[0].prepend(legend); // there is room
      sheets[0].splice(1, 1);
      group(table);
    }
    if (second) { // gets the families for which the first has no room
      second.append.apply(second, [table.tHead.cloneNode(true)].concat(Array.from(table.tBodies)));
      sheets.push([second]);
    }
    sheets[sheets.length - 1].push(terms);
    sheets = sheets.map(function (parts) {
      var sheet = document.createElement('section');
      sheet.append.apply(sheet, parts);
      return sheet;
    });
    main.replaceChildren.apply(main, sheets);
    root.dataset.poster = which;
    var style = document.createElement('style');
    style.textContent = (section ? ':root { --width: 210mm; --height: 297mm; } @page { size: A4' :
      ':root { --width: 297mm; --height: 420mm; } @page { size: A3') +
      ' portrait; margin: 8mm; @bottom-left { content: none; } @bottom-right { content: none; } }';
    document.head.appendChild(style);
    if (section) { return; }
    // The letters are as large as the sheets allow, with a little room for a printer's.
    function fits(sheet) { return sheet.scrollHeight <= sheet.clientHeight + 1 && sheet.scrollWidth <= sheet.clientWidth + 1; }
    function sized(size) { main.querySelectorAll('table').forEach(function (table) { table.style.fontSize = size + 'pt'; }); }
    for (var size = which ? 14 : 17, next; size > 8; size -= 0.1) {
      sized(size);
      while (second && fits(sheets[0]) && (next = second.tBodies[0])) { table.append(next); }
      if (next && !fits(sheets[0])) { second.tHead.after(next); }
      if (sheets.every(fits)) { break; }
    }
    sized(size * 0.99);
  }

  // explained is a list of words with what they mean.
  function explained(words) {
    var list = document.createElement('ul');
    list.innerHTML = words.map(function (word) { return '<li><strong>' + word[0] + '</strong>: ' + word[1] + '</li>'; }).join('');
    return list;
  }

  // meanings are the first sentences of the glossary about what a table's heads and invariants name.
  function meanings(table) {
    var names = new Set(Array.from(table.rows).map(function (row) { return row.cells[1].textContent; }).concat(table.rows[0].cells[0].textContent));
    return (window.lockladder.pages || []).flatMap(function (page) { return page.sections; }).flatMap(function (s) {
      var own = s.title.toLowerCase().split(', ').filter(function (name) { return s.term && names.has(name); });
      var text = s.text.slice(s.title.length + 2).split(/\.(?=\s|$)/)[0];
      return own.length ? [[own.join(', '), text[0].toLowerCase() + text.slice(1)]] : [];
    });
  }

  // group orders a table's scenarios by the families in which the page lists them, with what a
  // family demands, and says once what happens in a scenario.
  function group(table) {
    main.querySelectorAll('h3 + p + ul').forEach(function (list) {
      var about = list.previousElementSibling, rows = Array.from(table.rows), body = document.createElement('tbody');
      body.innerHTML = '<tr class="family"><th colspan="' + rows[0].cells.length + '"><strong>' +
        about.previousElementSibling.innerHTML + '</strong>: ' + about.innerHTML + '</th></tr>';
      Array.from(list.children).forEach(function (scenario) {
        var name = scenario.firstChild.textContent;
        var own = rows.filter(function (row) { return row.cells[0].textContent === name; });
        own.forEach(function (row, i) {
          body.append(row);
          if (!i) {
            row.cells[0].rowSpan = own.length;
            row.cells[0].innerHTML = '<strong>' + name.replace(/_/g, '_<wbr>') + '</strong>: ' + scenario.querySelector('em').innerHTML;
          } else { row.cells[0].remove(); }
        });
      });
      if (body.rows[1]) { table.append(body); }
    });
    table.tBodies[0].remove(); // it's empty
  }

  // The foot of a printed page names the page, and where it is on the web.
  var foot = document.createElement('style'), file = main.dataset.file;
  foot.textContent = '@page { @bottom-left { content: ' + JSON.stringify(document.title.replace(' · Lock Ladder', '') +
    ', github.com/lockladder/lockladder' + (/\.md$/.test(file) ? '/blob/main/' + file : '')) + '; } }';
  document.head.append(foot);

  // The way to other pages is for the screen.
  main.querySelectorAll('p').forEach(function (p) { p.classList.toggle('way', p.textContent.indexOf('← ') === 0); });

  // widen joins the lines of a timeline that are wrapped for a terminal, and returns how many columns
  // it has then: undefined if it's none.
  function widen(code) {
    var lines = [], table = [], columns, from, to;
    function add(text, kind) {
      var last = lines[lines.length - 1];
      if (kind && !/^ *\^\^\^|^\S/.test(text) || kind === 'joined' && last && last.kind === kind) {
        last.text += ' ' + text.trim();
      } else { lines.push({ text: text, kind: kind }); }
    }
    code.textContent.split('\n').concat('').forEach(function (line) {
      var head = /^(seconds +who +)(what +)held/.exec(line);
      if (head) {
        from = head[1].length;
        to = from + head[2].length;
      } else if (!line) { // the table ends
        var wide = Math.max.apply(null, table.map(function (row) { return row.what.length; }));
        table.forEach(function (row) {
          row.text = (row.text + row.what.padEnd(wide + 2) + row.rest).trimEnd();
          columns = Math.max(columns || 0, row.text.length);
        });
        table = [];
        from = 0;
      }
      if (!from) {
        add(line, /^[^$\s]/.test(line) ? 'joined' : '');
      } else if (/^ *\^\^\^/.test(line) || !line.slice(0, 9).trim() && lines[lines.length - 1].kind) {
        add(line, 'broken');
      } else if (/^ *\.\.\./.test(line)) {
        add(line, '');
      } else if (line.slice(0, 9).trim() || line.slice(to).trim()) {
        var row = { text: line.slice(0, from), what: line.slice(from, to).trim(), rest: line.slice(to) };
        lines.push(row);
        table.push(row);
      } else { table[table.length - 1].what += ' ' + line.trim(); }
    });
    if (columns) {
      lines.pop();
      var into = code, long = lines.length > 30;
      code.replaceChildren();
      lines.forEach(function (line, i) {
        var span = document.createElement('span');
        span.className = line.kind || (line.text.startsWith('$ ') ? 'typed' : '');
        span.textContent = line.text;
        if (long && line.text.startsWith('seconds')) { // what is said before may end a sheet
          code.append(into = document.createElement('span'));
          into.className = lines.length > 46 ? '' : 'whole';
          long = false;
        }
        into.append(span, i < lines.length - 1 ? '\n' : '');
      });
    }
    return columns;
  }

  // blocks keeps a listing's short declarations whole. A long one is torn between two statements.
  function blocks(code) {
    var html = code.innerHTML.split('\n'), lines = code.textContent.replace(/\n$/, '').split('\n');
    function divided(some, ends) {
      var parts = [[]];
      some.forEach(function (i, n) {
        parts[parts.length - 1].push(i);
        if (n < some.length - 1 && ends(lines[i], lines[i + 1], parts[parts.length - 1].length, some.length - n)) { parts.push([]); }
      });
      return parts;
    }
    code.innerHTML = divided(Object.keys(lines).map(Number), function (line, next) {
      return /^[-+ ]?\s*$/.test(line) && /^[-+ ]?\S/.test(next);
    }).flatMap(function (declaration) {
      return declaration.length <= 16 ? [declaration] : divided(declaration, function (line, next, before, after) {
        return before >= 8 && after > 6 && !/^\W*(\/\/|--|#)|([{(]|then|do)$/.test(line) && /^[-+ ]?(\t| {2,4})?[^\s)}\]]/.test(next);
      });
    }).map(function (part) {
      return '<span class="whole">' + part.map(function (i) { return html[i]; }).join('\n') + '\n</span>';
    }).join('');
  }

  // Paper is wider than a terminal, tears only what fills a large part of a sheet, shows what is folded
  // unless it is reference, and says where links lead: to sections, or to addresses, of which it has a list.
  var undo = [];
  window.addEventListener('beforeprint', function () {
    var reference, addresses = [], list = document.createElement('ol');
    main.querySelectorAll('h2, details').forEach(function (e) {
      if (e.nodeName === 'H2') { reference = /^Reference/.test(e.textContent); } else if (!reference) { e.open = true; }
    });
    main.querySelectorAll('a[href^="#"]').forEach(function (a) {
      var heading = document.getElementById(a.hash.slice(1));
      if (heading && /^H/.test(heading.nodeName) && heading.textContent.toLowerCase().indexOf(a.textContent.toLowerCase()) < 0) {
        a.dataset.section = heading.textContent;
      }
    });
    main.querySelectorAll('a[href^="http"]').forEach(function (a) {
      if (a.textContent === a.href || a.closest('details:not([open])')) { return; }
      if (addresses.indexOf(a.href) < 0) { list.append(Object.assign(document.createElement('li'), { textContent: a.href.replace(/^https?:\/\/|\/$/g, '') })); }
      addresses.push(a.href);
      a.dataset.note = Array.from(new Set(addresses)).indexOf(a.href) + 1;
    });
    list.className = 'addresses';
    if (list.firstChild) { main.append(list); }
    undo.push(function () { list.remove(); });
    document.querySelectorAll('table').forEach(function (table) {
      table.style.breakInside = table.textContent.length > 1000 || table.rows.length > 12 ? 'auto' : '';
    });
    document.querySelectorAll('pre').forEach(function (pre) {
      var code = pre.querySelector('code'), html = code && code.innerHTML;
      var columns = pre.matches('.console') && widen(code), lines = pre.textContent.split('\n');
      pre.style.setProperty('--columns', columns || Math.max.apply(null, lines.map(function (line) { return line.replace(/\t/g, '    ').length; })));
      pre.style.breakInside = lines.length > (columns ? 30 : 16) ? 'auto' : '';
      if (code && !columns && lines.length > 16) { blocks(code); }
      if (code && code.innerHTML !== html) { undo.push(function () { code.innerHTML = html; }); }
    });
  });
  window.addEventListener('afterprint', function () { undo.splice(0).forEach(function (f) { f(); }); });

  function go(id, query) {
    var link = document.getElementById(id);
    if (link) { location.href = link.href + (query || ''); }
  }

  document.getElementById('theme').addEventListener('click', turn);

  var deck = query.has('slides'); // also a page without slides that one of them led to

  // Slides begin at the section in sight, with the moves of a level or the moment of a run; or where they
  // were ended, if nothing has moved since.
  var toSlides = document.getElementById('slides');
  function sighted(head, low) {
    var top = head ? head.getBoundingClientRect().top : Infinity;
    return scrollY > 0 && top < low;
  }
  function left() { // where slides were ended, and the slide
    try { return JSON.parse(sessionStorage.getItem('slide')) || []; } catch (e) { return []; }
  }
  if (toSlides) { toSlides.addEventListener('click', function () {
    var moved = document.querySelector('.player[data-at]:not([data-at="0"])'), ended = left(); // a run's moment is below its heading
    var named = document.getElementById(location.hash.slice(1)) || moved && Array.from(main.querySelectorAll('h2[id], h3[id]')).filter(function (h) { return h.compareDocumentPosition(moved) & 4; }).pop();
    var head = named && named.getBoundingClientRect().top >= 0 && sighted(named, innerHeight) ? named :
      Array.from(main.querySelectorAll('h2[id], h3[id]')).filter(function (h) { return sighted(h, innerHeight / 3); }).pop();
    toSlides.href = ended[0] === location.pathname + location.hash && (!head || head === named) ? ended[1] :
      this.pathname + '?slides' + (head ? '=' + head.id : '') + (/=/.test(location.hash) ? location.hash : '');
  }); }

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
  document.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !keys.checked) { return; }
    var target = e.target.tagName ? e.target : document.body;
    if (help.open) { help.close(); e.preventDefault(); return; }
    var page = { ArrowLeft: 'previous', ArrowRight: 'next' }[e.key];
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) { return; }
    if (page && !(toSlides && deck) && !scrolls(target)) { go(page, deck ? '?slides' : ''); }
    if (deck && (e.key === 'Backspace' || e.key === 'Escape' && query.has('back') || e.key === 'PageUp' && !toSlides && scrollY === 0)) { history.back(); }
    if (e.key === '?') { help.showModal(); }
    if (e.key === 'd') { turn(); }
    if (!toSlides && e.key === 's') { help.showModal(); } // it says that there are none
    if (toSlides && !deck && (e.key === 's' || e.key === 'F5' && left()[0] === location.pathname + location.hash)) { // a clicker's
      toSlides.click();
      e.preventDefault();
    }
    if (e.key === 'h') { go('home'); }
    if (e.key === '/') { search.focus({ preventScroll: true }); e.preventDefault(); }
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
  document.querySelectorAll('main li > a:first-child, .side li > a').forEach(function (a) {
    var m = /\/levels\/(.+)\.(?:json|html)#level=([a-z-]+)$/.exec(a.href);
    if (m && done.indexOf(plainly(m[1] + ' ' + m[2])) >= 0) {
      if (!main.contains(a)) { a.classList.add('done'); return; }
      var mark = document.createElement('span');
      mark.className = 'done';
      mark.textContent = '✓ done: ';
      a.before(mark);
    }
  });

  // The levels' page says where the game is, which a reader here knows: it has the way on instead.
  var hint = main.dataset.file === 'docs/levels.md' && main.querySelector('p + p');
  if (hint) {
    var all = Array.from(main.querySelectorAll('ol > li > a')), open = all.findIndex(function (a) { return !a.previousSibling; });
    var begin = document.createElement('a');
    begin.className = 'begin';
    begin.href = all[Math.max(0, open)].href;
    begin.textContent = open > 0 ? 'Continue with level ' + (open + 1) : open < 0 ? 'All done: play level 1 again' : 'Start level 1';
    hint.replaceChildren(begin);
  }

  // A phone shows the rows of a table of sentences as cards.
  main.querySelectorAll('table').forEach(function (table) {
    var head = Array.from(table.rows[0].cells), cells = Array.from(table.querySelectorAll('tbody td'));
    if (head.length < 3 || head.length > 7 || !cells.some(function (td) { return td.textContent.length > (head.length > 5 ? 45 : 85); })) { return; }
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
  var side = document.querySelector('.side details'), narrow = window.matchMedia('(max-width: 75rem)');
  if (narrow.matches) { side.open = false; }
  side.parentElement.classList.add('ready');
  side.addEventListener('click', function (e) { if (narrow.matches && e.target.closest('a')) { side.open = false; } }); // it may lie over the section
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
    a.innerHTML = name.replace(/_/g, '_<wbr>'); // a phone's column is narrow
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
  var search = document.getElementById('search'), found = document.getElementById('found'), head = document.querySelector('header');
  var script = document.querySelector('script[data-search]'), home = document.getElementById('home');
  var plain = /\.html$/.test(home.getAttribute('href')); // an export
  window.lockladder = Object.assign(window.lockladder || {}, { go: go, scrolls: scrolls }); // for slides.js
  function opens(open) {
    found.hidden = !open;
    search.setAttribute('aria-expanded', open);
    search.nextElementSibling.textContent = open && search.value ? found.querySelectorAll('li').length + ' places found' : '';
    found.style.top = head.getBoundingClientRect().bottom + 'px';
  }
  function load() {
    if (lockladder.pages || !search.value) { look(); } else { found.textContent = 'searching …'; opens(true); }
    texts(function () { if (!found.hidden) { look(); } });
  }
  // texts fetches the pages' texts, once.
  function texts(then) {
    if (texts.begun) { return; }
    texts.begun = true;
    var s = document.createElement('script');
    s.src = script.dataset.search;
    s.onload = then;
    s.onerror = function () { s.remove(); texts.begun = false; found.textContent = 'The search needs a file that does not come: ' + s.src; };
    document.head.append(s);
  }
  function address(page, anchor) {
    var base = new URL('.', new URL(home.getAttribute('href'), location.href));
    return new URL(plain ? page.file.replace(/\.(md|json)(?=#|$)/, '.html') : page.file, base).href + (anchor ? '#' + anchor : '');
  }
  var little = new Set(('a after an and are at be by can did do does else for from get happen happens has have how i if in is it me my no not ' +
    'of on or our should so that the there this to vs versus was we were what when where which who why will with would you your').split(' '));
  // later is what is for experts or names everything: other pages come before it, unless it is asked for.
  var later = /exercises|matrix|sources|challenges|alternatives|libraries|redisson|explorer|swarm|soak|language|workshop|import|cohort|handout|levels\/|reference|valkey|what comes next/;
  var sections, guesses = [], shown = [], vocabulary = new Map(); // the pages' words, and their stems
  function tokens(text) { return text.toLowerCase().replace('c#', 'csharp').replace('pub/sub', 'pubsub').match(/[\p{L}\p{N}_]+/gu) || []; }
  // stem is a word without its ending: expiry finds expired.
  function stem(w) { return w.replace(/(?<=^.{3,})(?<![isu])s$/, '').replace(/^(.{4,}?)(ation|ness|ing|ied|ed|er|ie|al|e|y)$/, '$1'); }
  // typo is whether at most n letters of a word are wrong, missing, too much, or swapped with the next.
  function typo(a, b, n) {
    for (var i = 0; i < a.length && a[i] === b[i];) { i++; }
    var x = a.slice(i), y = b.slice(i);
    return x === y || n > 0 && [[x.slice(1), y.slice(1)], [x, y.slice(1)], [x.slice(1), y], x[1] && x[1] + x[0] === y.slice(0, 2) && [x.slice(2), y.slice(2)]]
      .some(function (rest) { return rest && typo(rest[0], rest[1], n - 1); });
  }
  function letters(w) { return Array.from(w).sort().join(); }
  // part is a sentence with what follows it, or a row of a table, which says less if it ends in a sign or a figure.
  function part(text, sentence) {
    var words = tokens(sentence || text);
    words.forEach(function (w) { vocabulary.set(w, stem(w)); });
    return { text: text, words: words, line: ' ' + words.join(' ') + ' ', weight: /\n\P{L}*$/u.test(text) ? 0.4 : 1 };
  }
  // divided are a page's sections. Their first two parts are the titles of the page and of the section.
  function divided(page) {
    return page.sections.map(function (s) {
      var blocks = s.text.replace(s.title + '. ', '').split('\n'), rows = (s.tables || []).flatMap(function (rows) { return rows.slice(1); });
      return { page: page, section: s, parts: [part(page.title), part(s.title)].concat(blocks.flatMap(function (block) {
        var sentences = block.split(/(?<=.{40}[.?!]) (?=\p{Lu})/u);
        return sentences.map(function (sentence, i) { return part(sentences.slice(i).join(' '), sentence); });
      }), rows.map(function (row) { return part(row); }), (s.code || []).map(function (line) { return Object.assign(part(line), { code: true }); })) };
    });
  }
  // names are what a page is called: the word before a colon in its title, or its file's name.
  function names(page) {
    return [page.title.replace(/:.*|^\d+ |^The /g, ''), page.file.replace(/^.*\/(\d-)?|\.md$/g, '')].map(function (name) { return tokens(name).map(stem).join(' '); });
  }
  // meant are the words of the pages that a typed word may mean, and how sure that is.
  function meant(w, before, after) {
    var s = stem(w), some = new Map(), like = new Set(Object.keys(lockladder.alike).flatMap(function (typed) {
      return typed.split(' ').map(stem).includes(s) ? tokens(lockladder.alike[typed]).map(stem) : [];
    }));
    // A word that the pages have as it is counts more than others of its stem, and much more than those that begin like it.
    var known = vocabulary.has(w), start = w.replace(/[^_]*$/, '');
    vocabulary.forEach(function (its, t) {
      var sure = t === w ? 1 : t === w + 's' || t + 's' === w || t === before + w || t === w + after ? 0.95 : its === s ? known ? 0.88 : 0.95 :
        like.has(its) ? 0.65 : t.startsWith(w) ? (0.4 + 0.4 * w.length / t.length) * (known ? 0.5 : 1) : 0;
      if (sure) { some.set(t, sure); }
    });
    var all = Array.from(some.keys());
    if (like.size && all.length && all.every(function (t) { return some.get(t) === 0.65; })) {
      shown.push([w, Array.from(like).flatMap(function (l) { return all.find(function (t) { return vocabulary.get(t) === l; }) || []; })]);
    }
    for (var n = 1, near = new Map(); !all.length && !near.size && w.length > 2 && n < 3; n++) { // a second letter is wrong only in a long word
      vocabulary.forEach(function (its, t) {
        var part = n < 2 && (t.split('_').includes(w) || w.length > 4 && t.includes(w) || start && t.startsWith(start));
        var long = Math.min(w.length, t.length) > 4 ? w.length > 7 || n < 2 : letters(s) === letters(its);
        if (part || long && w[0] === t[0] && (typo(w, t, n) || typo(s, its, n))) { near.set(its, near.get(its) || t); }
      });
    }
    if (near.size || !all.length && w.length > 2) {
      guesses.push([w, Array.from(near.values())]);
      vocabulary.forEach(function (its, t) { if (near.has(its)) { some.set(t, 0.5); } });
    }
    return some;
  }
  function best(all, value) { return all.reduce(function (most, x) { return Math.max(most, value(x)); }, 0); }
  // find are the pages that fit best, each as its best sections, with the part of them that has most of the words.
  function find(text) {
    sections = sections || lockladder.pages.slice(1).flatMap(divided); // the front page is a list of links
    guesses = [];
    shown = [];
    text = text.replace(/\w+(Error|Exception)\b/g, function (w) { return vocabulary.has(w.toLowerCase()) ? w : w.replace(/(?<=[a-z])(?=[A-Z])/g, ' '); });
    lockladder.phrases.forEach(function (p) { text = text.replace(p[0], function (typed) { shown.push([typed, [p[1]]]); return p[1]; }); });
    var all = tokens(text), big = all.filter(function (w) { return (w[1] || w >= '0' && w <= '9') && !little.has(w); });
    var words = big.length ? big : all, pages = new Map(), pairs = words.slice(1).map(function (w, i) { return ' ' + words[i] + ' ' + w + ' '; });
    var fits = words.map(function (w, i) { return meant(w, words[i - 1], words[i + 1]); });
    function sum(values) { return values.reduce(function (all, v, i) { return all + v * rare[i]; }, 0); }
    var hits = sections.map(function (s) {
      var sure = s.parts.map(function (part) { // what is in the text comes before what is in the code
        return fits.map(function (fit) { return best(part.words, function (w) { return fit.get(w) || 0; }) * (part.code ? 0.5 : 1); });
      });
      var any = fits.map(function (fit, i) { return best(sure, function (has) { return has[i]; }); });
      return Object.assign({ fits: fits, sure: sure, any: any }, s);
    });
    var rare = words.map(function (w, i) { // a rare word counts more
      return Math.log(1 + hits.length / (1 + hits.filter(function (hit) { return hit.any[i] >= 0.7; }).length));
    });
    var whole = sum(words.map(function () { return 1; }));
    var typed = ' ' + all.join(' ') + ' ', name = (words[1] || /\W/.test(text.trim())) && !/\s/.test(text.trim()) && text.trim().toLowerCase();
    var loud = text.match(/\b[A-Z_]{3,}\b/g) || [];
    // together is what it's worth that a part has typed words beside each other, or all of a name such as lock.ErrLost or BUSY.
    function together(part) {
      var worth = name ? part.text.toLowerCase().includes(name) && 6 : 3 * pairs.filter(function (pair) { return part.line.includes(pair); }).length / (pairs.length || 1);
      if (loud.some(function (w) { return part.text.includes(w); })) { worth += 6; }
      return worth * (part.code ? 0.5 : 1);
    }
    hits.forEach(function (hit) {
      var first = hit.section === hit.page.sections[0], most = 0, heading = hit.sure[1], title = hit.parts[1].words, length = title.length, seen = heading;
      var kind = later.exec((hit.page.file + hit.section.title).toLowerCase()), asked = all[1] && hit.parts[1].line.includes(typed);
      hit.parts.slice(2).forEach(function (part, i) {
        var worth = sum(hit.sure[i + 2]) * part.weight * (first ? 1.3 : 1) * 30 / (30 + part.words.length) +
          together(part) + (words[2] && hit.sure[i + 2].every(function (v, i) { return Math.max(v, heading[i]) > 0.5; }) ? whole / 2 : 0);
        if (!i || worth > most && !asked) { most = worth; hit.part = part; seen = hit.sure[i + 2]; }
      });
      // What is in one sentence counts more than what is somewhere in the section.
      seen = hit.any.map(function (v, i) { return v + Math.max(seen[i], heading[i], hit.sure[0][i]); });
      hit.score = 1.5 * most + (asked ? 2 * whole : 0) + sum(heading.map(function (v, i) {
        var own = 2.5 * v / (1 + 0.08 * length), page = hit.sure[0][i];
        return first ? own + 1.8 * page : Math.max(own, 1.5 * page);
      }));
      if (heading.every(function (v) { return v > 0.8; })) {
        hit.score += (hit.section.term ? /^what.?(is|are|s)\b/i.test(text) ? 9 : 3 : kind && kind[0] !== 'levels/' ? 1 : 2) * whole * words.length / length;
      } else if (hit.section.term && length > 1 && title.every(function (t) { return fits.some(function (fit) { return fit.get(t) > 0.8; }); })) {
        hit.score += 3 * sum(heading); // a term of several words that is a part of what is typed
      }
      if (hit.part.code || hit.part.text.includes('\n') && hit.part.text.length < 120) { hit.score *= 0.6; } // a sentence says more
      hit.score *= Math.pow(sum(seen) / whole / 2, 1.5) * (/^docs\/\d-/.test(hit.page.file) ? 1.35 : 1);
      if (hit.section.term && /^.{0,100}See .{3,20}\.$/.test(hit.section.text.replace(/\n/g, ' '))) { hit.score *= 0.5; }
      if (kind && !(kind[0] === 'matrix' && /_/.test(text)) && !fits.some(function (fit) { return fit.get(kind[0]) > 0.6; })) {
        hit.score *= kind[0] === 'levels/' ? 0.6 : kind[0] === 'matrix' ? 0.4 : 0.5;
      }
    });
    // What is called so comes first: a page, or else a section.
    var most = best(hits, function (hit) { return hit.score; });
    [text, text.replace(/.*\//, ''), ''].some(function (name) {
      var called = tokens(name || text).map(stem).join(' ');
      var own = hits.filter(function (hit) {
        return name ? hit.section === hit.page.sections[0] && names(hit.page).includes(called) : tokens(hit.section.title).map(stem).join(' ') === called;
      });
      own.forEach(function (hit) {
        hit.score += most;
        hit.part = hit.parts[2] || hit.parts[1];
      });
      return own.length;
    });
    hits.sort(function (a, b) { return b.score - a.score; }).forEach(function (hit) {
      var page = pages.get(hit.page) || [];
      if (hit.score > (page[0] || hits[0]).score / (page[0] ? 2 : 20) && page.length < 3) { pages.set(hit.page, page.concat(hit)); }
    });
    return Array.from(pages.values());
  }
  // has is whether a text has a word that was found: one that only begins like it, if no other was.
  function has(text, hit) {
    return tokens(text).some(function (t) { return hit.fits.some(function (fit, i) { return fit.get(t) > (hit.any[i] > 0.6 ? 0.6 : 0); }); });
  }
  function marked(text, hit) {
    return text.split(/([\p{L}\p{N}_]+)/u).map(function (word, i) {
      return i % 2 && has(word, hit) ? Object.assign(document.createElement('mark'), { textContent: word }) : word;
    });
  }
  // excerpt is the beginning of a part, or what is around a word that is far from it.
  function excerpt(hit) {
    var text = hit.part.text.split('\n').filter(function (cell) { return /\p{L}/u.test(cell); }).join(' · '), at = 0;
    if (!text.split(' ').some(function (word) { at += word.length + 1; return has(word, hit); })) { at = 0; }
    var from = at < 130 ? 0 : text.lastIndexOf(' ', at - 60) + 1, to = text.length < from + 170 ? text.length : text.lastIndexOf(' ', from + 160);
    return (from ? '… ' : '') + text.slice(from, to) + (to < text.length ? ' …' : '');
  }
  // place is where a hit is on its page, also in a fold: a row is found by its word, a line of code as it is, and a sentence
  // by its first words.
  function place(hit) {
    if (/#/.test(hit.page.file)) { return ''; } // a level
    var row = hit.part.text.includes('\n') && hit.part.text.split(/\s/).find(function (t) { return has(t, hit); });
    var text = hit.section.term ? hit.section.title : (hit.part.code ? hit.part.text : row || hit.part.text.split(' ').slice(0, 5).join(' ')).replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '');
    return (hit.section.anchor || '') + (text && ':~:text=' + encodeURIComponent(text).replace(/-/g, '%2D'));
  }
  // jump shows the result that was chosen, with marks at its words: a text fragment may find the list of pages.
  function jump() {
    var to, walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT), nodes = [], ends = [], text = '', m;
    try { to = JSON.parse(sessionStorage.getItem('found')); sessionStorage.removeItem('found'); } catch (e) { }
    if (!to) { return; }
    var from = walker.currentNode = document.getElementById(to.anchor) || main;
    while (walker.nextNode()) {
      nodes.push(walker.currentNode);
      ends.push((text += walker.currentNode.data).length);
    }
    function edge(at, after) {
      var n = ends.findIndex(function (end) { return end > at; });
      return [nodes[n], at - ends[n] + nodes[n].length + after];
    }
    function marks(start, end) {
      return Array.from(text.slice(start, end).matchAll(/[\p{L}\p{N}_]+/gu)).filter(function (w) { return to.sought.includes(w[0].toLowerCase()); }).map(function (w) {
        var range = new Range();
        range.setStart.apply(range, edge(start + w.index, 0));
        range.setEnd.apply(range, edge(start + w.index + w[0].length - 1, 1));
        return range;
      });
    }
    from.scrollIntoView();
    for (var all = new RegExp(to.words.join('[^\\p{L}\\p{N}_]*'), 'giu'); to.words.length && (m = all.exec(text));) {
      var ranges = marks(m.index, m.index + m[0].length), first = ranges[0] || marks(0)[0]; // or a word of the heading
      if (!first) { return; }
      for (var fold = first.startContainer.parentElement; fold !== main; fold = fold.parentElement) { if (fold.nodeName === 'DETAILS') { fold.open = true; } }
      var box = first.getBoundingClientRect(), at = document.createElement('span');
      if (!box.height) { continue; } // of two forms of a listing, one is hidden
      first.insertNode(at);
      at.scrollIntoView({ block: box.top < 60 || box.bottom > innerHeight * 0.8 ? 'center' : 'nearest', inline: 'center' }); // also sideways
      fold = at.parentNode;
      at.remove();
      fold.normalize();
      if (window.Highlight) { CSS.highlights.set('found', ranges.concat(first).reduce(function (all, range) { return all.add(range); }, new Highlight())); }
      return;
    }
  }
  function item(hit, below) {
    var li = document.createElement('li'), title = hit.section.title;
    var a = Object.assign(document.createElement('a'), { href: address(hit.page, place(hit)) });
    li.className = below ? 'below' : '';
    var name = document.createElement('b'), text = document.createElement(hit.part.code ? 'code' : 'span');
    name.append.apply(name, marked(below ? title : hit.page.title + (hit.section === hit.page.sections[0] ? '' : ' › ' + title), hit));
    text.append.apply(text, marked(excerpt(hit), hit));
    a.append(name, ' ', text);
    li.append(a);
    a.addEventListener('click', function (e) {
      if (e.ctrlKey || e.metaKey || e.shiftKey) { return; } // they open it elsewhere
      opens(false);
      search.value = '';
      if (/#/.test(hit.page.file)) { return; }
      var words = hit.section.term ? tokens(hit.section.title) : hit.part.words, sought = words.concat(hit.parts[1].words).filter(function (w) { return has(w, hit); });
      try { sessionStorage.setItem('found', JSON.stringify({ anchor: hit.section.anchor, words: words, sought: sought })); } catch (e) { return; }
      a.href = a.href.split(/#?:~:/)[0];
      if (a.pathname !== location.pathname || query.has('slides')) { return; }
      e.preventDefault();
      search.blur();
      history.pushState(null, '', a.href);
      jump();
    });
    return li;
  }
  // ways are where to begin: the first groups of pages, and the glossary.
  function ways(text) {
    found.append(text);
    side.querySelectorAll('details:nth-of-type(-n+4), a[href*="glossary."]').forEach(function (group) {
      found.append(' ', Object.assign(document.createElement('a'), { href: group.href || group.querySelector('a').href,
        textContent: (group.querySelector('summary') || group).textContent }));
    });
  }
  function look() {
    fill();
    opens(true);
  }
  function fill() {
    var pages = search.value.trim() && find(search.value), ul = document.createElement('ul');
    found.replaceChildren();
    if (!pages) { return ways('Type a word or a question, such as lock stuck, which library or cron. Or begin here:'); }
    if (!pages.length) { return ways('No page says anything of “' + search.value.trim() + '”. Try another word, or begin here:'); }
    shown.forEach(function (s) {
      var at = search.value.toLowerCase().indexOf(s[0].toLowerCase()), typed = at < 0 ? s[0].replace('csharp', 'C#') : search.value.substr(at, s[0].length);
      found.append('“' + typed + '”: shown for ' + s[1].slice(0, 3).join(', ') + '. ');
    });
    guesses.forEach(function (g) {
      found.append('Nothing has “' + g[0] + '”. ' + (g[1].length ? 'Closest: ' + g[1].slice(0, 3).join(', ') + '. ' : ''));
    });
    var near = !pages.flat().some(function (hit) { return hit.any.every(Boolean); }); // the best have some of the words
    if (near && !guesses.length) { found.append('Nothing has all of these words. Closest:'); }
    if (/\b(tutorial|beginner|newcomer|intro(duction)?|quick ?start|(get|getting|where to|how to)? ?(start(ed)?|begin)( here)?)\s*$/i.test(search.value)) { ways('Begin here:'); }
    ul.append.apply(ul, pages.slice(0, near ? 3 : 8).flatMap(function (hits) { return (near ? hits.slice(0, 1) : hits).map(item); }));
    found.append(ul);
  }
  search.addEventListener('input', load);
  search.addEventListener('focus', load);
  document.addEventListener('click', function (e) { // the results lie over the page
    if (e.target !== search && !(found.contains(e.target) && !e.target.closest('a'))) { opens(false); }
  });
  search.addEventListener('keydown', function (e) {
    var first = found.querySelector('li a');
    if (e.key === 'Enter' && first) { first.click(); }
  });
  // The arrow keys and Tab go through the results, and Tab then on. Escape closes them, and then clears the search.
  [search, found].forEach(function (box) {
    box.addEventListener('keydown', function (e) {
      var tab = e.key === 'Tab' && search.value, stops = [search].concat(Array.from(found.querySelectorAll('a')), tab ? document.querySelector('.search ~ *') : []);
      var on = tab ? e.shiftKey ? -1 : 1 : { ArrowDown: 1, ArrowUp: -1 }[e.key];
      var next = on && !found.hidden && stops[stops.indexOf(document.activeElement) + on];
      if (next) { next.focus(); }
      if (next || on && !tab || e.key === 'Escape') { e.preventDefault(); } // the page stays where it is, and the field as it is
      if (e.key === 'ArrowDown' && found.hidden) { load(); }
      if (e.key === 'Escape' && found.hidden) { search.value = ''; search.blur(); }
      if (e.key === 'Escape' && !found.hidden) { search.focus({ preventScroll: true }); opens(false); }
      e.stopPropagation();
    });
    box.addEventListener('focusout', function (e) {
      if (e.relatedTarget && e.relatedTarget !== search && !found.contains(e.relatedTarget)) { opens(false); }
    });
  });
  window.addEventListener('load', jump); // to a result that was chosen on another page
  // Where a run or a level needs the screen, the head of the page comes when a reader scrolls up.
  var finger = 0;
  function upward(by) { if (Math.abs(by) > 4) { root.toggleAttribute('data-up', by < 0); } }
  document.addEventListener('wheel', function (e) { upward(e.deltaY); }, { passive: true });
  document.addEventListener('touchstart', function (e) { finger = e.touches[0].clientY; }, { passive: true });
  document.addEventListener('touchmove', function (e) { upward(finger - (finger = e.touches[0].clientY)); }, { passive: true });
  // A matrix can be read one lock at a time: what breaks it.
  document.querySelectorAll('main > table').forEach(function (table) {
    var head = Array.from(table.rows[0].cells);
    if (head.length < 5 || head[1].textContent !== 'invariant' || query.has('slides') || query.has('poster')) { return; }
    var select = document.createElement('select'), label = document.createElement('label');
    head.slice(1).forEach(function (th, i) {
      select.add(new Option(i ? 'what breaks ' + th.textContent : 'every lock', i && i + 1));
    });
    label.className = 'one-lock';
    label.append('Start with one lock: ', select);
    select.addEventListener('change', function () {
      var one = Number(select.value);
      Array.from(table.rows).forEach(function (row, r) {
        row.hidden = one && r && row.cells[one].textContent.indexOf('✗') < 0;
        Array.from(row.cells).forEach(function (cell, c) { cell.hidden = one && c > 1 && c !== one; });
      });
    });
    table.before(label);
  });
  if (query.has('poster')) { texts(function () { poster(query.get('poster')); }); }
  if (!toSlides) { delete root.dataset.waits; }
  if (query.has('slides') && toSlides) {
    var more = document.createElement('script');
    more.src = script.src.replace('site.js', 'slides.js');
    document.head.append(more);
  }
})();
