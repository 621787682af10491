// ?slides shows a page on slides, one idea on each. site.js loads this.
(function () {
  'use strict';
  var root = document.documentElement, main = document.querySelector('main');
  var help = document.getElementById('help'), keys = document.getElementById('keys');
  var query = new URLSearchParams(location.search);
  var slides, shown = 0, bar, count, minutes, began = Date.now(), room, gap, resized;
  var BIG = '.duet, .copied, pre, table, .player, .game, .picture'; // what isn't text
  var GROWS = [1.7, 1.4, 1.3, 1.22], MOST = 1.06; // sizes of code, and how many times as many lines fit in the smallest
  var LONG = 75, BEFORE = 'previousElementSibling', AFTER = 'nextElementSibling'; // words of running text

  function words(block) { return block.textContent.trim().split(/\s+/).length; }
  function colon(block) { return /:\s*$/.test(block.textContent); }
  function wide(block) { return block.scrollWidth > block.clientWidth + 1; }
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

  // parts divides n things so that few parts, which are nearly full, end where a cut is cheap. Rather than be cut
  // elsewhere, a part is up to most times as full, in smaller letters.
  function parts(n, full, price, most) {
    return cheapest(n, function (i, j) {
      var much = full(i, j);
      return much > most && j > i + 1 ? Infinity : (much > 1 ? 40 : 10 + 30 * Math.pow(1 - much, 2)) + (i && price(i));
    });
  }

  // halves draws a benchmark's picture, which is high, again: its first groups on one slide, its other groups on the
  // next, each with the scale and of the same size. What it says is below it if that is short, and in the list of findings if not.
  function halves(img) {
    return fetch(img.src).then(function (got) { return got.text(); }).then(function (text) {
      var low = Number(/\dV([\d.]+)/.exec(text)[1]), legend = Number(/cy="(\d+)/.exec(text)[1]);
      var groups = Array.from(text.matchAll(/y="([\d.]+)" dy="-20"/g), function (group) { return group[1] - 36; });
      function higher(cut) { return Math.max(cut - groups[0], low - cut); }
      var next = groups.slice(1).sort(function (a, b) { return higher(a) - higher(b); })[0], most = higher(next);
      var column = /dy="-4" text-anchor="end" class="small">([^<]+)/.exec(text), cut = text.indexOf('y="' + (next + 36)); // above its label
      var says = Array.from(text.matchAll(/class="found">([^<]+)/g), function (line) { return line[1]; }).join(' ');
      function part(y, from, to, left, span, wide, apart) { // of the picture, at a height; its points are further apart
        return ['<svg y="', y, '" width="', wide, '" height="', (to - from) * wide / span, '" viewBox="', left, ' ', from, ' ', span, ' ', to - from, '">',
          text.slice(text.indexOf('<style')).replace(/(\bc?x="|[MH])([\d.]+)/g, function (all, what, x) { return what + (x > 178 ? 178 + (x - 178) * apart : x); })].join('');
      }
      function half(from, to, img, rows) {
        var wide = 2.35 * (most + 82), names = Math.min(wide, 850), high = 22 * names / 592 + 4, end = high + to - from, apart = (wide - 254) / 414;
        img.insertAdjacentHTML('beforebegin', '<svg class="chart" viewBox="0 0 ' + wide + ' ' + (high + most + 46) + '" preserveAspectRatio="xMinYMin">' + part(0, legend - 10, legend + 12, 4, 592, names, 1) +
          part(high, from, to, -72, wide, wide, apart) + part(end, low, low + 44, -72, wide, wide, apart) +
          (column ? '<text class="small" x="' + (wide - 4) + '" y="' + (high - 10) + '" text-anchor="end">' + column[1] + '</text>' : '') + '</svg>'); // with room for larger letters on the left
        img.alt = (says.length < 150 ? says : img.alt + '.') + Array.from(text.matchAll(/>([†‡]) ([^<]+)(?:<\/text>\s*<text[^>]*small">([a-z][^<]*))?/g), function (note) {
          return rows.includes(note[1] + '<') ? ' ' + note.slice(1).filter(Boolean).join(' ') + '.' : '';
        }).join('');
      }
      var again = img.parentNode.cloneNode(true);
      img.parentNode.after(again);
      half(groups[0], next, img, text.slice(0, cut));
      half(next, low, again.querySelector('img'), text.slice(cut));
    }).catch(function () {}); // a page from a disk can't read it
  }

  // leaveOut leaves out what is for readers of the page: sentences in parentheses, commands at the end of a section, and
  // what is headed "Reference: ".
  function leaveOut() {
    var asked = document.getElementById(query.get('slides') || location.hash.slice(1));
    main.querySelectorAll('pre:not(.code)').forEach(function (pre) {
      var box = pre.closest('.copied') || pre, before = box[BEFORE], leads = before && /(?<=^|[.?!]\s+)(\S+\s+){0,4}\S+:\s*$/.exec(before.textContent);
      if (box[AFTER] && !box[AFTER].matches('h2, h3, nav, details') || before && colon(before) && !leads) { return; }
      if (leads) { before.lastChild.textContent = before.lastChild.textContent.slice(0, -leads[0].length); }
      box.remove();
    });
    main.querySelectorAll(':scope > p, :scope > :is(ul, ol, blockquote) > *').forEach(function (block) {
      for (var m; (m = /(^|[.?!:]\s+)\((?:[^()]|\([^()]*\))*[.?!]\)\s*/.exec(block.textContent));) {
        var range = new Range(), walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT), at = 0, to = m.index + m[0].length;
        while (at < to && walker.nextNode()) {
          var node = walker.currentNode, from = m.index + m[1].length - at;
          if (from >= 0 && from < node.length) { range.setStart(node, from); }
          range.setEnd(node, Math.min(node.length, to - at));
          at += node.length;
        }
        range.deleteContents();
      }
      if (!block.textContent.trim() && !block.querySelector('img')) { block.remove(); }
    });
    main.querySelectorAll(':scope > h2').forEach(function (head) {
      for (var part = [head], next = head; (next = next[AFTER]) && !next.matches('h2, nav');) { part.push(next); }
      if (/^Reference: /.test(head.textContent) && !part.includes(asked)) { part.forEach(function (block) { block.remove(); }); }
    });
  }
  // runsFirst puts what gives away how a run ends after it: the answer to what is asked before it, the pictures of
  // failures, and what still breaks. The run as text is left out.
  function runsFirst() {
    main.querySelectorAll('.player + details').forEach(function (text) { text.remove(); });
    main.querySelectorAll('details + .player').forEach(function (player) {
      var asks = player[BEFORE], asked = document.createElement('p'), name = asked.cloneNode(), ask = asks.firstElementChild.innerHTML;
      if (!/\?$/.test(ask)) { return; }
      asked.className = 'asked';
      asked.innerHTML = ask;
      name.className = 'name';
      name.innerHTML = ask.replace(/^Before you run it: /, '');
      asked.dataset.block = asks.dataset.block;
      asks.firstElementChild.replaceWith(name);
      Array.from(asks.children).forEach(function (block) { block.dataset.block = asked.dataset.block + '.5'; });
      player.after(...asks.children);
      asks.replaceWith(asked);
    });
    var run = main.querySelector('.player'), on = document.getElementById('what-comes-next');
    var breaks = Array.from(main.querySelectorAll(':scope > ul > li')).find(function (li) { return /^What still breaks/.test(li.textContent); });
    if (run) { run.after(...main.querySelectorAll('p:has(> img[src^="life/"][alt*="✗"])')); }
    if (run && on && breaks) {
      var list = breaks.parentNode.cloneNode();
      list.dataset.block = on.dataset.block + '.5';
      list.append(breaks);
      on.after(list);
    }
  }

  // split puts the page on slides: one idea on each, no heading at the end and no sentence alone.
  // A picture, a run or a level fills its slide, with a sentence at most.
  function split() {
    Array.from(main.children).forEach(function (block, i) { block.dataset.block = i; });
    leaveOut();
    runsFirst();
    var all = document.createElement('section'), units = [], title = null, heads = new Map(), first = opening(), last = closing();
    var charts = main.querySelectorAll('p:has(> .chart)'), found = charts.length && charts[0][BEFORE][BEFORE];
    if (found && found.matches('ul')) { charts[charts.length - 1].after(found); } // what they show comes after them
    all.append.apply(all, main.children);
    main.replaceChildren(all);
    gap = (room = bar.getBoundingClientRect().top - 6 - all.offsetTop) / 35;
    root.style.setProperty('--room', room + 'px');
    function each(selector, act) { all.querySelectorAll('main > section > ' + selector).forEach(act); }
    all.querySelectorAll(':has(~ details) pre > code, pre:has(~ details) > code').forEach(function (code) { // a comment gives away how the run ends
      code.innerHTML = code.innerHTML.replace(/(\n(<[^>]*>|[+\t ])*\/\/ (The race window:|From here on)[^\n]*)(\n(<[^>]*>|[+\t ])*\/\/[^\n]*)*/g, '');
    });
    each('details', unfold);
    all.querySelectorAll('pre').forEach(function (pre) { // a command is rather wrapped than small
      pre.classList.toggle('line', !/\n\s*\S/.test(pre.textContent));
    });
    all.querySelectorAll(':not(pre) > code, .line > code').forEach(function (code) { // not after a hyphen
      code.innerHTML = code.innerHTML.replace(/(?<![^\s>])[^\s<>]*-[^\s<>]*(?=[\s<]|$)/g, '<span class="word">$&</span>');
    });
    each(':is(pre, .copied)', putBeside);
    each('p > img', function (img) {
      img.parentNode.className = 'picture';
      img.parentNode.appendChild(document.createElement('small')).textContent = img.alt.replace(/ ✗.*| ?\([^)]*\)/g, '');
    });
    each('p:not(.tried, .picture)', divideText);
    each(':is(ul, ol, blockquote) > :is(li, p)', divideText);
    each(':is(ul, ol, blockquote)', divideList);
    each('.panes', function (panes) { // one column is wide enough for large letters
      panes.nextElementSibling.dataset.again = Array.from(panes.querySelectorAll('th'), function (th) { return th.textContent; }).join(' → ');
      panes.remove();
    });
    each('.cards td:not(:has(*))', function (td) { td.innerHTML = td.innerHTML.replace(/\b\/\b/g, '/<wbr>'); });
    each('table', divide);
    each(':is(pre, .copied)', divideCode);
    Array.from(all.children).forEach(function (block) {
      var box = block.getBoundingClientRect(), last = units[units.length - 1], head = block.matches('h1, h2, h3'), big = block.matches(BIG);
      if (last && (!box.height || block.matches('.tried + .outcome'))) { last.blocks.push(block); return; }
      units.push({ blocks: [block], head: head, title: title = head ? block : title, big: big, top: box.top, bottom: box.bottom,
        leads: head ? 2000 : block.matches('.name') ? 500 : colon(block) ? 150 : block.matches(':has(+ .tried)') ? 40 :
          block.matches('table:has(+ p)') && /\brows\b/.test(block[AFTER].textContent) ? 300 : 0, // to what comes after it
        // alone is how many words may be beside it
        alone: block.matches('.player, .game, .picture:has(> svg)') ? 15 : block.matches('.picture') ? 32 : 0,
        rest: block.matches('.rest, :has(> .rest)'), fold: block.matches('details'), text: block.matches('p:not(.picture)'), list: block.matches('ul, ol') && block.dataset.block,
        words: big || head ? 0 : words(block.querySelector('summary') || block) });
    });
    function after(i, j) { return units.slice(i, j).reduce(function (sum, u) { return sum + u.words; }, 0); }
    // cost is what is bad about a slide with the units from i to before j.
    function cost(i, j) {
      var first = units[i], last = units[j - 1], high = last.bottom - first.top, cost = 30, text = 0, big = false, alone = 0, others = 0, folds = false, within = false;
      units.slice(i, j).forEach(function (u, n) {
        text += u.words; big = big || u.big;
        cost += u.head && n ? (u.title.nodeName === 'H2' ? 40 : 30) + (j < units.length && units[j].title === last.title ? after(i + n, j) > 24 ? 40 : 200 : 0) : u.rest && n ? 400 : 0;
        folds = folds || u.fold;
        if (u.fold && within) { cost += 1500; } // an answer hides what is not its section, and its heading would jump
        within = within || u.head && n;
        others += u.head && !n || u.alone && !alone ? 0 : u.text ? 1 : 9;
        alone = alone || u.alone;
      });
      if (folds && within) { cost += 20; }
      if (!first.head) { high += first.title ? first.title.offsetHeight + gap : 0; cost += 15; } // the title is repeated
      if (alone) { high = room; cost += others > 2 || text > alone ? 1e4 : 5 * others; } // it takes what room there is
      if (text > LONG + 12 || high < 0.3 * room && !folds) { cost += text > LONG ? 1700 : 900; } // a wall, or nearly empty
      if (high > room) { cost += j - i > 1 + first.head ? 1e5 : 1e3; }
      if (j < units.length) { cost += last.leads + (!last.list || units[j].list !== last.list ? 0 : last.title === first.title ? 12 : 25); }
      return cost + 120 * Math.pow(Math.max(0, 1 - high / room / 0.7), 2) +
        (big || text + (first.title ? words(first.title) : 0) > 13 ? 0 : 500) + Math.pow(Math.max(0, text - LONG - 4) / 1.6, 2);
    }
    var begins = cheapest(units.length, cost), slides = begins.map(function (begin, n) {
      var section = document.createElement('section'), part = units.slice(begin, begins[n + 1]), title = part[0].title;
      section.classList.toggle('alone', part.some(function (u) { return u.alone; }));
      section.append.apply(section, part.flatMap(function (u) { return u.blocks; }));
      if (title && !part[0].head) {
        var again = title.cloneNode(true);
        ['id', 'data-block'].forEach(function (name) { again.removeAttribute(name); });
        section.prepend(again);
        heads.set(title, (heads.get(title) || [title]).concat(again));
      }
      return section;
    });
    heads.forEach(function (all) {
      all.forEach(function (head, i) { head.insertAdjacentHTML('beforeend', '<span class="nth"> ' + (i + 1) + ' of ' + all.length + '</span>'); });
    });
    slides = [first].concat(slides, last).filter(Boolean);
    main.replaceChildren.apply(main, slides);
    main.querySelectorAll('pre.small').forEach(function (pre) { pre.classList.remove('small'); });
    slides.forEach(function (section) { grow(section, GROWS[0]); });
    slides.forEach(function (section) { // parts of a table have letters of the same size
      grow(section, Math.min.apply(null, slides.filter(function (other) {
        return tables(other).some(function (table) { return tables(section).includes(table); });
      }).concat(section).map(function (other) { return other.grown; })));
      var left = room - section.offsetHeight; // what is short is not at the top
      if (left > 0.35 * room && !section.querySelector(':scope > details')) { section.style.setProperty('--low', 0.35 * left + 'px'); }
    });
    return slides;
  }

  // opening takes the page's title, its step on the arc, and its first text if that is short; the title is repeated
  // over other text. closing takes the way on, so that a click too many stays on the page.
  function opening() {
    var section = document.createElement('section'), head = main.querySelector('h1'), way = main.querySelector('h1 + p:has(> em:first-child)');
    var text = (way || head)[AFTER], again = head.cloneNode(true), step = way && way.children[1];
    if (main.querySelector('.game')) { return null; }
    if (text.matches('.way')) { text = text[AFTER]; text[BEFORE].remove(); }
    section.className = 'opening';
    section.append(head);
    if (way) { section.append(way); }
    if (step) { way.replaceChildren(way.firstChild); } // no links to read beside it
    else if (text.matches('p:not(:has(img))') && words(text) < 60 && !colon(text)) {
      section.append(text);
      text = main.firstElementChild;
    } else if (!way) { main.prepend(head); return null; }
    head.innerHTML = head.innerHTML.replace(': ', ':<br>');
    again.removeAttribute('id');
    delete again.dataset.block;
    if (!text.matches('h2')) { text.before(again); }
    return section;
  }
  function closing() {
    var section = document.createElement('section'), on = main.querySelector('.on:has(.next)'), before = on && on[BEFORE];
    section.className = 'closing';
    section.append.apply(section, before && before.matches('h2 + p') && words(before) < 30 ? [before[BEFORE], before, on] : [on || '']);
    return on && !main.querySelector('.game') ? section : null;
  }

  // grow gives a slide's code and tables the largest letters in which they fit.
  function grow(section, most) {
    section.grown = GROWS.find(function (size) {
      section.style.setProperty('--grow', size);
      return size <= most && (size === GROWS[3] || section.offsetHeight <= room && !Array.from(section.querySelectorAll(':scope > :is(pre, table), .copied > pre, .duet > pre')).some(wide));
    });
  }
  function tables(section) {
    return Array.from(section.querySelectorAll(':scope > table'), function (table) { return table.dataset.block; });
  }

  // unfold shows folded code, and what is open, and leaves tables out. Answers and other text stay folded.
  function unfold(fold) {
    var name = document.createElement('p'), summary = fold.querySelector('summary');
    fold.name = 'answer'; // one is open
    if (!fold.querySelector('p, li, pre') || fold.querySelector('tr:nth-child(15)')) {
      fold.before(name); // leaves with it: its empty section's heading, and what speaks of the table
      fold.remove();
      for (var drop = name; drop; drop = next) {
        var next = drop[BEFORE], after = drop[AFTER];
        drop.remove();
        next = next && (next.matches('h2, h3') ? !after || after.matches(next.nodeName === 'H2' ? 'h2' : 'h2, h3') : next.matches('p') && /^[^.:]*\b(tables?|rows)\b/i.test(next.textContent)) && next;
      }
      return;
    }
    if (/\?\s*$/.test(summary.textContent) || !(fold.open || fold.querySelector('pre, .panes'))) { return; }
    name.className = 'name';
    name.append.apply(name, Array.from(summary.childNodes).concat(/:/.test(summary.textContent) ? '' : ':'));
    summary.replaceWith(name);
    var blocks = Array.from(fold.children);
    blocks.forEach(function (block) { block.dataset.block = fold.dataset.block; });
    fold.replaceWith.apply(fold, blocks);
  }

  // putBeside puts narrow code on the right of the text around it.
  function putBeside(code) {
    var lines = code.textContent.trimEnd().split('\n'), box = document.createElement('div'), texts = document.createElement('div'), many = 0;
    var text = 'p:not(:has(img), .name, .tried, .outcome)', before = code, after = code[AFTER];
    while (before[BEFORE] && before[BEFORE].matches(text)) { many += words(before = before[BEFORE]); }
    if (before === code || many > 60 || code.offsetHeight > 0.85 * room || lines.length < 8 || lines.length > 18 || lines.some(function (line) { return line.length > 44; })) { return; }
    box.className = 'duet';
    before.before(box);
    while (before !== code) { texts.append(before); before = box[AFTER]; }
    if (after && after.matches(text) && words(after) < 15 && !colon(after)) { texts.append(after); }
    box.append(texts, code);
  }

  // divideText puts the sentences of a long paragraph or item into several.
  function divideText(block) {
    var long = words(block), before = '', best = null, off = Infinity, next = block[AFTER];
    var leads = colon(block) && next && next.matches('pre, .copied'); // its last sentence stays with what comes after it
    if (long <= LONG + 8 && !leads) { return; }
    block.childNodes.forEach(function (node) {
      if (node.nodeType === 3) {
        node.data.replace(/[.?!][")]*\s+(?=["(]*[A-Z]|$)/g, function (end, at) {
          var text = before + node.data.slice(0, at + end.length), open = text.split('(').length > text.split(')').length;
          var far = Math.abs(text.trim().split(/\s+/).length - (leads ? long : long / Math.ceil(long / LONG)));
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
    rest.classList.toggle('rest', !leads);
    block.after(rest);
    divideText(leads ? block : rest);
  }

  // divideList lets a slide begin with any item of a list, and any paragraph of a quotation.
  function divideList(list) {
    var items = Array.from(list.children), last = list;
    items.slice(1).forEach(function (item) {
      var one = list.cloneNode();
      if (list.start) { one.start = last.start + !item.matches('.rest'); } // of an ol
      one.append(item);
      last.after(last = one);
    });
  }

  // below is the room below the heading of a block, and few is the height of a few words beside it.
  function below(block) {
    while (block && !block.matches('h1, h2, h3')) { block = block.previousElementSibling; }
    return room - (block ? block.offsetHeight + gap : 0);
  }
  function few(block, way) {
    var high = 0, many = 0;
    while ((block = block[way]) && block.matches('p:not(.picture), details') && (many += words(block.querySelector('summary') || block)) < 55) { high += block.offsetHeight + gap; }
    return high;
  }
  // price is what is bad about a cut before a line of code: nothing at a function or a type.
  function price(lines, i) {
    var line = lines[i], before = lines[i - 1], deep = /^\s*/.exec(line)[0].length;
    if (/^[\s⋯]*$|^\s*([})\]]|end\b|else)/.test(line) || /^\s*(\/\/|--|#)|([,({&|]|\bthen)$/.test(before) ||
        /^\s*if err\b/.test(line) || before === '⋯' && /^func/.test(lines[i - 2])) { return 150; }
    return (deep ? 30 + 4 * deep : 0) + (/^[\s⋯]*$/.test(before) ? 0 : /^(\$|\w+>) /.test(line) ? 2 : /^\s*(\/\/|--|#)/.test(line) ? 20 : 30);
  }
  // under is the line that an indented one is under: the first one of a function or of a table.
  function under(lines, i) {
    return /^\s/.test(lines[i]) ? lines.slice(0, i).findLastIndex(function (line) { return /^[^\s{}()[\]⋯/#-]/.test(line); }) : -1;
  }

  // divide puts the rows of a long table into several, whose columns are as wide.
  function divide(table) {
    var rows = Array.from(table.rows), head = rows.shift(), high = [0], first = few(table, BEFORE), part = table;
    var left = below(table) - head.offsetHeight - gap, last = few(table, AFTER);
    if (table.offsetHeight + first < below(table) - gap) { return; }
    if (!wide(table)) { Array.from(head.cells).forEach(function (cell) { cell.style.width = cell.offsetWidth + 'px'; }); }
    rows.forEach(function (row, i) { high.push(high[i] + row.offsetHeight); });
    var begins = parts(rows.length, function (i, j) {
      return (high[j] - high[i] + (i ? 0 : first) + (j < rows.length ? 0 : last)) / left;
    }, function () { return 0; }, 1);
    begins.slice(1).forEach(function (begin, n) {
      part.after(part = table.cloneNode());
      part.append(head.cloneNode(true));
      part.append.apply(part, rows.slice(begin, begins[n + 2]));
    });
  }

  // divideCode puts the lines of long code into several, and those of a comparison between its changes.
  // It then leaves out what is the same, but for the first line of a function and what is near a change.
  function divideCode(part) {
    var pre = part.querySelector('pre') || part;
    pre.classList.toggle('small', wide(pre));
    var code = pre.firstChild, diff = pre.matches('.unified'), html = code.innerHTML.split('\n');
    var lines = code.textContent.trimEnd().split('\n'), high = parseFloat(getComputedStyle(pre).lineHeight), first = few(part, BEFORE), last = few(part, AFTER);
    var most = Math.max(4, (below(part) - gap - pre.offsetHeight) / high + lines.length), limit = pre.matches('.small') ? 1 : MOST, block = part.dataset.block; // most of them fit
    if (!pre.offsetHeight || pre.offsetHeight + first + last < below(part) - gap) { return; }
    var changed = lines.map(function (line) { return diff && /^[+-]/.test(line); }), keeps = lines.map(function (line, i) {
      return !diff || /^ (func|type)\b/.test(line) || changed.slice(Math.max(0, i - 1), i + 4).some(Boolean);
    });
    keeps = keeps.map(function (keep, i) { // nothing ends with a line that opens what is left out
      return keep && (changed[i] || keeps[i + 1] !== false || !/[{(]$/.test(lines[i]) || /^ (func|type)\b/.test(lines[i]));
    });
    lines.forEach(function (line, i) { // nor begins within a comment
      keeps[i] = keeps[i] && (changed[i] || keeps[i - 1] !== false || !/^ \s*\/\//.test(lines[i - 1]) || !/^ \s*\/\//.test(line));
    });
    var left = lines.map(function (line, i) {
      return keeps[i] ? { text: line.slice(diff), html: html[i], changed: changed[i] } : { text: '⋯', html: ' ⋯' };
    }).filter(function (line, i) { return keeps[i] || keeps[i - 1]; });
    lines = left.map(function (line) { return line.text; });
    var name = part[BEFORE] && part[BEFORE].matches('p') && colon(part[BEFORE]) ? part[BEFORE].offsetHeight + gap : 0;
    function full(i, j) { // one line is repeated; long text beside it goes to another slide
      var own = j - i + (under(lines, i) < 0 ? 0 : 1) - !lines[j - 1], after = j < lines.length ? 0 : last;
      var ways = [i ? after : first + after, i ? after : name + after, i ? 0 : name].map(function (text) { return (own + text / high) / most; });
      return ways.find(function (much) { return much < limit; }) || ways[2];
    }
    var begins = parts(lines.length, full, function (i) {
      var between = !diff || lines[i - 1] === '⋯' || lines[i - 1] === '' && /^\S/.test(lines[i]);
      return price(lines, i) + (between ? 0 : left[i].changed && left[i - 1].changed ? 130 : 40);
    }, limit);
    begins.forEach(function (begin, n) {
      var again = lines[under(lines, begin)];
      if (n) {
        part.after(part = pre.cloneNode());
        part.append(code = code.cloneNode());
        Object.assign(part.dataset, { block: block, again: again ? again + ' … (continued)' : '' });
      }
      (n ? part : pre).classList.toggle('small', wide(pre) || full(begin, begins[n + 1] || lines.length) > 1);
      code.innerHTML = left.slice(begin, begins[n + 1]).map(function (line) { return line.html; }).join('\n');
    });
  }

  // fill gives what is too wide smaller letters. For an opened answer it hides other sections and questions,
  // and, if there is no room, all but the heading. What is too high even so scrolls.
  function fill(section) {
    var low = bar.getBoundingClientRect().top - 6, all = Array.from(section.children), answer = all.find(function (b) { return b.open; });
    var boxes = all.map(function (b) { return b.matches('.copied') ? b.firstChild : b; }), heads = all.filter(function (b) { return b.matches('h1, h2, h3'); });
    var head = heads.findLast(function (h) { return answer && all.indexOf(h) < all.indexOf(answer); }), next = heads[heads.indexOf(head) + 1];
    function over() { return section.getBoundingClientRect().bottom - low - 1; }
    function hide(where, always) {
      if (always || over() > 0) { all.forEach(function (b, i) { if (b !== answer && where(b, i)) { b.classList.add('off'); } }); }
    }
    section.classList.remove('tight');
    all.forEach(function (b) { b.classList.remove('off'); });
    boxes.forEach(function (b) { b.style.maxHeight = b.style.fontSize = ''; });
    if (section.matches('.alone')) { return; }
    if (answer) {
      hide(function (b, i) { return i < all.indexOf(head) || next && i >= all.indexOf(next); }, true); // none comes and goes
      hide(function (b) { return b.matches('details'); }, true);
      hide(function (b) { return b !== head; });
      for (var size = 0.95; size > 0.79 && over() > 0; size -= 0.05) { answer.style.fontSize = size + 'em'; }
    }
    section.classList.toggle('tight', over() > 0 || boxes.some(wide));
    var last = answer || boxes.filter(function (b) { return b.matches(BIG); }).pop() || boxes.pop();
    if (over() > 0) { last.style.maxHeight = last.offsetHeight - over() + 'px'; last.style.overflow = 'auto'; }
  }
  // scrolls goes on, or back, in what is too high.
  function scrolls(section, on) {
    return Array.from(section.querySelectorAll('[style*="max-height"]')).some(function (box) {
      var was = box.scrollTop;
      box.scrollTop += on * box.clientHeight * 0.8;
      return Math.abs(box.scrollTop - was) > 2;
    });
  }

  // show turns to a slide, or to the next page's first one, or to the last one of the page before.
  function show(next) {
    var level = (next < 0 || next >= slides.length) && main.querySelector('.neighbors a:' + (next < 0 ? 'first' : 'last') + '-child');
    if (level && /^←/.test(level.textContent) === next < 0) {
      level.hash = next < 0 && kept(level.pathname + level.hash) || level.hash; // as it was won
      return level.click();
    }
    if (next < 0 && query.has('back')) { return history.back(); }
    if (next < 0) { return lockladder.go('previous', '?slides=last'); }
    if (next >= slides.length) { return lockladder.go('next', '?slides'); }
    slides.forEach(function (section, i) { section.hidden = i !== next; });
    pauses();
    shown = next;
    document.activeElement.blur(); // the keys are the slides'
    root.removeAttribute('data-black');
    window.scrollTo(0, 0);
    fill(slides[shown]);
    bar.firstChild.textContent = document.title.split(/: | · /)[0];
    count.textContent = main.querySelector('.game') ? '' : (shown + 1) + ' of ' + slides.length;
    bar.children[3].dataset.next = section(shown + 1) === section(shown) ? '' : ' ' + section(shown + 1);
    clock();
    keep();
  }
  // keep has the address show the slide, and how many of its answers were opened. Another size has other slides.
  function keep() {
    var seen = slides[shown].querySelectorAll(':scope > [data-seen]').length;
    history.replaceState(1, '', '?block=' + block() + '&slides=' + (shown + 1) + (seen ? '&seen=' + seen : '') + (query.has('back') ? '&back' : '') + location.hash);
  }
  function kept(name) {
    try { return sessionStorage.getItem(name); } catch (e) { return null; }
  }

  function section(n) { // a slide's title
    var head = slides[n] && slides[n].querySelector('h2, h3');
    return head ? head.firstChild.data : '';
  }
  function block() { return slides[shown].querySelector('[data-block]').dataset.block; }
  // clock shows the minutes since the slides began in this window, if that was today.
  function clock() {
    try { sessionStorage.setItem('began', began = [Number(sessionStorage.getItem('began')), began, Date.now()].find(function (at) { return Date.now() - at < 18e6; })); } catch (e) { }
    minutes.textContent = Math.floor((Date.now() - began) / 6e4) + ' min';
  }

  // present begins the slides, with what a mouse and a finger turn them with.
  function present() {
    root.dataset.slide = '';
    delete root.dataset.waits;
    document.body.insertAdjacentHTML('beforeend', '<nav class="slides" aria-label="slides"><span></span><button aria-label="previous slide">' +
      '‹</button><span></span><button aria-label="next slide">›</button><button title="since the slides began; a click starts anew">0 min</button><button aria-label="keys">?</button><button aria-label="end the slides">×</button></nav>');
    bar = document.body.lastChild;
    count = bar.children[2];
    minutes = bar.children[4];
    minutes.addEventListener('click', function () { sessionStorage.removeItem('began'); began = Date.now(); clock(); });
    setInterval(clock, 2e4);
    bar.addEventListener('click', function (e) {
      var act = { '‹': function () { show(shown - 1); }, '›': function () { show(shown + 1); }, '?': function () { help.showModal(); }, '×': leave };
      if (act[e.target.textContent]) { act[e.target.textContent](); }
    });
    slides = split();
    // having is the slide with an element.
    function having(selector) { return slides.findIndex(function (section) { return section.querySelector(selector); }); }
    function named() { return /^#[\w-]+$/.test(location.hash) ? having('[id="' + location.hash.slice(1) + '"]') : -1; }
    var asked = query.get('slides'), same = '[data-block="' + query.get('block') + '"]', at = having(same);
    if (at < 0 || slides[asked - 1] && slides[asked - 1].querySelector(same)) { at = asked === 'last' ? slides.length - 1 : Number(asked) ? asked - 1 : asked ? having('[id="' + asked + '"]') : named(); }
    show(Math.max(0, Math.min(slides.length - 1, at)));
    Array.from(slides[shown].querySelectorAll(':scope > details')).slice(0, query.get('seen')).forEach(function (fold) {
      fold.open = !(fold.dataset.seen = '');
    });
    keep();
    window.addEventListener('hashchange', function () { if (!history.state) { show(named() < 0 ? shown : named()); } });
    main.addEventListener('toggle', function () { fill(slides[shown]); }, true);
    window.addEventListener('popstate', function (e) { // back from another slide
      if (e.state) { show(new URLSearchParams(location.search).get('slides') - 1); }
    });
    main.addEventListener('click', function (e) { // what is opened from a slide is on slides, too, and leads back
      var a = e.target.closest('a[href]');
      if (a && a.origin === location.origin && !a.search) {
        a.search = a.pathname === location.pathname ? location.search : a.matches('.on > a, .game a') ? '?slides' : '?slides&back';
      }
    });
    window.addEventListener('resize', function () { // other parts fit
      clearTimeout(resized);
      resized = setTimeout(function () { location.reload(); }, 300);
    });
  }
  // run is a slide's player, and pauses stops it.
  function run(slide) { return (lockladder.players || []).find(function (player) { return slide.contains(player.element); }); }
  function pauses() { (lockladder.players || []).forEach(function (player) { player.stop(); }); }
  // reveals opens the next fold of a slide, plays a level and leads on from it, or plays its run and pauses it, before
  // a clicker turns it. Back, it undoes the last of these, or goes a step back in a run.
  function reveals(slide, on) {
    var player = run(slide), opened = Array.from(slide.querySelectorAll(':scope > details:is([open], [data-seen])')), next = Array.from(slide.querySelectorAll(':scope > :is(details:not([open]), .player)')).find(function (e) {
      return e.matches('.player') ? player.at() !== player.last() : !('seen' in e.dataset);
    });
    if (on < 0) {
      var last = opened.pop(), undo = slide.querySelector('.game [title^="key: left"]:enabled');
      if (last) {
        last.open = false;
        delete last.dataset.seen;
        if (opened[0]) { opened.pop().open = true; }
        keep();
      } else if (undo) { undo.click(); }
      return last || undo || player && player.turn(-1);
    }
    var won = slide.querySelector('.game .cards .next'), game = (lockladder.games || []).find(function (game) { return slide.contains(game.element); });
    if (won) {
      try { sessionStorage.setItem(location.pathname + location.hash.split('&')[0], location.hash); } catch (e) { }
      won.click();
    } else if (game && game.lead()) { document.activeElement.blur(); }
    else if (next && next.matches('.player')) { player.turn(1); }
    else if (next) {
      next.firstElementChild.click();
      next.dataset.seen = '';
      keep();
    } else { return false; }
    return true;
  }
  // leave shows the whole page, at what the slide shows. From there site.js leads back to the slide.
  function leave() {
    var titled = Array.from(main.querySelectorAll('h2[id], h3[id]')).filter(function (head) { return slides.indexOf(head.parentNode) <= shown; }).pop();
    var player = run(slides[shown]), to = player && player.at() ? player.address() : titled ? '#' + titled.id : location.hash;
    try { sessionStorage.setItem('slide', JSON.stringify([location.pathname + to, location.search + location.hash])); } catch (e) { }
    location.href = location.pathname + to;
  }

  // The first key, and the first click, on a black screen only brings the picture back.
  ['keydown', 'click'].forEach(function (what) {
    document.addEventListener(what, function (e) {
      if (!root.hasAttribute('data-black') || e.ctrlKey || e.metaKey || e.altKey) { return; }
      root.removeAttribute('data-black');
      e.preventDefault();
      e.stopImmediatePropagation();
    }, true);
  });
  // A clicker's keys are the slides' again when a choice is made, and after a slider.
  main.addEventListener('change', function (e) { e.target.blur(); });
  document.addEventListener('keydown', function (e) { // after site.js
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented || !keys.checked || !slides) { return; }
    var target = e.target.tagName ? e.target : document.body, on = { PageDown: 1, PageUp: -1 }[e.key]; // a clicker sends these, or spaces
    if (e.key === ' ' && !/^(BUTTON|A|SUMMARY|INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) { on = e.shiftKey ? -1 : 1; }
    var reads = on && (scrolls(slides[shown], on) || reveals(slides[shown], on));
    var player = run(slides[shown]);
    if (player && e.key > 0) { player.press(e); }
    if (e.key === 'Escape' && !query.has('back')) { leave(); }
    if (!on && /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) { return; }
    if (!lockladder.scrolls(target)) { on = on || { ArrowRight: 1, ArrowLeft: -1, Home: -shown, End: slides.length - 1 - shown }[e.key]; }
    if (on) { root.dataset.driven = ''; } // a mouse brings the buttons of a run
    if (on) { e.preventDefault(); if (!reads && (slides[shown + on] || !e.repeat)) { show(shown + on); } }
    if (/^[.bB]$/.test(e.key)) { pauses(); root.toggleAttribute('data-black'); }
  });
  document.addEventListener('mousemove', function (e) { if (e.movementX || e.movementY) { delete root.dataset.driven; } });
  window.addEventListener('load', function () { // a player is drawn where it can be measured
    var charts = main.querySelectorAll('img[src*="benchmark-"]');
    if (charts.length) { Promise.all(Array.from(charts, halves)).then(present); } else { present(); }
  });
})();
