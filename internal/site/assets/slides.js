// ?slides shows a page on slides, one idea on each. site.js loads this.
(function () {
  'use strict';
  var root = document.documentElement, main = document.querySelector('main');
  var help = document.getElementById('help'), keys = document.getElementById('keys');
  var query = new URLSearchParams(location.search);
  var slides, shown = 0, bar, count, room, resized;
  var BIG = '.copied, .panes, pre, table, .player, .game, :has(> img)'; // what isn't text
  var LONG = 60; // words of running text

  function words(block) { return block.textContent.trim().split(/\s+/).length; }
  // cheapest divides n things into the parts that cost least, and returns where they begin.
  function cheapest(n, cost) {
    var best = [0], from = [], begins = [];
    for (var j = 1; j <= n; j++) {
      best[j] = Infinity;
      for (var i = j - 1; i >= 0 && i > j - 60; i--) {
        var sum = best[i] + cost(i, j);
        if (sum < best[j]) { best[j] = sum; from[j] = i; }
      }
    }
    for (; n; n = from[n]) { begins.unshift(from[n]); }
    return begins;
  }

  // split puts the page on slides: one idea on each, no heading at the end and no sentence alone.
  // A picture, a run or a level is alone.
  function split() {
    Array.from(main.children).forEach(function (block, i) { block.dataset.block = i; });
    var all = document.createElement('section'), units = [], title = null, heads = new Map();
    all.append.apply(all, Array.from(main.children).filter(function (n) { return n.className !== 'on'; }));
    main.replaceChildren(all);
    room = bar.getBoundingClientRect().top - 6 - all.offsetTop;
    root.style.setProperty('--room', room + 'px');
    function each(selector, act) { all.querySelectorAll('main > section > ' + selector).forEach(act); }
    each('details', unfold);
    each('p > img', function (img) {
      var about = document.createElement('small');
      about.textContent = img.alt.replace(/ ✗.*| ?\([^)]*\)/g, '');
      img.after(about);
    });
    each('p:not(.tried, :has(> img))', divideText);
    each(':is(ul, ol, blockquote) > :is(li, p)', divideText);
    each(':is(ul, ol, blockquote)', divideList);
    each(':is(.panes, table)', divide);
    each('pre', divideCode);
    each('.copied > pre', divideCode);
    Array.from(all.children).forEach(function (block) {
      var box = block.getBoundingClientRect(), last = units[units.length - 1];
      if (last && (!box.height || block.matches('.tried + .outcome'))) { last.blocks.push(block); return; }
      var head = block.matches('h1, h2, h3'), big = block.matches(BIG);
      title = head ? block : title;
      units.push({ blocks: [block], head: head, title: title, big: big, top: box.top, bottom: box.bottom,
        alone: block.matches('.player, .game, :has(> img)'), rest: block.matches('.rest, :has(> .rest)'),
        words: big || head || block.matches('h1 + :has(> em:first-child)') ? 0 : words(block.querySelector('summary') || block),
        less: block.matches('.copied, pre, .panes, table') ? box.height - least(block) : block.matches('p:not(:has(> img)), ul, ol') ? 0.15 * box.height : 0 });
    });
    // cost is what is bad about a slide with the units from i to before j.
    function cost(i, j) {
      var first = units[i], last = units[j - 1], high = last.bottom - first.top, cost = 30, text = 0, less = 0, big = false;
      units.slice(i, j).forEach(function (u, n) {
        less += u.less; text += u.words; big = big || u.big;
        cost += u.head && n ? (u.title.nodeName === 'H2' ? 120 : 30) : u.alone && j - i > 1 + first.head || u.rest && n ? 400 : 0;
      });
      if (!first.head) { // the title is repeated
        high += first.title ? first.title.offsetHeight + 16 : 0;
        cost += 15 + (i && /:$/.test(units[i - 1].blocks[0].textContent.trim()) ? 50 : 0);
      }
      if (high > room) { cost += high - less < room ? 40 : j - i > 1 + first.head ? 1e5 : 1e3; }
      return cost + (last.head && j < units.length ? 2000 : 0) + 40 * Math.pow(Math.max(0, 1 - high / room / 0.7), 2) +
        (big || text + (first.title ? words(first.title) : 0) > 13 ? 0 : 500) + Math.pow(Math.max(0, text - LONG + 5) / 2.5, 2);
    }
    var begins = cheapest(units.length, cost), slides = begins.map(function (begin, n) {
      var section = document.createElement('section'), part = units.slice(begin, begins[n + 1]), title = part[0].title;
      section.classList.toggle('alone', part.some(function (u) { return u.alone; }));
      section.append.apply(section, part.flatMap(function (u) { return u.blocks; }));
      if (title && !part[0].head) {
        var again = title.cloneNode(true);
        again.removeAttribute('id');
        again.removeAttribute('data-block');
        section.prepend(again);
        heads.set(title, (heads.get(title) || [title]).concat(again));
      }
      return section;
    });
    heads.forEach(function (all) {
      all.forEach(function (head, i) {
        var nth = head.appendChild(document.createElement('span'));
        nth.className = 'nth';
        nth.textContent = ' ' + (i + 1) + ' of ' + all.length;
      });
    });
    main.replaceChildren.apply(main, slides);
    return slides;
  }

  // unfold shows folded code, and what is open. Answers and a run's text stay folded.
  function unfold(fold) {
    var name = document.createElement('p'), summary = fold.querySelector('summary');
    fold.name = 'answer'; // one is open
    if (/\?\s*$/.test(summary.textContent) || fold.matches('.player + *') || !(fold.open || fold.querySelector('pre, .panes'))) { return; }
    name.append.apply(name, Array.from(summary.childNodes).concat(/:/.test(summary.textContent) ? '' : ':'));
    summary.replaceWith(name);
    var blocks = Array.from(fold.children);
    blocks.forEach(function (block) { block.dataset.block = fold.dataset.block; });
    fold.replaceWith.apply(fold, blocks);
  }

  // divideText puts the sentences of a long paragraph or item into several.
  function divideText(block) {
    var long = words(block), before = '', best = null, off = Infinity;
    if (long <= LONG + 8) { return; }
    block.childNodes.forEach(function (node) {
      if (node.nodeType === 3) {
        node.data.replace(/[.?!][")]*\s+(?=["(]*[A-Z]|$)/g, function (end, at) {
          var text = before + node.data.slice(0, at + end.length), open = text.split('(').length > text.split(')').length;
          var far = Math.abs(text.trim().split(/\s+/).length - long / Math.ceil(long / LONG));
          if (far < off && !open) { off = far; best = [node, at + end.length]; }
        });
      }
      before += node.textContent;
    });
    if (!best) { return; }
    var range = document.createRange(), rest = block.cloneNode(), name = block.firstElementChild;
    range.setStart(best[0], best[1]);
    range.setEndAfter(block.lastChild);
    rest.append(range.extractContents());
    if (name && name === block.firstChild && name.matches('strong')) { rest.prepend(name.cloneNode(true), ' (continued) '); }
    rest.classList.add('rest');
    block.after(rest);
    divideText(rest);
  }

  // divideList lets a slide begin with any item of a list, and any paragraph of a quotation.
  function divideList(list) {
    var items = Array.from(list.children), last = list;
    items.slice(1).forEach(function (item, i) {
      var one = list.cloneNode();
      if (list.start) { // of an ol
        one.start = list.start + items.slice(1, i + 2).filter(function (item) { return !item.matches('.rest'); }).length;
      }
      one.append(item);
      last.after(one);
      last = one;
    });
  }

  // below is the room below the heading of a block, and few is the height of a few words before it.
  function below(block) {
    while (block && !block.matches('h1, h2, h3')) { block = block.previousElementSibling; }
    return room - (block ? block.offsetHeight + 16 : 0);
  }
  function few(block) {
    var before = block.previousElementSibling;
    return before && before.matches('p') && words(before) < 14 ? before.offsetHeight + 16 : 0;
  }
  // least is a block's height in smaller letters.
  function least(block) {
    block.classList.add('tight');
    var high = block.offsetHeight;
    block.classList.remove('tight');
    return high;
  }
  // price is what is bad about a cut before a line of code: nothing at a function or a type.
  function price(lines, i) {
    var line = lines[i], before = lines[i - 1], deep = /^\s*/.exec(line)[0].length;
    if (/^[\s⋯]*$|^\s*([})\]]|end\b|else)/.test(line) || /^\s*(\/\/|--|#)|([,({&|]|\bthen)$/.test(before) ||
        before === '⋯' && /^func/.test(lines[i - 2])) { return 60; }
    return /^[\s⋯]*$/.test(before) ? (deep ? 4 : 0) :
      /^(\$|\w+>) /.test(line) ? 2 : (/^\s*(\/\/|--|#)/.test(line) ? 4 : 8) + 4 * deep;
  }
  // under is the line that an indented one is under: the first one of a function or of a table.
  function under(lines, i) {
    return /^\s/.test(lines[i]) ? lines.slice(0, i).findLastIndex(function (line) { return /^[^\s{}()[\]⋯/#-]/.test(line); }) : -1;
  }

  // divide puts the rows of a long table or comparison into several. A comparison then leaves out
  // what is the same, but for the first line of a function and what is near a change.
  function divide(panes) {
    var rows = Array.from(panes.querySelectorAll('tr')), head = rows.shift(), diff = panes.matches('.panes');
    var left = below(panes) - head.offsetHeight - 16, high = [0], part = panes;
    var first = few(panes);
    if (least(panes) + first < below(panes) - 16) { return; }
    function text(row) { return diff ? row.cells[1].textContent || row.cells[0].textContent : ''; }
    function changed(row) { return row.className !== 'same'; }
    function near(i) { return /^(func|type)\b/.test(lines[i]) || rows.slice(Math.max(0, i - 3), i + 4).some(changed); }
    var lines = rows.map(text), keeps = rows.map(function (row, i) { // few lines stay
      return !diff || near(i) || near(i - 1) && (near(i + 1) || near(i + 2)) || near(i + 1) && (!i || near(i - 2));
    });
    rows.forEach(function (row, i) {
      if (keeps[i]) { return; }
      row.cells[0].textContent = row.cells[1].textContent = '⋯';
      if (i && !keeps[i - 1]) { row.remove(); }
    });
    rows = rows.filter(function (row) { return row.isConnected; });
    rows.forEach(function (row, i) { high.push(high[i] + row.offsetHeight); });
    lines = rows.map(text);
    var line = diff ? 3 * parseFloat(getComputedStyle(panes.firstChild).fontSize) : 0; // what is repeated
    var begins = cheapest(rows.length, function (i, j) {
      var full = (high[j] - high[i] + (i ? line : first)) / left;
      return full > 1 && j > i + 1 ? Infinity : 10 + 9 * Math.pow(1 - full, 2) +
        (i && diff ? price(lines, i) + (changed(rows[i]) && changed(rows[i - 1]) ? 30 : 0) : 0);
    });
    begins.slice(1).forEach(function (begin, n) {
      var next = panes.cloneNode(), into = diff ? next.appendChild(document.createElement('table')) : next;
      var again = diff ? rows[under(lines, begin)] : null;
      into.append(head.cloneNode(true));
      if (again) {
        again = into.appendChild(again.cloneNode(true));
        again.className = 'again';
        Array.from(again.cells).forEach(function (cell) { cell.append(cell.textContent && ' … (continued)'); });
      }
      into.append.apply(into, rows.slice(begin, begins[n + 2]));
      part.after(next);
      part = next;
    });
  }

  // divideCode puts the lines of long code into several.
  function divideCode(pre) {
    var code = pre.querySelector('code') || pre, html = code.innerHTML.split('\n'), lines = code.textContent.split('\n');
    var part = pre.closest('.copied') || pre, high = parseFloat(getComputedStyle(pre).lineHeight);
    var most = Math.max(4, Math.floor((below(part) - 16 - pre.offsetHeight) / high) + lines.length); // of them fit
    var first = Math.ceil(few(part) / high);
    if (!pre.offsetHeight || least(pre) + few(part) < below(part) - 16) { return; }
    var begins = cheapest(lines.length, function (i, j) {
      var full = (j - i + (i ? 1 : first)) / most; // one is repeated
      return full > 1 && j > i + 1 ? Infinity : 10 + 9 * Math.pow(1 - full, 2) + (i && price(lines, i));
    });
    begins.forEach(function (begin, n) {
      var text = html.slice(begin, begins[n + 1]).join('\n'), again = lines[under(lines, begin)];
      if (!n) { code.innerHTML = text; return; }
      part.after(part = pre.cloneNode());
      part.append(code === pre ? '' : code.cloneNode());
      (part.querySelector('code') || part).innerHTML = text;
      if (again) { part.dataset.again = again + ' … (continued)'; }
    });
  }

  // fill gives a slide with too much smaller letters. An opened answer hides the rest then, and what
  // is too high even so scrolls. What is alone has all the room.
  function fill(section) {
    var low = bar.getBoundingClientRect().top - 6, answer = section.querySelector(':scope > [open]');
    var boxes = Array.from(section.children, function (b) { return b.matches('.copied') ? b.firstChild : b; });
    function over() { return section.getBoundingClientRect().bottom - low; }
    section.classList.remove('answered', 'tight');
    boxes.forEach(function (b) { b.style.maxHeight = ''; });
    if (section.matches('.alone')) { return; }
    section.classList.toggle('answered', !!answer && over() > 0);
    section.classList.toggle('tight', over() > 0 || boxes.some(function (b) { return b.scrollWidth > b.clientWidth + 1; }));
    var last = answer || boxes.filter(function (b) { return b.matches(BIG); }).pop() || boxes.pop();
    if (over() > 0) { last.style.maxHeight = last.offsetHeight - over() + 'px'; last.style.overflow = 'auto'; }
  }

  // show turns to a slide, or to the next page's first one, or to the last one of the page before.
  function show(next) {
    if (next < 0) { return lockladder.go('previous', '?slides=last'); }
    if (next >= slides.length) { return lockladder.go('next', '?slides'); }
    shown = next;
    slides.forEach(function (section, i) { section.hidden = i !== shown; });
    document.activeElement.blur(); // the keys are the slides'
    root.removeAttribute('data-black');
    window.scrollTo(0, 0);
    fill(slides[shown]);
    count.textContent = (shown + 1) + ' of ' + slides.length;
    history.replaceState(null, '', '?slides=' + (shown + 1) + location.hash);
  }

  // present begins the slides, with what a mouse and a finger turn them with.
  function present() {
    root.dataset.slide = '';
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
    add('', document.title.split(/: | · /)[0]);
    add('previous slide', '‹', function () { show(shown - 1); });
    count = add('', '');
    add('next slide', '›', function () { show(shown + 1); });
    add('keys', '?', function () { help.showModal(); });
    add('end the slides', '×', leave);
    document.body.append(bar);
    slides = split();
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
  // reveals answers the next question of a slide, or plays its run, before a clicker turns it.
  function reveals(slide) {
    var next = Array.from(slide.querySelectorAll('details:not([open]), .player')).find(function (e) {
      return !('seen' in e.dataset) && e.offsetParent && (e.matches('.player') || /\?\s*$/.test(e.firstElementChild.textContent));
    });
    if (!next) { return false; }
    next.dataset.seen = '';
    if (next.matches('details')) { next.open = true; } else { next.querySelector('[aria-label^=play]').click(); }
    return true;
  }
  // leave shows the whole page, at what the slide shows.
  function leave() {
    var titled = slides.slice(0, shown + 1).map(function (section) {
      return section.querySelector('h2[id], h3[id]');
    }).filter(Boolean).pop();
    location.href = location.pathname + (titled ? '#' + titled.id : location.hash);
  }

  // A clicker's keys are the slides' again when a choice is made, and after a slider.
  main.addEventListener('change', function (e) { e.target.blur(); });
  document.addEventListener('keydown', function (e) { // after site.js
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || !keys.checked) { return; }
    var target = e.target.tagName ? e.target : document.body, on = { PageDown: 1, PageUp: -1 }[e.key]; // a clicker sends these
    if (e.key === 'Escape') { leave(); }
    if (!on && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) { return; }
    if (!lockladder.scrolls(target)) { on = on || { ArrowRight: 1, ArrowLeft: -1 }[e.key]; }
    if (e.key === ' ' && !/^(BUTTON|A|SUMMARY)$/.test(target.tagName)) { on = e.shiftKey ? -1 : 1; }
    if (on && !(e.key === 'PageDown' && reveals(slides[shown]))) { show(shown + on); }
    if (on) { e.preventDefault(); }
    if (e.key === '.' || e.key === 'b') { root.toggleAttribute('data-black'); }
  });
  window.addEventListener('load', present); // a player is drawn where it can be measured
})();
