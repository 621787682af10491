// The player steps through a recorded run: a lane for each client and each node,
// the line of the lock's code that each client is at, and what the nodes and the
// storage have. The run is in the page, see package recording; nothing is fetched.
// An address has the moment: #t=178, with &all for every attempt, and &beside=silver for
// another lock beside it; the keys of the second player end with 2.
(function () {
  'use strict';
  var SVG = 'http://www.w3.org/2000/svg';
  // ROW is the height of an entry, in pixels; a thumb needs more.
  var ROW = window.matchMedia('(pointer: coarse)').matches ? 42 : 34;
  var LATE = 1500;     // microseconds; what took longer was under way for long
  var FLIGHT = 300;    // milliseconds, of what is seen to move
  var COLORS = ['--client-1', '--client-2', '--client-3', '--client-4', '--client-5'];
  // SHORT are what labels can do without, the dispensable first.
  var SHORT = [[/ lock:stock\b| like these/, ''], [/\bEVAL(SHA)? (?=\S+\.lua)/, ''], [/\.lua .*NOSCRIPT .*/, '.lua → NOSCRIPT'], [/ (to )?the storage:/, ''],
    [/(\.lua \S+)( \S+)*(?= →)|( EX \d+)? NX(?= →|,|$)/, '$1'], [/ returns (?!ok|true|false$).*/, ' fails'], [/ returns /, ': '], [/s .*, refused$/, ' refused'], [/stops: .*/, 'stops']];
  var slides = /[?&]slides/.test(location.search) && !!document.getElementById('slides');
  var still = window.matchMedia('(prefers-reduced-motion: reduce)');

  function html(name, attributes, children) {
    return fill(document.createElement(name), attributes, children);
  }
  function svg(name, attributes, children) {
    return fill(document.createElementNS(SVG, name), attributes, children);
  }
  function fill(element, attributes, children) {
    Object.keys(attributes || {}).forEach(function (key) {
      element.setAttribute(key, attributes[key]);
    });
    (children || []).forEach(function (child) {
      element.append(child);
    });
    return element;
  }
  function seconds(us) { return (us / 1e6).toFixed(3); }
  // move lets an element go from one style to another, unless a reader wants it still.
  function move(element, from, to, then) {
    if (!still.matches) {
      element.animate([from, to], { duration: FLIGHT, easing: 'ease-in-out' })
        .onfinish = then || null;
    } else if (then) { then(); }
  }
  // linker is a button that copies an address.
  function linker(address) {
    var b = html('button', { type: 'button', 'class': 'linker' }, ['copy link']);
    b.hidden = !navigator.clipboard;
    b.addEventListener('click', function () {
      navigator.clipboard.writeText(address()).then(function () {
        b.textContent = 'copied';
        setTimeout(function () { b.textContent = 'copy link'; }, 1500);
      }).catch(function () { b.textContent = 'copy the address'; });
    });
    return b;
  }
  function cut(text, columns) {
    return text.length > columns ? text.slice(0, columns - 1) + '…' : text;
  }

  // Run gives the entries of a run their names.
  function Run(data, entries) {
    this.data = data;
    this.entries = entries || data.entries.map(function (e) {
      return {
        at: e[0], client: e[1], node: e[2], text: data.texts[e[3]],
        reply: data.texts[e[4]], sent: e[5], back: e[6],
        line: data.lines[e[7]], state: data.states[e[8]]
      };
    });
    this.last = this.entries.length - 1;
  }
  Run.prototype.who = function (e) {
    return e.client >= 0 ? this.data.clients[e.client] : this.node(e.node);
  };
  Run.prototype.node = function (n) {
    return n === this.data.nodes ? 'storage' : this.data.nodes > 1 ? 'node ' + (n + 1) : 'Redis';
  };
  // clientOf is the client that an owner belongs to: its own name, or the one that
  // the owner's name begins with.
  Run.prototype.clientOf = function (owner) {
    return this.data.clients.findIndex(function (name) {
      return owner === name || owner.indexOf(name) === 0;
    });
  };
  Run.prototype.color = function (owner) {
    var i = this.clientOf(owner);
    return i < 0 ? 'var(--faint)' : 'var(' + COLORS[i % COLORS.length] + ')';
  };
  Run.prototype.what = function (i) {
    var e = this.entries[i];
    return this.who(e) + ': ' + e.text + (e.reply ? ' → ' + e.reply : '');
  };
  Run.prototype.says = function (i) {
    return seconds(this.entries[i].at) + ' s · ' + this.what(i);
  };
  // breaks are the entries that break something, and what: also a release of another client's lock, which leads to
  // what the run ends with. Only slides ask what such an early one does.
  Run.prototype.breaks = function () {
    var d = this.data, run = this;
    return d.breaks || this.entries.flatMap(function (e, i) {
      var was = i && run.entries[i - 1].state, lease = was && (was.leases || [])[0];
      return i === d.broken ? [{ at: i, names: [d.invariant], event: d.event.replace(/^[\d.]+ s: /, '') }] :
        was && i < d.broken && e.client >= 0 && e.node >= 0 && was.owner !== '-' && e.state.owner === '-' &&
        run.clientOf(was.owner) !== e.client && !(lease && lease.ends <= e.at) ?
          [{ at: i, early: true, names: ['foreign release'], event: run.who(e) + ' removes the lock that ' + was.owner + ' has' }] : [];
    });
  };
  Run.prototype.questions = function () {
    return this.breaks().filter(function (b) { return slides || !b.early; });
  };
  // learned are the clients whose lock had told them by an entry that it is lost. No entry says so:
  // it is another client's at which they first don't believe that they hold it, and their
  // Unlock, which fails, isn't under way.
  Run.prototype.learned = function (i) {
    var run = this, e = this.entries[i], inside = e.state.inside || [];
    return i < 1 ? [] : (this.entries[i - 1].state.inside || []).filter(function (owner) {
      var client = run.clientOf(owner);
      if (run.flights || inside.indexOf(owner) >= 0 || e.client === client) { return false; }
      var later = run.entries.slice(i).filter(function (o) { return o.client === client; });
      var end = later.findIndex(function (o) { return o.node < 0; });
      return end >= 0 && !/ ok$/.test(later[end].text) && later.slice(0, end).every(function (o) { return o.sent > e.at; });
    });
  };
  // label is what stands before an entry.
  Run.prototype.label = function (i) { return seconds(this.entries[i].at); };
  // died are the entries at which clients died, by their clients.
  Run.prototype.died = function () {
    var at = {};
    this.entries.forEach(function (e, i) {
      if (e.client >= 0 && /(^| )dies$/.test(e.reply || e.text) && !(e.client in at)) {
        at[e.client] = i;
      }
    });
    return at;
  };
  // where are the lines at which the clients wait, if that is known, or else those that
  // they have sent something from, the newest first.
  Run.prototype.where = function (i) {
    var list = [], seen = {}, clients = this.data.clients.length;
    for (var k = i; !this.waits && k >= 0 && list.length < clients; k--) {
      var e = this.entries[k];
      if (e.client < 0 || seen[e.client] || !e.line) { continue; }
      seen[e.client] = true;
      list.push({ client: e.client, line: e.line, now: k === i || e.client === this.entries[i].client }); // it has led to this
    }
    return this.waits || list;
  };
  // until is the last entry at or before a time.
  Run.prototype.until = function (at) {
    var low = 0, high = this.last;
    while (low < high) {
      var middle = Math.ceil((low + high) / 2);
      if (this.entries[middle].at <= at) { low = middle; } else { high = middle - 1; }
    }
    return low;
  };
  // rows are what is drawn below each other: an entry, or those that are folded,
  // unless all are wanted.
  Run.prototype.rows = function (all) {
    var rows = [], folds = !all && this.data.folds || [], next = 0;
    for (var i = 0; i <= this.last; i++) {
      var fold = folds[next] && folds[next][0] === i ? folds[next++] : null;
      rows.push({ folded: !!fold, from: i, to: fold ? fold[1] : i });
      i = rows[rows.length - 1].to;
    }
    return rows;
  };

  // View draws one run: its lanes, what the nodes have, and its code: on one board, or
  // apart, on one for each client.
  function View(run, sources, chosen, apart) {
    this.run = run;
    this.apart = apart;
    this.chosen = chosen; // called with an entry that was clicked
    this.at = 0;
    this.bars = []; // what was left of each node's lease, in percent of the longest
    var d = run.data;
    this.lanes = html('div', { 'class': 'lanes', tabindex: '0', role: 'group',
      'aria-label': 'Messages between clients and nodes' });
    this.facts = html('div', { 'class': 'facts' });
    this.boards = (apart ? d.clients : [null]).map(function (name, i) {
      return new Board(sources, name && run.color(name), apart ? i : -1);
    });
    this.code = html('div', { 'class': apart ? 'source apart' : 'source' },
      this.boards.map(function (b) { return b.element; }));
    this.element = html('section', { 'class': 'view', 'aria-label': d.lock }, [
      html('p', { 'class': 'lock' }, [html('b', {}, [d.lock + (d.verdict === 'does not arise' ? ':' : '')]), ' ', html('span', {
        'class': 'verdict ' + (d.verdict === 'breaks' ? 'broken' : 'holds') },
      [d.verdict === 'breaks' ? 'breaks: ' + d.invariant :
        d.verdict === 'does not arise' ? 'the situation doesn\'t arise' : d.verdict])]),
      html('div', { 'class': 'parts' }, [this.lanes,
        html('div', { 'class': 'beside' }, [this.facts, this.code])])
    ]);
    var view = this;
    new ResizeObserver(function () {
      if (!view.rows) { return; }
      if (view.room === view.lanes.clientWidth) { // higher, or lower: more is said above
        view.sight();
        if (slides) { view.mark(view.at); }
        return;
      }
      view.layout(view.all);
      view.show(view.at);
    }).observe(this.lanes);
  }

  // x are where the lanes are: clients, then nodes. Where there is less room they
  // stand closer, as long as their names have room.
  View.prototype.places = function () {
    var d = this.run.data, wide = d.nodes > 1 ? 76 : d.stored ? 110 : 150;
    var x = { clients: [], nodes: [], width: 0 }, at = 100;
    d.clients.forEach(function () {
      x.clients.push(at);
      at += d.clients.length > 3 || d.nodes > 1 ? 84 : 120;
    });
    at += d.nodes > 1 ? 60 : d.stored ? 90 : 170;
    for (var i = d.stored ? -1 : 0; i < d.nodes; i++) { x.nodes.push(at); at += wide; } // the storage stands after the nodes
    x.width = at - wide + 90;
    var room = this.lanes.clientWidth / this.scale, margin = 30, first = x.clients[0] || 100;
    if (room > 0 && room < x.width) {
      var factor = Math.min(1, Math.max(d.nodes > 1 ? 0.75 : 0.3,
        (room - first - margin) / (x.width - 90 - first)));
      function closer(at) { return first + (at - first) * factor; }
      x.clients = x.clients.map(closer);
      x.nodes = x.nodes.map(closer);
      if (d.stored && !x.nodes[2]) { x.nodes[0] = Math.min(x.nodes[0], x.nodes[1] - 68); } // their names don't touch
      x.width = Math.max(room, closer(x.width - 90) + margin);
    }
    return x;
  };

  // grow has the picture grow with the text around it, as on a projector, and a little
  // more where there is room.
  View.prototype.grow = function () {
    var text = Math.max(16, parseInt(getComputedStyle(this.lanes).fontSize) || 0) / 16;
    this.scale = Infinity; // no room, so that the lanes stand as far apart as they would
    this.scale = Math.max(text, Math.min(1.4 * text, this.lanes.clientWidth / this.places().width));
  };

  View.prototype.layout = function (all) {
    this.grow();
    var run = this.run, d = run.data, x = this.x = this.places();
    var rows = this.rows = run.rows(all), view = this, top = 8;
    this.all = all;
    this.room = this.lanes.clientWidth;
    this.rowOf = [];
    rows.forEach(function (row, r) {
      for (var i = row.from; i <= row.to; i++) { view.rowOf[i] = r; }
    });
    var flights = run.flights || [];
    var stops = run.stops || [];
    function stacked(of, n) { // those of the same client stand below each other
      return stops.slice(0, n).filter(function (o) { return o.client === of.client; }).length;
    }
    var below = flights.length + stops.reduce(function (most, of, n) {
      return Math.max(most, stacked(of, n) + 1);
    }, 0);
    var height = top + (rows.length + below) * ROW + 20;
    this.below = below * ROW;
    function y(r) { return top + r * ROW + ROW / 2; }
    // when is the height of a moment, between the entries around it.
    function when(us) {
      if (us >= run.entries[run.last].at) { return y(rows.length - 1) + ROW / 2; }
      var i = run.until(us), e = run.entries[i];
      if (us <= e.at) { return y(view.rowOf[i]); }
      var next = run.entries[i + 1], from = y(view.rowOf[i]), to = y(view.rowOf[i + 1]);
      return from + (to - from) * (us - e.at) / Math.max(1, next.at - e.at);
    }
    var s = svg('svg', { width: x.width * this.scale, height: height * this.scale, 'aria-hidden': 'true',
      viewBox: '0 0 ' + x.width + ' ' + height });

    // Two inside at the same time are seen from afar.
    rows.forEach(function (row, r) {
      var inside = run.entries[row.to].state.inside || [];
      if (inside.length > 1) {
        s.append(svg('rect', { x: 0, y: y(r) - ROW / 2, width: x.width, height: ROW,
          'class': 'overlap' }));
      }
    });
    var head = svg('svg', { width: x.width * this.scale, height: 26 * this.scale, 'class': 'names',
      viewBox: '0 0 ' + x.width + ' 26', 'aria-hidden': 'true' });
    function lane(at, name, color) {
      s.append(svg('line', { x1: at, x2: at, y1: 0, y2: height, 'class': 'lane' }));
      var title = svg('text', { x: at, y: 18, 'class': 'name',
        style: color ? 'fill:' + color : '' }, [name]);
      head.append(title);
      return title;
    }
    this.names = d.clients.map(function (name, i) {
      return lane(x.clients[i], name, run.color(name));
    });
    x.nodes.forEach(function (at, i) { if (i < d.nodes || run.storage) { lane(at, run.node(i)); } });

    // A band beside a client: it believes to hold the lock. Beside a node: whose grant the key is. The labels are
    // above the bands, and below the arrows.
    var bands = svg('g'), late = svg('g'), said = svg('g');
    function band(at, of) {
      var from = null, color = '';
      for (var r = 0; r <= rows.length; r++) {
        var now = r < rows.length ? of(run.entries[rows[r].to].state) : '';
        if (now !== color) {
          if (color) {
            bands.append(svg('line', { x1: at, x2: at, y1: from, y2: y(r) - (r < rows.length ? 0 : ROW / 2),
              'class': 'band', style: 'stroke:' + color }));
          }
          color = now;
          from = r < rows.length ? y(r) : 0;
        }
      }
    }
    d.clients.forEach(function (name, i) {
      band(x.clients[i], function (state) {
        return (state.inside || []).some(function (owner) {
          return run.clientOf(owner) === i;
        }) ? run.color(name) : '';
      });
    });
    x.nodes.forEach(function (at, i) {
      band(at, function (state) {
        var lease = (state.leases || []).find(function (l) { return l.node === i; });
        return lease ? run.color(lease.owner) : '';
      });
    });

    this.dead = run.died();
    Object.keys(this.dead).forEach(function (i) {
      s.append(svg('line', { x1: x.clients[i], x2: x.clients[i], 'class': 'dead',
        y1: y(view.rowOf[view.dead[i]]), y2: height }));
    });
    s.append(late, bands, said);

    // A label that is too long for its place goes without what matters least, such as the key, and then begins further left.
    function label(at, height, text, anchor, more, end) { // rather without the key than across the lane at its end
      var left = 78, wide = end ? 6.5 : 7, first = x.clients[0] + 8, most = Math.min(58, Math.floor((end ? Math.max(210, end - first) : x.width - left) / wide));
      var fits = Math.min(most, (end - at) / wide || most), all = SHORT.reduce(function (all, rule) {
        return all.length > fits ? all.replace(rule[0], rule[1]) : all;
      }, text);
      var arrow = all.lastIndexOf(' → '), reply = arrow < 0 ? '' : all.slice(arrow);
      var short = reply.length > most / 2 ? cut(all, most) :
        cut(all.slice(0, all.length - reply.length), most - reply.length) + reply;
      var to = end - short.length * wide;
      if (!anchor) { at = to >= first ? Math.min(at, to) : Math.max(left, Math.min(at, x.width - short.length * wide)); }
      var t = svg('text', { x: at, y: height, 'text-anchor': anchor || 'start',
        'class': 'what ' + (more || '') }, [short]);
      if (short !== text) { t.append(svg('title', {}, [text])); }
      said.append(t);
    }
    function arrow(x1, y1, x2, y2, classes) {
      var angle = Math.atan2(y2 - y1, x2 - x1) * 180 / Math.PI, into = / late/.test(classes) ? late : s;
      into.append(svg('line', { x1: x1, y1: y1, x2: x2, y2: y2, 'class': classes }), svg('path', { d: 'M0,0 L-8,-4 L-8,4 Z', 'class': 'head ' + classes,
        transform: 'translate(' + x2 + ',' + y2 + ') rotate(' + angle + ')' }));
    }
    function cross(at, height) {
      var c = svg('path', { d: 'M-5,-5 L5,5 M-5,5 L5,-5', 'class': 'lost',
        transform: 'translate(' + at + ',' + height + ')' });
      s.append(c);
      return { element: c, x: at, y: height };
    }
    // Paths are the ways of the messages: from where to where, and where one is lost.
    var paths = this.paths = [];
    rows.forEach(function (row, r) {
      var e = run.entries[row.from], here = y(r);
      function flies(x1, y1, x2, y2) {
        paths[r] = { x1: x1, y1: y1, x2: x2, y2: y2, color: run.color(run.who(e)) };
      }
      if (row.folded) {
        label(110, here + 4, '⋯ ' + (row.to - row.from + 1) + ' more like these, until ' +
          seconds(run.entries[row.to].at) + ' s', 'start', 'fold', x.nodes[0] - 8);
        return;
      }
      label(66, here + 4, run.label(row.from), 'end', 'time');
      run.learned(row.from).forEach(function (owner) {
        cross(x.clients[run.clientOf(owner)], here + 8);
        label(x.clients[run.clientOf(owner)] + 10, here + 13, owner + ' learns of its loss');
      });
      var text = e.text + (e.reply ? ' → ' + e.reply : '');
      if (e.client < 0) {
        s.append(svg('circle', { cx: x.nodes[e.node], cy: here, r: 4, 'class': 'dot' }));
        label(x.nodes[e.node] - 10, here - 6, text, 'end');
        return;
      }
      var client = x.clients[e.client], node = x.nodes[e.node];
      if (e.node < 0) {
        s.append(svg('circle', { cx: client, cy: here, r: 4, 'class': 'dot',
          style: 'fill:' + run.color(d.clients[e.client]) }));
        label(client + 10, here - 3, text, '', '', x.nodes[0] - 8);
        return;
      }
      var left = client + 8;
      if (e.inbound || e.text.indexOf('message') === 0) { // from the node
        flies(node, here, client, here);
        label(left, here - 5, text, '', '', x.nodes[0] - 8);
        arrow(node, here, client, here, 'message');
        if (e.reply === 'lost') { paths[r].lost = cross((client + node) / 2, here); }
        return;
      }
      var begin = e.at - e.sent > LATE ? when(e.sent) : here;
      flies(client, begin, node, here);
      if (e.reply.indexOf('never sent') === 0) {
        paths[r].lost = cross(client + 14, here);
        label(client + 26, here - 5, text);
        return;
      }
      label(left, here - 5, text, '', '', x.nodes[0] - 8);
      arrow(client, begin, node, here, 'message' + (e.at - e.sent > LATE ? ' late' : ''));
      if (e.back && e.back - e.at > LATE) {
        arrow(node, here, client, when(e.back), 'message late');
      } else if (!e.back || / lost|no answer| dies/.test(e.reply)) {
        paths[r].lost = cross((client + node) / 2, here);
      }
    });
    run.breaks().forEach(function (b) {
      var broken = y(view.rowOf[b.at]);
      s.append(svg('rect', { x: 2, y: broken - ROW / 2 + 1, width: x.width - 4, height: ROW - 3,
        'class': 'break' }));
      label((!d.nodes || d.nodes > 1 ? x.width : x.nodes[0]) - 12, broken + 11, '✗ ' + b.names.join(', '), 'end', 'why');
    });
    // The future is covered.
    this.cover = svg('rect', { x: 0, width: x.width, height: run.flights ? 0 : height, y: height,
      'class': 'cover' });
    this.cursor = svg('rect', { x: 0, width: 4, height: ROW, 'class': 'cursor' });
    s.append(this.cover, this.cursor);
    // What has been sent and has not arrived stands below what has happened. A click lets
    // it happen, where something can.
    function acts(group, act, name) {
      if (!act) { return group; }
      group.classList.add('acts');
      group.dataset.action = act;
      group.append(svg('title', {}, [name]));
      group.addEventListener('click', function (event) {
        event.stopPropagation();
        run.act(act);
      });
      return group;
    }
    function stop(at, height, of) { // what ends a message, or befalls a client
      var wide = of.sign ? of.sign.length * 6.5 + 14 : 20;
      at = Math.min(at, x.width - wide / 2 - 4);
      s.append(acts(svg('g', { transform: 'translate(' + at + ',' + height + ')' }, [
        svg('rect', { x: -wide / 2, y: -10, width: wide, height: 20, rx: 10, 'class': 'chip' }),
        of.sign ? svg('text', { y: 4, 'text-anchor': 'middle' }, [of.sign]) :
          svg('path', { d: 'M-4,-4 L4,4 M-4,4 L4,-4', 'class': 'lost' })]), of.act, of.name));
    }
    flights.forEach(function (f, n) {
      var here = y(rows.length + n), client = x.clients[f.client];
      var node = x.nodes[f.node];
      var half = (client + node) / 2, outside = s;
      label(66, here + 4, 'under way', 'end', 'fold');
      said = s = svg('g', {}, [svg('rect', { x: 70, y: here - ROW / 2 + 1, width: x.width - 72,
        height: ROW - 2, rx: 4, 'class': 'place' })]);
      label(client + 8, here - 5, f.text + ', sent', '', 'sent', x.nodes[0] - 8);
      arrow(f.inbound ? node : client, here, half, here, 'message open');
      outside.append(acts(s, f.act, f.name));
      said = s = outside;
      if (f.lose) { stop(x.width - 16, here, f.lose); }
    });
    stops.forEach(function (of, n) {
      var here = y(rows.length + flights.length + stacked(of, n));
      if (n === 0) { label(66, here + 4, 'or', 'end', 'fold'); }
      stop(of.client < 0 ? x.nodes[0] : x.clients[of.client], here, of);
    });
    this.drawing = s;
    this.y = y;
    s.addEventListener('click', function (event) {
      var box = s.getBoundingClientRect();
      var r = Math.floor(((event.clientY - box.top) / view.scale - top) / ROW);
      if (rows[r]) { view.chosen(view, rows[r]); }
    });
    this.lanes.style.setProperty('--shape', x.width / height);
    this.lanes.replaceChildren(head, s);
  };

  // fly shows an entry that was just stepped to: its message flies, and what is lost breaks.
  View.prototype.fly = function (i) {
    var p = this.paths[this.rowOf[i]], s = this.drawing;
    if (!p || still.matches) { return; }
    function at(x, y, more) {
      return 'translate(' + x + 'px,' + y + 'px)' + (more || '');
    }
    var end = p.lost || { x: p.x2, y: p.y2 };
    var dot = svg('circle', { r: 6, 'class': 'flying', style: 'fill:' + p.color });
    s.append(dot);
    move(dot, { transform: at(p.x1, p.y1) }, { transform: at(end.x, end.y) }, function () {
      dot.remove();
      if (!p.lost) { return; }
      move(end.element, { transform: at(end.x, end.y, ' scale(3)') },
        { transform: at(end.x, end.y) });
      [-16, 16].forEach(function (aside) {
        var piece = svg('circle', { r: 3, 'class': 'flying', style: 'fill:' + p.color });
        s.append(piece);
        move(piece, { transform: at(end.x, end.y), opacity: 1 },
          { transform: at(end.x + aside, end.y + 14), opacity: 0 },
          function () { piece.remove(); });
      });
    });
  };

  // Board shows the files of a lock, one at a time, with the lines at which clients are:
  // all clients, or only one.
  function Board(sources, color, client) {
    var board = this, files = Object.keys(sources);
    this.sources = sources;
    this.client = client;
    this.tabs = {};
    this.head = html('p', { 'class': 'doing', style: color ? 'color:' + color : '' });
    this.bar = html('div', { 'class': 'tabs' });
    this.pane = html('div', { 'class': 'pane', tabindex: '0', role: 'group' });
    this.element = html('div', { 'class': 'board' }, [html('div', { 'class': 'top' },
      [this.head, this.bar])]);
    if (files.length === 0) { return; }
    files.forEach(function (file) {
      var name = file.slice(file.lastIndexOf('/') + 1);
      if (!files[1]) { board.bar.append(html('span', {}, [name])); return; }
      var tab = board.tabs[file] = html('button', { type: 'button' }, [name]);
      tab.addEventListener('click', function () { board.open(file); });
      board.bar.append(tab);
    });
    this.element.append(this.pane);
    this.open(files[0]);
  }
  Board.prototype.open = function (file) {
    var board = this, list = html('ol', {});
    if (this.file === file) { return; }
    this.file = file;
    list.innerHTML = this.sources[file].map(function (line) {
      return '<li><code>' + (line || ' ') + '</code></li>';
    }).join('');
    this.pane.replaceChildren(list);
    this.pane.setAttribute('aria-label', file);
    Object.keys(this.tabs).forEach(function (name) {
      board.tabs[name].setAttribute('aria-pressed', String(name === file));
    });
    this.draw();
  };
  // line is the element of a line such as "gold/lock.go:45", if its file is open.
  Board.prototype.line = function (name) {
    var colon = name.lastIndexOf(':');
    return name.slice(0, colon) !== this.file ? null :
      this.pane.querySelectorAll('li')[Number(name.slice(colon + 1)) - 1];
  };
  // mark shows clients at their lines, and opens the file of the first one.
  Board.prototype.mark = function (marks) {
    var first = marks.find(function (m) { return this.has(m.line); }, this);
    this.marks = marks;
    if (!first) { this.draw(); return; }
    this.show(first.line);
  };
  Board.prototype.has = function (line) {
    return line.slice(0, line.lastIndexOf(':')) in this.sources;
  };
  Board.prototype.draw = function () {
    var board = this;
    this.pane.querySelectorAll('.here').forEach(function (m) { m.remove(); });
    this.pane.querySelectorAll('li.now').forEach(function (li) {
      li.classList.remove('now');
    });
    (this.marks || []).forEach(function (m) {
      var li = board.line(m.line);
      if (!li) { return; }
      var here = li.querySelector('.here');
      if (!here) { li.prepend(here = html('span', { 'class': 'here' })); }
      here.append(html('b', { style: 'background:' + m.color, title: m.why || '' }, [m.name]));
      if (m.now) { li.classList.add('now'); }
    });
  };
  // show goes to a line.
  Board.prototype.show = function (line) {
    if (!this.has(line)) { return null; }
    this.file = this.file === line.slice(0, line.lastIndexOf(':')) ? this.file : null;
    if (this.file) { this.draw(); } else { this.open(line.slice(0, line.lastIndexOf(':'))); }
    var li = this.line(line);
    if (li) { this.pane.scrollTop = li.offsetTop - this.pane.clientHeight / 3; }
    return li;
  };

  // show goes to an entry, or to the end of the fold that it is in.
  View.prototype.show = function (i, exactly) {
    this.at = i;
    var r = this.rowOf[i], row = this.rows[r];
    if (row.folded && !exactly) { this.at = i = row.to; }
    this.cover.setAttribute('y', this.y(r) + ROW / 2 - 1);
    this.cursor.setAttribute('y', this.y(r) - ROW / 2);
    this.sight();
    var view = this;
    this.names.forEach(function (name, client) {
      name.classList.toggle('dead', view.dead[client] <= i);
    });
    this.state(this.run.entries[i]);
    this.mark(i);
  };
  // sight scrolls to the row that is shown, below a whole one.
  View.prototype.sight = function () {
    var y = this.y(this.rowOf[this.at]) * this.scale, tall = ROW * this.scale, first = this.y(0) * this.scale - tall / 2;
    var top = y + this.below * this.scale - this.lanes.clientHeight + 1.3 * tall;
    if (this.lanes.scrollTop < top || this.lanes.scrollTop > y - 2 * tall) {
      var most = Math.min(y - this.lanes.clientHeight * 0.6, this.lanes.scrollHeight - this.lanes.clientHeight);
      this.lanes.scrollTop = Math.max(0, Math.ceil((top - first) / tall), Math.floor((most - first) / tall)) * tall + first;
    }
  };
  View.prototype.state = function (e) {
    var run = this.run, s = e.state, rows = [];
    function fact(name, children, classes) {
      rows.push(html('div', { 'class': 'fact ' + (classes || '') },
        [html('span', { 'class': 'label' }, [name])].concat(children)));
    }
    function owner(name) {
      return html('b', { style: 'color:' + run.color(name) }, [name]);
    }
    for (var n = 0; n < run.data.nodes; n++) {
      var lease = (s.leases || []).find(function (l) { return l.node === n; });
      var left = !lease ? 0 : lease.ends ? Math.max(0, lease.ends - e.at) : Infinity;
      var color = lease ? run.color(lease.owner) : 'var(--faint)';
      fact(run.node(n), [lease ? owner(lease.owner) : 'no key',
        html('span', { 'class': 'value' }, [lease ? cut(lease.value, 28) : '']),
        this.bar(n, left, color), html('span', { 'class': 'left' }, [!lease ? '' :
          lease.ends ? (left / 1e6).toFixed(1) + ' s left' : 'no expiry'])], 'node');
    }
    var inside = s.inside || [];
    fact('believe they hold it', inside.length === 0 ? ['nobody'] :
      inside.map(function (name) { return owner(name); }),
      inside.length > 1 ? 'wrong' : '');
    if (s.value !== undefined) {
      fact('storage', [(this.apart ? 'sales so far: ' : '') + String(s.value) + (s.token ? ', fencing token ' + s.token : '')]);
    }
    this.facts.replaceChildren.apply(this.facts, rows);
  };
  // bar is what is left of a node's lease. It burns down from what was left before. What has
  // no lease has no bar.
  View.prototype.bar = function (n, left, color) {
    if (left === Infinity || this.longest() === 1) { return ''; }
    var before = this.bars[n] || 0, now = Math.min(100, left / this.longest() * 100);
    var inner = html('i', { style: 'width:' + now + '%;background:' + color });
    this.bars[n] = now;
    if (before > now) { move(inner, { width: before + '%' }, { width: now + '%' }); }
    return html('span', { 'class': 'lease', title: 'what is left of the lease' }, [inner]);
  };
  // longest is the longest lease of the run: the bar's full width.
  View.prototype.longest = function () {
    if (!this.full) {
      this.full = this.run.entries.reduce(function (most, e) {
        return (e.state.leases || []).reduce(function (most, l) {
          return Math.max(most, (l.ends || 0) - e.at);
        }, most);
      }, 1);
    }
    return this.full;
  };
  // mark shows at which line each client is: that of the newest entry first.
  View.prototype.mark = function (i) {
    var run = this.run, acted = run.entries[i].client;
    var marks = run.where(i).map(function (w) {
      var name = run.data.clients[w.client];
      return { client: w.client, line: w.line, now: w.now, why: w.why, name: name,
        color: run.color(name) };
    });
    this.boards.forEach(function (board) {
      board.mark(marks.filter(function (m) {
        return board.client < 0 || m.client === board.client;
      }).sort(function (a, b) { return (b.client === acted) - (a.client === acted); }));
      for (var k = board.marks.length || board.client < 0 ? -1 : i; k >= 0; k--) { // it waits for nothing now
        if (run.entries[k].client !== board.client || !board.show(run.entries[k].line)) { continue; }
        break;
      }
      if (board.client < 0 && !board.marks.length && !run.waits) { // no line was reached yet: the first that will be
        var first = run.entries.find(function (e) { return e.line && board.has(e.line); });
        if (first) { board.show(first.line); }
      }
      board.head.textContent = run.does ? run.does[board.client] : '';
    });
  };

  // Player is the controls above one view or two.
  function Player(element, nth) {
    var runs = {}, sources = {}, player = this;
    element.querySelectorAll('script.run').forEach(function (script) {
      var data = JSON.parse(script.textContent);
      runs[data.lock] = new Run(data);
    });
    element.querySelectorAll('script.sources').forEach(function (script) {
      Object.assign(sources, JSON.parse(script.textContent));
    });
    this.sources = sources;
    this.runs = runs;
    this.nth = nth === 0 ? '' : String(nth + 1); // ends its keys in the address
    this.key = 't' + this.nth;
    this.element = element;
    this.all = false;
    this.known = !!element.closest('.laboratory'); // a page says what the run ends with
    this.answered = false; // or the run was seen
    this.seen = 0; // the last entry that was
    this.timer = null;
    this.past = 0; // rows of the run beside it after the main run's end
    var main = this.main = this.view(runs[element.dataset.lock]);
    this.build(main.run.data);
    this.views.append(main.element);
    element.append(this.panel);
    element.classList.add('playing');
    main.layout(false);
    this.read(new URLSearchParams(location.hash.slice(1)));
    element.addEventListener('keydown', function (e) { player.press(e); });
  }
  // read takes the moment from an address, and what is shown beside it.
  Player.prototype.read = function (hash) {
    this.all = this.every.checked = hash.has('all' + this.nth);
    if (this.compared) {
      this.compared.value = hash.get('beside' + this.nth) || '';
      this.compare(true);
    }
    this.main.layout(this.all);
    this.go(Number(hash.get(this.key)) || 0, true);
  };
  // address is this moment's.
  Player.prototype.address = function () {
    var hash = new URLSearchParams(location.hash.indexOf('=') > 0 ?
      location.hash.slice(1) : '');
    hash.set(this.key, String(this.at()));
    hash.delete('all' + this.nth);
    hash.delete('beside' + this.nth);
    if (this.all) { hash.set('all' + this.nth, '1'); }
    if (this.other) { hash.set('beside' + this.nth, this.compared.value); }
    return '#' + hash;
  };
  Player.prototype.view = function (run) {
    var player = this, prefix = run.data.lock + '/', own = {};
    Object.keys(this.sources).forEach(function (file) {
      if (file.indexOf(prefix) === 0 && file.slice(prefix.length).indexOf('/') < 0) {
        own[file] = player.sources[file];
      }
    });
    // A reader's own lock has its code with it, and that is of other directories.
    if (Object.keys(own).length === 0) { own = this.sources; }
    return new View(run, own, function (view, row) {
      if (!player.answered && row.from > view.at) {
        player.step(1); // it is not shown yet
      } else if (row.folded) {
        player.expand(true, row.from);
      } else if (view === player.main) {
        player.go(row.from);
      }
    });
  };
  Player.prototype.build = function (d) {
    var player = this;
    function button(text, name, act) {
      var b = html('button', { type: 'button', title: name, 'aria-label': name }, [text]);
      b.addEventListener('click', act);
      return b;
    }
    this.playing = button('▶ play', 'play or pause', function () { player.toggle(); });
    this.slider = html('input', { type: 'range', min: '0', step: '1',
      'aria-label': 'row of the run' });
    this.slider.addEventListener('input', function () {
      var at = Number(player.slider.value), past = at - player.main.rows.length + 1;
      player.go(past > 0 ? player.main.run.last + past : player.main.rows[at].to);
    });
    this.speed = html('select', { 'aria-label': 'speed' }, [['slow', '2'],
      ['normal', '1'], ['fast', '0.4']].map(function (s) {
      return html('option', { value: s[1] }, [s[0]]);
    }));
    this.speed.value = '1';
    this.every = html('input', { type: 'checkbox' });
    this.every.addEventListener('change', function () {
      player.expand(player.every.checked, player.main.at);
    });
    this.status = html('p', { 'class': 'status', 'aria-live': 'polite' });
    this.question = html('div', { 'class': 'question', role: 'group', 'aria-label': 'What happens next?' });
    var first = this.main.run.questions()[0];
    if (first && first.at && !this.known) { this.ask(first); } else { this.question.hidden = true; }
    this.views = html('div', { 'class': 'views' });
    var others = Object.keys(this.runs).filter(function (name) { return name !== d.lock; });
    var compare = '';
    if (others.length > 0) {
      this.compared = html('select', { 'aria-label': 'show another lock beside it' },
        [html('option', { value: '' }, ['nothing'])].concat(others.map(function (name) {
          return html('option', { value: name }, [name + ' (' +
            player.runs[name].data.verdict + ')']);
        })));
      this.compared.addEventListener('change', function () { player.compare(); });
      compare = html('label', {}, ['beside it ', this.compared]);
    }
    var whatIf = '';
    if (this.element.dataset.laboratory) {
      whatIf = html('a', { 'class': 'what-if', href: this.element.dataset.laboratory +
        '#' + new URLSearchParams({ rung: d.lock, scenario: d.scenario,
          invariant: d.invariant }) }, ['change it: what if …?']);
    }
    this.panel = html('div', { 'class': 'panel', role: 'group',
      'aria-label': 'player of the run ' + d.lock + ', ' + d.scenario }, [
      html('p', { 'class': 'summary' }, slides ? [d.summary.replace(/ \([^)]*\)/g, '')] : [html('b', {}, [d.scenario]), ': ' + d.summary]),
      html('div', { 'class': 'controls' }, [
        button('|◀', 'to the beginning', function () { player.go(0); }),
        button('◀ back', 'one step back', function () { player.step(-1); }),
        this.playing,
        button('step ▶', 'one step on', function () { player.step(1); }),
        button('▶|', 'to the end', function () { player.go(player.last()); player.sight(); }),
        this.slider]),
      html('div', { 'class': 'controls' }, [html('label', {}, ['speed ', this.speed]),
        html('label', {}, [this.every, ' every attempt']), compare, whatIf,
        linker(function () {
          return location.href.replace(/#.*/, '') + player.address();
        })]),
      html('div', { 'class': 'moment' }, [this.status, this.question]), this.views]);
  };
  // ask writes the question before a break: what happens next, which other locks do then,
  // or what happened before. It is asked in the place of the status.
  Player.prototype.ask = function (b) {
    var player = this, run = this.main.run, at = b.at, answers = [], question = this.question;
    function add(text) {
      if (answers.length < 3 && answers.indexOf(text) < 0) { answers.push(text); }
    }
    if (question.dataset.at === String(at)) { return; }
    question.dataset.at = at;
    add(run.what(at));
    Object.keys(this.runs).forEach(function (name) {
      var other = player.runs[name], next = other.until(run.entries[at - 1].at) + 1;
      if (next <= other.last) { add(other.what(next)); }
    });
    for (var i = at - 1; i >= 0; i--) { add(run.what(i)); }
    add('nothing more: ' + b.names[0] + ' can\'t happen');
    question.replaceChildren(html('b', {}, ['What happens next?']), html('ol', {}, answers.sort().map(function (text) {
      var b = html('button', { type: 'button', title: text }, [text]);
      b.addEventListener('click', function () {
        player.step(1);
        player.status.prepend(html('b', {}, [text === run.what(at) ? 'Right. ' : 'No, this happens: ']));
        player.main.lanes.focus({ preventScroll: true }); // the buttons are gone
      });
      return html('li', {}, [b]);
    })));
    this.right = String(answers.indexOf(run.what(at)) + 1);
  };
  Player.prototype.compare = function (quiet) {
    if (this.other) { this.other.element.remove(); }
    this.other = null;
    var name = this.compared.value;
    this.views.classList.toggle('two', !!name);
    if (name) {
      this.other = this.view(this.runs[name]);
      this.views.append(this.other.element);
      this.other.layout(this.all);
    }
    this.main.layout(this.all); // there is more room for it, or less
    this.go(this.main.at, quiet);
    if (name && !quiet) { this.reveal(); }
  };
  // sight scrolls down to the row that is shown, and to all of the picture as long as the
  // buttons stay in sight.
  Player.prototype.sight = function () {
    if (document.documentElement.hasAttribute('data-slide')) { return; }
    var lanes = this.main.lanes.getBoundingClientRect(), row = this.main.cursor.getBoundingClientRect();
    var room = this.slider.parentNode.getBoundingClientRect().top - 4;
    window.scrollBy(0, Math.max(0, row.bottom + 8 - innerHeight, Math.min(room, lanes.bottom + 8 - innerHeight)));
  };
  // reveal scrolls a phone to where both runs are in sight.
  Player.prototype.reveal = function () {
    if (window.innerWidth <= 640) { this.slider.parentNode.scrollIntoView(); }
  };
  Player.prototype.expand = function (all, at) {
    this.all = this.every.checked = all;
    this.main.layout(all);
    if (this.other) { this.other.layout(all); }
    this.go(at);
  };
  // last is the last moment: the main run's last entry, and then the rows in which a run
  // beside it goes on.
  Player.prototype.last = function () {
    var run = this.main.run, other = this.other;
    return run.last + (other ? other.rows.length - 1 -
      other.rowOf[other.run.until(run.entries[run.last].at)] : 0);
  };
  // at is the moment that is shown.
  Player.prototype.at = function () { return this.main.at + this.past; };
  // go shows an entry of the main run, and of the other what had happened by then.
  Player.prototype.go = function (i, quiet) {
    var run = this.main.run;
    i = Math.max(0, Math.min(this.last(), Math.floor(i)));
    this.past = Math.max(0, i - run.last);
    i -= this.past;
    var before = this.main.rowOf[this.main.at];
    this.main.show(i);
    i = this.main.at;
    if (this.main.rowOf[i] === before + 1) { this.main.fly(i); }
    var other = this.other, shown = this.main; // whose entry is said
    if (other) {
      var k = other.run.until(run.entries[i].at);
      if (this.past) { k = other.rows[other.rowOf[k] + this.past].to; shown = other; }
      other.show(k, true);
      this.differ(other);
    }
    var said = shown.run, e = said.entries[shown.at];
    this.slider.max = String(this.main.rows.length - 1 + this.last() - run.last);
    this.slider.value = String(this.main.rowOf[i] + this.past);
    this.slider.setAttribute('aria-valuetext', seconds(e.at) + ' s');
    this.status.textContent = (this.past ? said.data.lock + ' goes on: ' : '') + said.says(shown.at);
    said.learned(shown.at).forEach(function (owner) {
      this.append(' ', 'By now ' + owner + ' has been told that it has lost the lock.');
    }, this.status);
    said.breaks().filter(function (b) { return b.at === shown.at; }).forEach(function (b) {
      this.append(' ', html('strong', { 'class': 'broken' }, ['✗ ' + b.names[0] + ': ' + b.event]));
    }, this.status);
    this.seen = i && Math.max(this.seen, i); // at the beginning all is asked again
    this.answered = this.known ||
      i > 0 && (this.answered || i === run.last || i === run.data.broken);
    this.element.classList.toggle('answered', this.answered);
    this.question.classList.toggle('asked', this.asked());
    this.status.classList.toggle('told', slides && said.breaks().some(function (b) { return b.at === shown.at; })); // the right answer
    this.status.dataset.right = this.question.dataset.at === String(shown.at) ? this.right : '';
    this.element.dataset.at = String(this.at());
    this.element.dispatchEvent(new CustomEvent('step', { detail: i, bubbles: true }));
    if (!quiet) { history.replaceState(history.state, '', this.address()); }
  };
  // differ marks what the nodes and the clients of two runs have that is not the same.
  Player.prototype.differ = function (other) {
    var here = Array.from(this.main.facts.children), there = Array.from(other.facts.children);
    function says(row) { // but for the values and the rest of the lease
      return Array.from(row.childNodes).filter(function (n) { return n.className !== 'value'; })
        .map(function (n) { return n.textContent.replace(/^\d.* left$/, ''); }).join();
    }
    here.forEach(function (row) {
      var name = row.firstChild.textContent;
      there.forEach(function (its) {
        if (its.firstChild.textContent !== name || says(its) === says(row)) { return; }
        row.classList.add('differs');
        its.classList.add('differs');
      });
    });
  };
  // asked says whether the next step breaks something, and nobody has answered yet; then the question is written.
  Player.prototype.asked = function () {
    var next = this.next(1), b = !this.answered && this.main.at < next && this.main.run.questions().find(function (b) { return b.at === next; });
    if (b && this.seen < next) { this.ask(b); }
    return !!b && this.seen < next;
  };
  // next is the entry that a step leads to.
  Player.prototype.next = function (by) {
    var row = this.main.rows[this.main.rowOf[this.main.at] + by];
    return this.past || !row ? Math.max(0, this.at() + by) : by > 0 ? row.to : row.from;
  };
  Player.prototype.step = function (by) { this.stop(); this.go(this.next(by)); this.sight(); };
  Player.prototype.toggle = function () {
    if (this.timer) { this.stop(); return; }
    if (this.at() === this.last()) { this.go(0); }
    this.playing.textContent = '❚❚ pause';
    if (this.asked() || this.status.matches('.told')) { this.go(this.next(1)); }
    this.sight();
    this.tick();
  };
  Player.prototype.tick = function () {
    var player = this;
    this.timer = setTimeout(function () {
      if (player.at() === player.last() || player.asked() || player.status.matches('.told')) {
        player.stop(); // before the break a learner is asked, and on slides sees it
        return;
      }
      player.go(player.next(1));
      player.tick();
    }, 900 * Number(this.speed.value));
  };
  // turn is a clicker's: it plays a run to its next stop or, while it plays, jumps there. Back, it jumps to the stop
  // before, from which all is asked again. Stops are the questions before the breaks, the breaks, and both ends. Where
  // there is none, it returns false.
  Player.prototype.turn = function (by) {
    var at = this.at(), to = [0].concat(this.main.run.breaks().flatMap(function (b) { return [Math.max(0, b.at - 1), b.at]; }), this.last())[by < 0 ?
      'findLast' : 'find'](function (stop) { return (stop - at) * by > 0; });
    if (to === undefined) { return false; }
    if (by > 0 && !this.timer) { this.toggle(); return true; }
    this.stop();
    if (by < 0) { this.seen = to; this.answered = false; }
    this.go(to);
    return true;
  };
  Player.prototype.stop = function () {
    clearTimeout(this.timer);
    this.timer = null;
    this.playing.textContent = '▶ play';
  };
  Player.prototype.press = function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey) { return; }
    var typing = /^(INPUT|SELECT)$/.test(e.target.tagName);
    var act = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 }[e.key];
    var page = /^Page/.test(e.key), at = this.at();
    if (slides && (page || e.key === '.')) { return; } // a clicker's, whatever was clicked
    if (e.target.tagName === 'BUTTON' && e.key === ' ') { return; }
    if (typing && e.target.type !== 'checkbox' && !(page && e.target.type === 'range')) {
      e.stopPropagation();
      return;
    }
    if ((page || slides) && act && at === (act > 0 ? this.last() : 0)) { return; } // the page's turn
    var option = this.asked() && this.question.querySelectorAll('button')[e.key - 1];
    if (option) { option.click(); }
    else if (act) { this.step(act); }
    else if (e.key === ' ' || e.key === '.') { this.toggle(); }
    else if (e.key === 'Home') { this.stop(); this.go(0); }
    else if (e.key === 'End') { this.stop(); this.go(this.last()); this.sight(); }
    else { return; }
    e.preventDefault();
    e.stopPropagation(); // the page's own keys turn pages
  };

  window.lockladder = Object.assign(window.lockladder || {},
    { Run: Run, View: View, Player: Player, html: html, seconds: seconds, linker: linker });

  var players = Array.prototype.map.call(document.querySelectorAll('.player'),
    function (element, nth) { return new Player(element, nth); });
  window.addEventListener('beforeprint', function () { // paper shows attempts folded
    players.forEach(function (p) { if (p.all) { p.expand(false, p.main.at); } });
  });
  // named is the player of a moment that the address names: there the page is scrolled to.
  function named() {
    var hash = new URLSearchParams(location.hash.slice(1));
    return players.find(function (p) { return hash.has(p.key); });
  }
  function reveal() {
    if (named()) { named().element.scrollIntoView(); }
  }
  window.addEventListener('load', reveal);
  window.addEventListener('hashchange', function () {
    var hash = new URLSearchParams(location.hash.slice(1));
    players.forEach(function (p) { if (hash.has(p.key)) { p.read(hash); } });
    reveal();
  });
  lockladder.players = players;
  document.documentElement.dataset.players = String(players.length);
})();
