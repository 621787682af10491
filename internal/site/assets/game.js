// The game: the reader is the scheduler. A level is the state graph that the explorer
// has walked with a lock's real code; see package recording. An action leads from one state
// to the next, and what it breaks is known of the action, not of the state.
//
// It is mounted on every element with data-level, which has three scripts of JSON in it:
// the graph, the levels and the sources; (*Site).game writes one. data-level names the
// invariant, such as "orphaned"; if it is empty, the address has the level and the schedule.
// With data-small it is a part of a page: picture, choices, and where there is room the
// code; the page says what is asked, and the address stays the page's.
(function () {
  'use strict';
  var html = lockladder.html, seconds = lockladder.seconds;
  var games = 0; // on this page
  var STORE = 'lockladder levels';   // the levels that were done
  var PICK = 'Keys 1 to 9 pick. Page Down: one step of a solution.';
  var PLAYED = 'lockladder schedule'; // what a lock did in the schedule that another one gets
  var MEANS = {
    'orphaned': 'nobody is left who frees the lock, and no lease ends it',
    'foreign release': 'a client frees a lock that is the other one\'s',
    'foreign renewal': 'a client extends a lease that is the other one\'s',
    'two holders': 'both believe that they hold the lock',
    'lost update': 'a write to the storage disappears',
    'self-deadlock': 'a client waits for its own lock',
    'stale write': 'a write is accepted after a later holder has used the storage'
  };

  function Game(element) {
    var game = this;
    this.element = element;
    this.graph = JSON.parse(element.querySelector('script.graph').textContent);
    this.levels = JSON.parse(element.querySelector('script.levels').textContent);
    this.sources = JSON.parse(element.querySelector('script.sources').textContent);
    this.methods = methods(this.sources);
    this.near = {};
    this.own = 'own' in element.dataset; // a reader's lock, which is not on the ladder
    this.small = 'small' in element.dataset;
    this.done = {};
    this.build();
    this.read();
    if (!this.small) {
      window.addEventListener('hashchange', function () {
        var was = game.level + game.before;
        game.read();
        if (was !== game.level + game.before) { window.scrollTo(0, 0); }
      });
    }
    document.documentElement.dataset.players = '1';
  }

  // edges are the actions that are possible in a state.
  Game.prototype.edges = function (state) {
    var flat = this.graph.edges[state], list = [];
    for (var i = 0; i < flat.length; i += 3) {
      list.push({ action: this.graph.texts[flat[i]], to: flat[i + 1], mask: flat[i + 2] });
    }
    return list;
  };
  Game.prototype.broken = function (mask) {
    return this.graph.goals.filter(function (g, i) { return mask & (1 << i); })
      .map(function (g) { return g.invariant; });
  };
  // distances say of each state how many actions the nearest break is away; -1: no
  // schedule from there breaks any of these goals.
  Game.prototype.distances = function (mask) {
    if (this.near[mask]) { return this.near[mask]; }
    var edges = this.graph.edges, count = edges.length;
    var far = new Int32Array(count).fill(-1), before = [], queue = [];
    for (var s = 0; s < count; s++) { before.push([]); }
    for (s = 0; s < count; s++) {
      for (var i = 0; i < edges[s].length; i += 3) {
        before[edges[s][i + 1]].push(s);
        if (edges[s][i + 2] & mask && far[s] < 0) { far[s] = 1; queue.push(s); }
      }
    }
    for (var q = 0; q < queue.length; q++) {
      before[queue[q]].forEach(function (from) {
        if (far[from] < 0) { far[from] = far[queue[q]] + 1; queue.push(from); }
      });
    }
    return this.near[mask] = far;
  };

  // ways are what is under way in a state.
  Game.prototype.ways = function (state) {
    var g = this.graph, s = g.states[state], list = [];
    for (var i = 2 + g.clients.length; i < s.length; i += 6) {
      list.push({ nth: list.length, client: s[i], node: s[i + 1], sign: g.texts[s[i + 2]],
        text: g.texts[s[i + 3]], reply: g.texts[s[i + 4]], line: g.texts[s[i + 5]] });
    }
    return list;
  };
  Game.prototype.does = function (state, client) {
    return this.graph.texts[this.graph.states[state][2 + client]];
  };
  // waits are the lines of the lock's code at which the clients wait.
  Game.prototype.waits = function (state) {
    var game = this, list = [];
    this.graph.clients.forEach(function (name, i) {
      var all = game.does(state, i), does = all.replace('is stopped: ', '');
      var call = game.calls(i, does), at = { reads: ' the storage', writes: ' to the storage' };
      var sent = game.ways(state).filter(function (w) {
        return w.client === i && /[><]/.test(w.sign) && w.line && does !== 'is dead';
      }).map(function (w) { return w.line; });
      sent.forEach(function (line, n) {
        if (sent.indexOf(line) === n) {
          list.push({ client: i, line: line, now: true, why: name + ' waits for the reply' });
        }
      });
      // A renewal that is under way says nothing of the work besides.
      if (call && (sent.length === 0 || call !== does)) {
        list.push({ client: i, line: game.methods[call], why: name + ' ' + (call === does ?
          'is in ' + call : all + (at[does] || '') + '; its next call is ' + call) });
      }
    });
    return list.filter(function (w) { return w.line; });
  };
  // calls is the method that a client is inside of, or else the one that it calls next.
  Game.prototype.calls = function (client, does) {
    var program = this.graph.program, last = this.graph.clients.length - 1;
    var reader = program === 'read' ? client < last :
      program === 'downgrade' && client === 0 && does === 'reads';
    if (does === 'waits for the lock') { return reader ? 'TryRLock' : 'TryLock'; }
    return /^(reads|writes)$/.test(does) ? (reader ? 'RUnlock' : 'Unlock') : does;
  };
  // methods are the lines at which the lock's methods begin.
  function methods(sources) {
    var found = {};
    Object.keys(sources).forEach(function (file) {
      sources[file].forEach(function (line, n) {
        var m = /^func \([^)]*\) (\w+)\(/.exec(line.replace(/<[^>]*>/g, ''));
        if (m && !found[m[1]]) { found[m[1]] = file + ':' + (n + 1); }
      });
    });
    return found;
  }
  Game.prototype.clock = function (state) { return this.graph.states[state][0] * 1000; };
  Game.prototype.node = function (n) {
    return this.graph.nodes > 1 ? 'node ' + (n + 1) : 'Redis';
  };

  // flights are the same for the lanes, and what is asked of the storage. Each has the
  // action that lets it arrive, and the one that loses it.
  Game.prototype.flights = function (state) {
    var game = this, list = this.ways(state).map(function (w) {
      var reply = w.sign === '<';
      return { client: w.client, node: w.node, inbound: reply || w.sign === '~',
        text: reply ? 'reply ' + w.reply + ' to ' + w.text : w.text };
    });
    this.offers(state).forEach(function (e) {
      var name = game.offer(state, e.action, e.mask);
      if ('><~?'.indexOf(e.action[1]) >= 0) {
        Object.assign(list[game.way(state, e.action).nth], { act: e.action, name: name });
      } else if ('!/-'.indexOf(e.action[1]) >= 0) {
        list[game.way(state, e.action).nth].lose = { act: e.action, name: name };
      } else if (e.action[1] === '=') {
        list.push({ client: e.action.charCodeAt(0) - 65, node: game.graph.nodes, act: e.action, name: name,
          text: game.asks(e.mask) + (game.asks(e.mask) === 'writes' ? ' to' : '') +
            ' the storage' });
      }
    });
    return list;
  };
  // stops are the actions that befall a client, or all.
  Game.prototype.stops = function (state) {
    var game = this, says = { x: '✕ crash', z: 'stop', w: 'go on', g: 'give up' };
    return this.offers(state).filter(function (e) {
      return !e.action[1] || says[e.action[1]];
    }).map(function (e) {
      return { client: e.action[1] ? e.action.charCodeAt(0) - 65 : -1, act: e.action,
        name: game.offer(state, e.action, e.mask),
        sign: says[e.action[1]] || (e.action === 'E' ? 'lease ends' : 'time passes') };
    });
  };

  // way is what an action lets arrive.
  Game.prototype.way = function (state, action) {
    var sign = { '!': '<', '/': '~', '-': '~' }[action[1]] || action[1];
    var m = /^(\d*)(?:\.(\d+))?$/.exec(action.slice(2)), client = action.charCodeAt(0) - 65;
    var node = m[1] ? Number(m[1]) - 1 : 0, nth = m[2] ? Number(m[2]) : 1;
    return this.ways(state).filter(function (w) {
      return w.client === client && w.node === node && w.sign === sign;
    })[nth - 1];
  };
  // asks says what a request to the storage does: its client may be dead by now, or do
  // something else.
  Game.prototype.asks = function (mask) {
    return mask & (1 << this.graph.goals.length) ? 'reads' : 'writes';
  };
  // stored is a request to the storage with its value, or that the storage refused it.
  Game.prototype.stored = function (to, mask) {
    var does = this.asks(mask), value = this.world(to).value;
    if (mask & (4 << this.graph.goals.length)) { return does + ', and the storage refuses it'; }
    return does + ' ' + (value === undefined ? 'the storage' : value);
  };
  // entry is what an action does, as the player shows it.
  Game.prototype.entry = function (from, action, to, mask) {
    var at = this.clock(to), e = { at: at, client: -1, node: 0, text: '', reply: '',
      sent: at, back: at + 1, line: '', state: this.world(to) };
    if (action === 'E' || action === 'R') {
      e.text = action === 'E' ? 'the lease ends' : 'the clock moves to ' + seconds(at);
      return e;
    }
    e.client = action.charCodeAt(0) - 65;
    var w = '><~!?/-'.indexOf(action[1]) >= 0 ? this.way(from, action) : null;
    if (w) {
      e.node = w.node;
      e.text = w.text;
      e.line = w.line;
    } else {
      e.node = -1;
    }
    switch (action[1]) {
    case '>': case '?':
      var answer = this.ways(to).find(function (v) {
        return v.client === w.client && v.node === w.node && v.sign === '<' &&
          v.text === w.text;
      });
      e.reply = answer ? answer.reply : '';
      break;
    case '<': e.inbound = true; e.text = 'reply ' + w.reply + ' to ' + w.text; break;
    case '~': e.inbound = true; break;
    case '!': e.reply = w.reply + ', which is lost'; break;
    case '/': case '-': e.inbound = true; e.reply = 'lost'; break;
    case '=': e.text = this.stored(to, mask); e.node = this.graph.nodes; break;
    case 'x': e.text = 'dies'; break;
    case 'z': e.text = 'its process stops'; break;
    case 'w': e.text = 'its process goes on'; break;
    case 'g': e.text = 'its context ends'; break;
    }
    return e;
  };
  Game.prototype.world = function (state) {
    return this.graph.worlds[this.graph.states[state][1]];
  };
  // word is a command's name, or a script's. The picture has the arguments.
  function word(text) {
    return text.replace(/^EVAL(?:SHA)? (?=\S+\.lua\b)/, '').split(' ')[0] + (/^SET .* NX$/.test(text) ? ' NX' : '');
  }
  // offer is what a button says of an action.
  Game.prototype.offer = function (state, action, mask) {
    var name = action[0], client = action.charCodeAt(0) - 65, w, text, sent;
    if (action === 'E') { return 'the lease ends'; }
    if (action === 'R') { return 'time passes until a timer is due'; }
    if ('><~!?/-'.indexOf(action[1]) >= 0) {
      w = this.way(state, action);
      text = word(w.text);
    }
    switch (action[1]) {
    case '>': return name + '\'s ' + text + ' arrives at ' + this.node(w.node);
    case '?': return name + '\'s ' + text + ' arrives late';
    case '<': return 'the reply ' + w.reply + ' to its ' + text + ' arrives at ' + name;
    case '~': return w.text + ' arrives at ' + name;
    case '!': return 'the reply to ' + name + '\'s ' + text + ' is lost';
    case '/': case '-': return w.text + ' to ' + name + ' is lost';
    case '=': return name + (this.does(state, client) === this.asks(mask) ? ' ' :
      '\'s request, sent before, ') + this.asks(mask) +
      (this.asks(mask) === 'writes' ? ' to' : '') + ' the storage';
    case 'x':
      if (this.small) { return name + ' crashes'; }
      sent = this.ways(state).find(function (f) {
        return f.client === client && f.sign !== '<' && f.sign !== '~';
      });
      return name + ' crashes' + (sent ? ', after it has sent its ' +
        word(sent.text) : '');
    case 'z': return name + '\'s process stops, until you wake it';
    case 'w': return name + '\'s process goes on';
    case 'g': return 'the context of ' + name + '\'s Lock ends';
    }
    return action;
  };

  // order has a choice stand where the same kind of choice stood before: by client,
  // then by kind, and last what befalls all. After a win nothing is left to choose.
  function order(action) {
    return action.length < 2 ? [99, 0] :
      [action.charCodeAt(0) - 65, '><~!?/-=xzwg'.indexOf(action[1])];
  }
  Game.prototype.offers = function (state) {
    return (this.wins() ? [] : this.edges(state)).sort(function (a, b) {
      var x = order(a.action), y = order(b.action);
      return x[0] - y[0] || x[1] - y[1];
    });
  };

  Game.prototype.build = function () {
    var game = this, g = this.graph;
    function button(text, act, classes) {
      var b = html('button', { type: 'button', 'class': classes || '' }, [text]);
      b.addEventListener('click', act);
      return b;
    }
    this.title = html('h2', {});
    this.nav = html('span', { 'class': 'neighbors' });
    this.story = html('p', { 'class': 'story' });
    this.ask = html('p', { 'class': 'ask' });
    this.verdict = html('p', { 'class': 'verdict', id: 'verdict' + (games++ || ''), tabindex: '-1',
      'aria-live': 'polite' });
    this.cards = html('div', { 'class': 'cards' });
    this.choices = html('ol', { 'class': 'choices', 'aria-label': 'What happens next' });
    this.used = html('p', { 'class': 'used' });
    this.undo = button('undo', function () { game.back(); });
    this.undo.title = 'key: left arrow';
    this.again = button('restart', function () { game.take([]); });
    this.hint = button('hint', function () { game.help(); });
    this.claim = button('no schedule breaks it', function () { game.claims(); });
    this.advice = html('p', { 'class': 'advice', 'aria-live': 'polite' });
    this.paste = html('input', { type: 'text', 'aria-label': 'a schedule to play',
      placeholder: 'paste a schedule: ' + g.program + ': A> A<', size: '32' });
    this.paste.addEventListener('change', function () {
      game.play(game.paste.value);
      game.paste.value = '';
    });
    this.command = html('code', { 'class': 'command' });
    var view = this.view = new lockladder.View(this.run([0], [], []), this.sources,
      function (view, row) {
        if (row.from < game.path.length) { game.take(game.path.slice(0, row.from)); }
      }, true);
    this.list = html('ol', { 'class': 'levels' });
    function link() { return lockladder.linker(function () { return location.href; }); }
    this.scroll = html('div', { 'class': 'scroll' }, [this.verdict, this.cards, this.choices, this.used]);
    var controls = html('div', { 'class': 'controls' }, [this.undo, this.again, this.hint].concat(
      this.small ? [] : [this.claim, link()], this.advice));
    this.home = this.element.querySelector('.home a');
    var panel = html('div', { 'class': 'panel' }, (this.small ? [] : [
      html('div', { 'class': 'head' }, [this.title, this.nav]), this.story, this.ask]).concat([
      html('div', { 'class': 'stage' }, [view.lanes,
        html('div', { 'class': 'side-by' }, [this.scroll, controls])]),
      view.facts, view.code], this.small ? [] : [
      html('p', { 'class': 'bounds' }, [g.lock + ': ' + g.bounds + '. ' +
        (this.own ? 'In a test: ' : 'In a terminal: '), this.command]),
      html('p', {}, ['A schedule from a terminal: ', this.paste, ' ', link()]),
      html('details', {}, [html('summary', {}, ['All levels']), this.list])]));
    this.element.append(panel);
    if (this.home) { this.home.parentNode.hidden = true; } // it is for the address
    function chosen(e) {
      var choice = /^[1-9]$/.test(e.key) && game.scroll.querySelectorAll('.choices button, .reasons button')[e.key - 1];
      if (choice) { choice.click(); }
      return choice;
    }
    this.element.addEventListener('keydown', function (e) {
      if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === 'INPUT') {
        e.stopPropagation();
        return;
      }
      if (!chosen(e)) {
        if (e.key === 'ArrowLeft') { game.back(); }
        else if (e.key !== 'ArrowRight') { return; }
      }
      e.preventDefault();
      e.stopPropagation();
    });
    // The numbers are shown, so they work before anything has the focus, too.
    document.addEventListener('keydown', function (e) {
      if (e.ctrlKey || e.metaKey || e.altKey || e.target !== document.body ||
          !document.getElementById('keys').checked ||
          document.querySelector('[data-level]') !== game.element) { return; }
      if (chosen(e)) { e.preventDefault(); }
      if (e.key === 'ArrowLeft' && !game.small && !/[?&]slides/.test(location.search)) { game.back(); }
    });
    this.element.classList.add('playing');
  };

  // run is what was done so far, for the lanes.
  Game.prototype.run = function (states, path, masks) {
    var g = this.graph, game = this, start = this.clock(0);
    var entries = [{ at: start, client: -1, node: 0, text: 'both ask for the lock',
      reply: '', sent: start, back: start + 1, line: '', state: this.world(0) }];
    var breaks = [], known = [];
    path.forEach(function (action, i) {
      entries.push(game.entry(states[i], action, states[i + 1], masks[i]));
      var names = game.broken(masks[i]).filter(function (name) {
        return known.indexOf(name) < 0; // it is marked where it happens first
      });
      if (names.length > 0) { breaks.push({ at: i + 1, names: names }); }
      known = known.concat(names);
    });
    var run = new lockladder.Run({ lock: g.lock, clients: g.clients, nodes: g.nodes,
      stored: this.world(0).value !== undefined, verdict: '', invariant: '', broken: -1, breaks: breaks }, entries);
    var now = states[states.length - 1];
    run.flights = this.flights(now);
    run.stops = this.stops(now);
    run.act = function (action) { game.choose(action); };
    run.label = function (i) { return i === 0 ? 'start' : String(i); };
    run.waits = this.waits(now);
    path.forEach(function (action, i) { // the code stays where a client has crashed
      if (action[1] !== 'x') { return; }
      run.waits = run.waits.concat(game.waits(states[i]).filter(function (w) {
        return w.client === action.charCodeAt(0) - 65;
      }).map(function (w) { return { client: w.client, line: w.line, why: action[0] + ' crashed' }; }));
    });
    run.does = g.clients.map(function (name, i) {
      var wait = run.waits.filter(function (w) { return w.client === i; }).pop(), does = game.does(now, i);
      return wait && does !== 'is dead' ? wait.why : name + ' ' + (/^(is|waits|reads|writes)/.test(does) ?
        does : 'is in ' + does);
    });
    return run;
  };

  // read takes the level and the schedule from the address, and for a comparison the lock
  // that had this schedule before and the level in which it was found.
  Game.prototype.read = function () {
    var hash = new URLSearchParams(this.small ? '' : location.hash.slice(1));
    var wanted = (this.element.dataset.level || hash.get('level') || '').replace(/-/g, ' ');
    var lock = this.graph.lock, game = this;
    this.goal = this.graph.goals.findIndex(function (g) {
      return g.invariant.replace(/-/g, ' ') === wanted;
    });
    this.level = this.levels.findIndex(function (l) {
      return l.lock === lock && l.invariant.replace(/-/g, ' ') === wanted;
    });
    this.before = this.goal >= 0 && hash.get('after') || '';
    this.from = Number(hash.get('from')) - 1; // of the lock before, if the address has none
    this.from = this.levels[this.from] ? this.from : this.levels.findIndex(function (l) {
      return l.lock === game.before;
    });
    if (this.level < 0 && !this.before) {
      this.level = this.levels.findIndex(function (l) { return l.lock === lock; });
      var invariant = this.levels[this.level].invariant;
      this.goal = this.graph.goals.findIndex(function (g) { return g.invariant === invariant; });
    }
    this.won = null;
    this.led = false;
    game.play(hash.get('s') || '', true);
  };
  // asked is the level, or the comparison with the lock before: there may be no such level.
  Game.prototype.asked = function () {
    return !this.before && this.levels[this.level] || { lock: this.graph.lock,
      invariant: this.graph.goals[this.goal].invariant, title: this.graph.lock + ', same schedule',
      ask: 'Does the schedule that breaks ' + (this.before || 'another lock') + ' break it, too?' };
  };
  // play takes a schedule: "once: A> A<", with or without the lock's name before it.
  Game.prototype.play = function (schedule, quiet) {
    var words = schedule.slice(schedule.lastIndexOf(':') + 1).trim();
    this.take(words ? words.split(/\s+/) : [], quiet);
  };

  // take takes a schedule from the beginning.
  Game.prototype.take = function (path, quiet) {
    if (!quiet) { this.before = ''; }
    this.hints = 0;
    this.advice.textContent = this.walk(path);
    this.show();
    if (!quiet) { this.write(); }
  };
  // walk walks along a schedule as far as it is possible, and returns what isn't. Another
  // lock's goes on after what this one doesn't do.
  Game.prototype.walk = function (path) {
    var state = 0, states = [0], taken = [], masks = [], broken = [], steps = [], ends = '';
    for (var i = 0; i < path.length; i++) {
      var edge = this.edges(state).find(function (e) { return e.action === path[i]; });
      if (!edge) {
        if (this.before) { continue; }
        ends = path[i] + ' is not possible after ' +
          (taken.join(' ') || 'the beginning') + '.';
        break;
      }
      steps[i] = taken.push(path[i]);
      state = edge.to;
      states.push(state);
      masks.push(edge.mask);
      this.broken(edge.mask).forEach(function (name) {
        if (broken.indexOf(name) < 0) { broken.push(name); }
      });
    }
    this.wanted = path;
    this.steps = steps; // by the indices of path
    this.path = taken;
    this.states = states;
    this.masks = masks;
    this.found = broken;
    return ends;
  };
  // choose takes an action that a reader has chosen.
  Game.prototype.choose = function (action) {
    var before = this.wins();
    this.take(this.path.concat(action));
    this.view.fly(this.path.length);
    if (!before && this.wins()) { this.announce(); }
  };
  // wins says whether what the level asks for is broken.
  Game.prototype.wins = function () {
    var goal = this.graph.goals[this.goal];
    return !!goal && this.found.indexOf(goal.invariant) >= 0;
  };
  Game.prototype.back = function () { this.take(this.path.slice(0, -1)); };
  Game.prototype.write = function () {
    var hash = new URLSearchParams();
    if (this.small) { return; }
    hash.set('level', this.asked().invariant.replace(/ /g, '-'));
    if (this.path.length) { hash.set('s', this.schedule()); }
    history.replaceState(null, '', '#' + hash);
  };
  // schedule is what was done, or its first steps.
  Game.prototype.schedule = function (steps) {
    return this.graph.program + ': ' + this.path.slice(0, steps).join(' ');
  };

  Game.prototype.show = function () {
    var game = this, g = this.graph, level = this.asked();
    var state = this.states[this.states.length - 1], goal = g.goals[this.goal];
    if (!this.small) { document.title = level.title + ' · Lock Ladder'; }
    this.title.textContent = (this.level < 0 || this.before ? '' : 'Level ' + (this.level + 1) + ': ') +
      level.title;
    this.nav.replaceChildren.apply(this.nav, [-1, 1].map(function (to) {
      var nth = game.before ? game.from + (to + 1) / 2 : game.level + to;
      var l = (game.before || game.level >= 0) && game.levels[nth];
      return l ? html('a', { href: game.address(l) + (game.before && to < 0 ? '&' +
        new URLSearchParams({ s: g.program + ': ' + game.wanted.join(' ') }) : ''),
      title: l.title + ' (' + l.lock + ')' },
      [to < 0 ? '← level ' + (nth + 1) : 'level ' + (nth + 1) + ' →']) : '';
    }));
    this.story.textContent = (level.story || '') + // gold is the first whose picture has EX
      (g.lock === 'gold' && level.adds ? ' (go-redis sends PX 10000 as EX 10.)' : '');
    this.ask.replaceChildren(html('b', {}, [g.lock]), ': ' + level.ask + ' (',
      html('i', { title: MEANS[level.invariant] || '' }, [level.invariant]), MEANS[level.invariant] && !level.story ? ': ' +
      MEANS[level.invariant] + ')' : ')'); // a level's question says what it means
    this.view.run = this.run(this.states, this.path, this.masks);
    this.view.run.storage = /update|write/.test(level.invariant) || this.view.run.flights.concat(this.view.run.entries).some(function (e) {
      return e.node === g.nodes;
    });
    this.view.full = 0;
    this.view.layout(true);
    this.view.show(this.path.length);
    var path = this.path.length ? this.schedule() : g.program + ': …';
    this.command.textContent = this.own ? 'explore.Replay(t, build, bounds, "' + path + '")' :
      'go run ./scenarios/explore/explorer replay ' + g.lock + " '" + path + "'";
    this.choices.replaceChildren.apply(this.choices, this.offers(state).map(function (e, i) {
      var key = i < 9 ? [html('kbd', {}, [String(i + 1)]), ' '] : [];
      var b = html('button', { type: 'button', 'data-action': e.action }, key.concat([
        game.offer(state, e.action, e.mask) + ' ', html('code', {}, [e.action])]));
      b.addEventListener('click', function () {
        game.choose(e.action);
        if (!game.wins()) {
          (game.choices.querySelector('button') || game.undo).focus({ preventScroll: true });
        }
      });
      return html('li', { 'data-of': String(order(e.action)[0]) }, [b]);
    }));
    this.element.classList.toggle('unstored', !this.view.run.storage);
    var asked = this.offers(state).some(function (e) { return e.action[1] === '='; }) &&
      !this.path.some(function (action) { return action[1] === '='; });
    this.used.textContent = [asked ? 'A sale: the holder reads the count, and writes it one higher.' : '',
      this.spent()].filter(Boolean).join(' ');
    this.undo.disabled = this.again.disabled = this.path.length === 0;
    this.element.querySelectorAll('.pane li.decisive').forEach(function (li) {
      li.classList.remove('decisive');
    });
    this.judge(state, goal, level);
    this.shows();
    this.scroll.scrollTop = 0;
  };
  Game.prototype.judge = function (state, goal, level) {
    var bit = 1 << this.goal, all = (1 << this.graph.goals.length) - 1;
    this.element.dataset.state = 'open';
    var text = [], cards = this.before ? [this.compared(goal)] : [], par = goal.steps;
    var won = this.wins();
    // What was chosen after the break isn't counted.
    var best = this.masks.findIndex(function (mask) { return mask & (won ? bit : all); }) + 1;
    if (this.before) { // another lock's schedule is no solution of this level
      text = won ? [html('strong', { 'class': 'broken' }, ['✗ ' + goal.invariant])] : [];
    } else if (won) {
      text = [html('strong', { 'class': 'broken' }, ['You broke it: ' + goal.invariant +
        '. ']), best + ' actions' + (best > par ? '; the fewest is ' + par + '.' :
        ', which is the fewest.')];
      cards.push(this.explained(goal.invariant, best));
      this.save(level, best);
    } else if (this.found.length > 0) {
      var fresh = this.found.filter(function (name) { return !this.earlier(name); }, this);
      text = [html('strong', { 'class': 'broken' }, [(fresh[0] ? fresh : this.found).join(', ') + ': ']),
        (fresh[0] ? MEANS[fresh[0]] || 'another rule' : 'an earlier level asks for that') + '. ' +
        (!goal.schedule ? 'Can you break, or prove, ' + goal.invariant + '?' :
          this.distances(bit)[state] < 0 ? 'From here on ' + goal.invariant + ' can\'t happen any more: undo.' :
          'Halfway there: go on to ' + goal.invariant + '.')];
    } else if (this.distances(goal.schedule ? bit : all)[state] < 0) {
      text = [goal.schedule ? this.since(bit, goal.invariant, state) + this.late() :
        'Nothing more can break in this order: try another, or say that no schedule breaks it.'];
      this.element.dataset.state = 'stuck';
    } else {
      text = ['Pick what happens next' + (this.small ? ':' : ', in the picture or the list.')];
    }
    if (/z$/.test(this.path[this.path.length - 1])) { // the explorer leaves out what comes to the same
      text.push(' While ' + this.path[this.path.length - 1][0] + ' is stopped, nothing arrives until the lease ends: let it arrive before the stop.');
    }
    this.cards.replaceChildren.apply(this.cards, cards);
    this.hint.disabled = this.claim.disabled = won || !!this.before;
    this.verdict.replaceChildren.apply(this.verdict, text);
  };
  // since is the step after which the goal can't be reached, and why, where a crash came too
  // late, or a client is needed that is dead.
  Game.prototype.since = function (bit, goal, state) {
    var far = this.distances(bit), step = this.states.findIndex(function (s) { return far[s] < 0; });
    var acted = this.path[step - 1].charCodeAt(0) - 65, name = this.graph.clients[acted];
    var key = (this.world(state).leases || [])[0], sent = this.ways(state).find(function (w) {
      return w.sign === '>' && w.client === acted;
    });
    return 'Since step ' + step + ' (' + this.view.run.what(step) + ') “' + goal + '” can\'t happen any more' +
      (this.distances((1 << this.graph.goals.length) - 1)[state] < 0 ? ': undo, or restart.' : '; something else can.') +
      (goal !== 'orphaned' ? /x$/.test(this.path[step - 1]) ? ' It takes both clients, and ' + name + ' is dead.' : '' :
        sent ? ' ' + name + '\'s ' + word(sent.text) + ' is under way, and arrives even if ' + name + ' is dead.' :
          key && key.ends ? ' The key has a lease.' : '');
  };
  // late is why a client that was granted the lock isn't a holder.
  Game.prototype.late = function () {
    var run = this.view.run, late = run.entries.find(function (e, i) {
      var key = i && (e.state.leases || [])[0];
      return key && /^reply .* to (SET .* EX|EVAL\S* acquire)/.test(e.text) && !/ (nil|0) to /.test(e.text) &&
        run.clientOf(key.owner) === e.client && (e.state.inside || []).indexOf(key.owner) < 0;
    }), name = late && run.data.clients[late.client];
    return late ? ' ' + name + ' counts its lease from when it sent its command. When the grant came, that lease was over, so ' +
      name + ' gives the lock back. Undo, and let ' + name + ' be refused first: it asks again when the key is gone.' : '';
  };
  // spent is what can't happen once more within the graph's bounds.
  Game.prototype.spent = function () {
    var path = this.path, bounds = this.graph.bounds, list = [['x', 'crash', 'crash'], ['E', 'expiry', 'lease end'],
      ['z', 'pause', 'pause']].filter(function (kind) {
      var most = new RegExp('(\\d+) ' + kind[1]).exec(bounds);
      return most && path.filter(function (a) { return a === kind[0] || a[1] === kind[0]; }).length >= Number(most[1]);
    }).map(function (kind) { return 'one ' + kind[2]; });
    return list.length && !this.wins() ? 'Used up: ' + list.join(' and ') + ' per game.' : '';
  };
  // earlier says whether a level before this one asks for that break of the same lock.
  Game.prototype.earlier = function (invariant) {
    return this.levels.slice(0, Math.max(0, this.level)).some(function (l) {
      return l.lock === this.graph.lock && l.invariant === invariant;
    }, this);
  };
  // onward leads to the next level.
  Game.prototype.onward = function () {
    this.element.dataset.state = this.before ? 'compared' : 'won';
    var next = this.before ? this.levels[this.from + 1] : this.level < 0 ? this.levels.find(function (l) {
      return l.lock === this.graph.lock;
    }, this) : this.levels[this.level + 1];
    return html('p', {}, [next ? html('a', { 'class': 'next', href: this.address(next) },
      ['Next: ' + next.title + ' →']) : 'That was the last level. '].concat(next || !this.home ? [] : [
      ['lab', '#rung=your+lock', 'Write your own lock'], ['at-work', '', 'Which lock at work?']].flatMap(function (to) {
      return [html('a', { 'class': 'next', href: this.beside(to[0], to[1]) }, [to[2]]), ' '];
    }, this)));
  };

  // last is the last step until another one that is as wanted; 0: none is.
  Game.prototype.last = function (step, wanted) {
    var entries = this.view.run.entries;
    while (step > 0 && !wanted(entries[step], entries[step - 1], step)) { step--; }
    return step;
  };
  // tells says in plain words what a step has broken, and what led to it.
  Game.prototype.tells = function (invariant, step) {
    var game = this, run = this.view.run, names = this.graph.clients, path = this.path;
    var e = run.entries[step], before = run.entries[step - 1].state, it = names[e.client];
    function client(owner) { return names[run.clientOf(owner)] || owner; }
    function owner(state) { return state.leases ? client(state.leases[0].owner) : ''; }
    function granted(name) { // the step in which the key became a client's
      return game.last(step, function (now, then) {
        return owner(now.state) === name && owner(then.state) !== name;
      });
    }
    function did(text, own) {
      return game.last(step - 1, function (now) {
        return (now.client === e.client) === own && now.text.indexOf(text) === 0;
      });
    }
    var ended = this.last(step, function (now, then, k) { return path[k - 1] === 'E'; });
    var over = ended ? ' The lease had ended in step ' + ended +
      ', and its holder went on.' : '';
    var holder, died, gap, others, k;
    switch (invariant) {
    case 'orphaned':
      holder = owner(e.state);
      died = this.last(step, function (now) {
        return names[now.client] === holder && now.text === 'dies';
      });
      gap = died && this.gap();
      return (gap ? gap.command + ', which gives ' + holder + '\'s key an expiry, was never sent: ' :
        'The key is ' + holder + '\'s since step ' + granted(holder) + ', and has no expiry. ') + holder +
        (died ? ' crashed in step ' + died : ' is done') + '. Nobody is left who deletes the key, so whoever asks for it waits forever.';
    case 'foreign release':
      holder = owner(before);
      k = did('GET', true);
      return 'In step ' + step + ' ' + it + '\'s ' + word(e.text) + ' reached Redis and deleted the key. ' +
        (k ? 'Its GET saw its own token in step ' + k + ', but since' : 'But since') + ' step ' + granted(holder) +
        ' the key was ' + holder + '\'s' + (k ? ': the gap between GET and DEL is the flaw.' : '.') + over;
    case 'two holders':
      others = (e.state.inside || []).map(client);
      holder = owner(e.state);
      return 'Since step ' + step + ' ' + others.join(' and ') + ' both believe that they' +
        ' hold the lock.' + (holder ? ' Redis gave the key to ' + holder + ' in step ' +
        granted(holder) + '.' : '') + over;
    case 'lost update':
      k = did('reads', true);
      return 'In step ' + step + ' ' + it + ' wrote what it had worked out from its read in' +
        ' step ' + k + '. The other client had written in step ' + did('writes', false) +
        ', in between: that sale is gone.' + over;
    case 'stale write':
      k = Math.max(did('reads', false), did('writes', false));
      return 'In step ' + step + ' the storage accepted ' + it + '\'s write, although a' +
        ' later holder had used it in step ' + k + '.' + over;
    }
    return 'It happened in step ' + step + ': ' + run.what(step) + '.' + over;
  };
  // gap is the command that the rung adds, and its line: a crash before it orphans the lock.
  Game.prototype.gap = function () {
    var adds = this.asked().adds, method = /rdb\.(\w+)\(/.exec(adds), line = method && this.find(adds);
    return line && { command: method[1].toUpperCase(), line: line };
  };
  // behind is the line that the client of a step had sent its last command from.
  Game.prototype.behind = function (step) {
    var client = this.view.run.entries[step].client, run = this.view.run;
    var k = this.last(step, function (now) {
      return now.line && !now.inbound && (client < 0 || now.client === client);
    });
    return { step: k, client: run.entries[k].client, line: run.entries[k].line,
      text: word(run.entries[k].text) };
  };
  // entered is the line from which the client of a step got the lock.
  Game.prototype.entered = function (step) {
    var run = this.view.run, client = run.entries[step].client;
    function owns(e) { return (e.state.leases || []).some(function (l) { return run.clientOf(l.owner) === client; }); }
    var k = this.last(step, function (now, then) { return now.client === client && now.line && owns(now) && !owns(then); });
    return k && { step: k, client: client, line: run.entries[k].line, text: word(run.entries[k].text) };
  };
  // marked marks a line in the code of a client, or of all, and returns it.
  Game.prototype.marked = function (line, client) {
    this.view.boards.forEach(function (board, i) {
      var li = (client === undefined || client === i) && board.show(line);
      if (li) { li.classList.add('decisive'); }
    });
    return line;
  };
  // code is the text of a line.
  Game.prototype.code = function (name) {
    var colon = name.lastIndexOf(':'), file = this.sources[name.slice(0, colon)];
    var line = file && file[Number(name.slice(colon + 1)) - 1], box = html('i', {});
    box.innerHTML = line || '';
    return box.textContent.trim();
  };
  // explained is the card of a break: what happened, what the next rung changes, and at
  // which line it was.
  Game.prototype.explained = function (invariant, step) {
    var inside = /holders|update|write/.test(invariant) && this.entered(step);
    var at = inside || this.behind(step), next = this.higher(), gap = invariant === 'orphaned' && this.gap();
    var parts = [html('p', { 'class': 'happened' }, [this.tells(invariant, step)])];
    if (next) {
      parts.push(html('p', {}, [next.lock === 'reentrant' ? 'A side branch, ' : this.small ? 'The next lock, ' : 'The next rung, ', html('b', {}, [next.lock]), ': ' +
        next.idea + '.']));
    }
    parts.push(this.further(invariant, step));
    if (at.line) {
      parts.push(html('p', { 'class': 'decisive' }, [this.graph.clients[at.client] + (inside ?
        ' got in here, with its ' + at.text + ' of step ' + at.step + ', ' : '\'s ' + at.text + ' of step ' + at.step +
        ' comes from ') + at.line + ': ',
      html('code', {}, [this.code(at.line)])].concat(gap ? ['. Only then comes ' + gap.command + ', ' + gap.line + ': ',
        html('code', {}, [this.code(gap.line)])] : [])));
      this.marked(at.line, at.client);
      if (gap) {
        this.marked(gap.line, at.client);
        this.view.boards[at.client].line(at.line).classList.add('decisive'); // both stand together
      }
    }
    return html('div', { 'class': 'card' }, parts);
  };
  // further leads to the next rung with the same schedule, unless a level that comes soon asks
  // for such a one, and to the next level.
  Game.prototype.further = function (invariant, step) {
    var game = this, next = this.higher(), on = this.onward(), done = this.progress();
    if (next && !this.levels.slice(this.level + 1, this.level + 3).some(function (l) {
      return l.lock === next.lock && l.invariant === invariant && !l.lines && done[l.lock + ' ' + invariant] === undefined;
    })) {
      var same = html('a', { 'class': 'same', href: this.address(next, invariant) + '&' +
        new URLSearchParams({ s: this.graph.program + ': ' + this.wanted.slice(0, step).join(' '),
          after: this.graph.lock, from: (this.before ? this.from : this.level) + 1 }) },
      ['▶ the same schedule against ' + next.lock]);
      same.addEventListener('click', function () { game.keep(step); });
      on.prepend(same, ' ');
    }
    return on;
  };
  // higher is the first level of the next lock.
  Game.prototype.higher = function () {
    var level = this.levels.findIndex(function (l) { return l.lock === this.graph.lock; }, this);
    return this.own ? null : this.levels.slice(level).find(function (l) {
      return l.lock !== this.graph.lock;
    }, this);
  };
  // keep keeps for the next page what this lock did.
  Game.prototype.keep = function (step) {
    var words = this.wanted.slice(0, step);
    try {
      sessionStorage.setItem(PLAYED, JSON.stringify({ lock: this.graph.lock,
        schedule: this.graph.program + ': ' + words.join(' '), did: words.map(this.did, this) }));
    } catch (e) { /* the next page asks for it */ }
  };
  Game.prototype.kept = function () {
    try {
      var kept = JSON.parse(sessionStorage.getItem(PLAYED)) || {};
      if (kept.lock === this.before && kept.schedule === this.graph.program + ': ' +
        this.wanted.join(' ')) { return kept.did; }
    } catch (e) { /* there is no storage */ }
    this.fetches();
    return [];
  };
  // fetches has the lock before do the schedule, whose graph is on its levels' page.
  Game.prototype.fetches = function () {
    var game = this, lock = this.before, words = this.wanted, key = lock + words;
    if (this.fetched === key || location.protocol === 'file:') { return; }
    this.fetched = key;
    fetch(this.address({ lock: lock, invariant: '' }).split('#')[0]).then(function (r) {
      return r.text();
    }).then(function (text) {
      var other = Object.create(Game.prototype);
      other.graph = JSON.parse(new DOMParser().parseFromString(text, 'text/html').querySelector('script.graph').textContent);
      other.methods = {};
      other.before = lock; // so that it goes on after what isn't possible
      other.walk(words);
      other.view = { run: other.run(other.states, other.path, other.masks) };
      other.keep(words.length);
      if (game.before === lock && game.wanted === words) { game.show(); }
    }).catch(function () { /* the page says only what this lock does */ });
  };
  // role is what was done with whose value for the key: a token of the owner's is no other
  // step than a word that all owners share.
  function role(text) {
    return text.replace(/\b(?:locked|([A-Z])#\d+)(?= |$)/g, function (value, owner) {
      return (owner || text[0]) + '\'s value';
    });
  }
  // brief is a step without what all steps have: the key, and to which command a reply is.
  function brief(text) {
    return text && text.replace(/ lock:stock\b|^Redis: |\bEVAL(SHA)? /g, '').replace(/(: reply .+?) to .*/, '$1');
  }
  // did is what this lock did at an action of the schedule, by its index.
  Game.prototype.did = function (action, i) {
    return this.steps[i] ? this.view.run.what(this.steps[i]) : 'doesn\'t happen';
  };
  // compared shows the schedule of the lock before beside what this one does in it.
  Game.prototype.compared = function (goal) {
    var game = this, before = this.kept().map(brief), first = 0, rows = [], from = 0, same = '';
    function row(step, cells, differs) {
      return html('tr', differs ? { 'class': 'differs' } : {}, [html('td', {}, [step])].concat(cells.map(function (text) {
        return html('td', { colspan: String(3 - cells.length) }, [text]);
      })));
    }
    this.wanted.forEach(function (action, i) {
      var now = brief(game.did(action, i)), then = before[i];
      if (then && role(then) !== role(now)) {
        first = first || i + 1;
        rows.push(row(String(i + 1), [then, now], true));
        from = i + 1;
        same = '';
        return;
      }
      if (i > from) { rows.pop(); } // what is the same is of no interest
      same = same || (then === now ? '' : ', but for the value');
      rows.push(row(from + 1 + (i > from ? '–' + (i + 1) : ''), ['the same' + same]));
    });
    var broken = this.wins(), lock = this.graph.lock, level = this.levels[this.level];
    // What the level asks is its secret until it is played.
    var secret = level && this.progress()[lock + ' ' + level.invariant] === undefined;
    return html('div', { 'class': 'card compared' }, [
      html('p', {}, [html('b', {}, [(!before.length ? '' : first ? lock + ' differs from ' + this.before +
        ' in step ' + first + '. ' : lock + ' does the same as ' + this.before + '. ') + (broken ?
        'The schedule breaks it, too.' : 'The schedule doesn\'t break it' + (secret ?
          '. Does any other? Level ' + (this.level + 1) + ' asks.' : goal.schedule ?
          ', but ' + goal.failing + ' of ' + this.graph.schedules + ' others do: undo some steps, and find one.' :
          ', and neither does any other of ' + this.graph.schedules + '.'))])]),
      broken ? this.why(goal.invariant) : '',
      broken ? this.further(goal.invariant, this.wanted.length) : this.onward(),
      !first || !before.length ? '' : html('table', {}, [html('thead', {}, [html('tr', {}, ['', this.before, lock].map(
        function (text) { return html('th', {}, [text]); }))]), html('tbody', {}, rows)])]);
  };
  // why says what broke this lock, too, and that the line which it adds is no help here.
  Game.prototype.why = function (invariant) {
    var lock = this.graph.lock, level = this.levels.find(function (l) { return l.lock === lock && l.adds; });
    var at = level && this.find(level.adds), bit = 1 << this.goal;
    var runs = this.view.run.entries.some(function (e) { return e.line === at; });
    return html('p', { 'class': 'decisive' }, [this.tells(invariant, this.masks.findIndex(function (mask) {
      return mask & bit;
    }) + 1), at ? ' The line that ' + lock + ' adds, ' + this.marked(at) + ', ' + (runs ? 'doesn\'t prevent this.' :
      'comes too late: no client has got there.') : '']);
  };

  // announce leads the keyboard to the next level, and a screen reader says with its
  // name what was won.
  Game.prototype.announce = function () {
    var link = this.cards.querySelector('.next');
    if (link) { link.setAttribute('aria-describedby', this.verdict.id); }
    (link || this.verdict).focus({ preventScroll: true });
    this.sight(link || this.verdict);
    this.scroll.scrollTop = 0;
  };
  // sight scrolls a phone to what has come below the picture.
  Game.prototype.sight = function (what) {
    if (!this.small && window.innerWidth <= 960) { what.scrollIntoView({ block: 'nearest' }); }
  };
  // beside is the address of a page beside the levels' page.
  Game.prototype.beside = function (page, hash) {
    return new URL(page + (/\.html$/.test(this.home.pathname) ? '.html' : '.md') + hash, this.home.href).href;
  };
  // address is that of a level, or of another invariant of its lock.
  Game.prototype.address = function (level, invariant) {
    var hash = '#level=' + (invariant || level.invariant).replace(/ /g, '-');
    return this.own ? hash : new URL('levels/' + level.lock +
      (/\.html$/.test(this.home.pathname) ? '.html' : '.json') + hash, this.home.href).href;
  };
  Game.prototype.claims = function () {
    var goal = this.graph.goals[this.goal], level = this.asked();
    if (goal.schedule) {
      this.advice.textContent = 'It can be broken: ' + goal.failing + ' of ' +
        this.graph.schedules + ' schedules do.';
    } else if (this.graph.stopped) {
      this.advice.textContent = 'Nobody knows: the explorer stopped after ' +
        this.graph.states.length + ' states and has broken it in none of them.';
    } else if (level.lines) { this.reasons(level); } else { this.proved(level); }
  };
  // find is where a line of the code is.
  Game.prototype.find = function (text) {
    var game = this, found = '';
    Object.keys(this.sources).forEach(function (file) {
      game.sources[file].forEach(function (line, n) {
        var name = file + ':' + (n + 1);
        if (game.code(name) === text) { found = name; }
      });
    });
    return found;
  };
  // reasons asks for the line of the code that prevents the break.
  Game.prototype.reasons = function (level) {
    var game = this, lines = level.lines.map(function (text) {
      return { text: text, at: game.find(text) };
    });
    var right = lines[0].at;
    lines.sort(function (a, b) { return a.at < b.at ? -1 : 1; });
    this.cards.replaceChildren(html('div', { 'class': 'card asks' }, [
      html('p', {}, [html('b', {}, ['Right. Which line of the code prevents it?'])]),
      html('ol', { 'class': 'reasons' }, lines.map(function (l, i) {
        var b = html('button', { type: 'button' }, [html('kbd', {}, [String(i + 1)]), ' ', html('code', {}, [l.text]), ' ' + l.at]);
        b.addEventListener('click', function () {
          if (l.at === right) { game.proved(level, l); return; }
          b.disabled = true;
          b.after(html('p', { role: 'status' }, ['Not this one: without ' + l.at + ' the rule' +
            ' would hold as well.']));
        });
        return html('li', {}, [b]);
      }))]));
    this.choices.replaceChildren();
    this.verdict.replaceChildren();
    this.scroll.scrollTop = 0;
    this.cards.querySelector('button').focus({ preventScroll: true });
    this.sight(this.cards);
  };
  Game.prototype.proved = function (level, line) {
    this.advice.textContent = '';
    this.verdict.replaceChildren(html('strong', { 'class': 'proved' },
      ['✓ proved: 0 of ' + this.graph.schedules + ' schedules break it within these' +
      ' bounds (' + this.graph.bounds + '). ']));
    this.cards.replaceChildren(html('div', { 'class': 'card asks' }, [line ?
      html('p', { 'class': 'decisive' }, ['What prevents it is ' + line.at + ': ',
        html('code', {}, [line.text]), level.why ? '. ' + level.why : '']) : '', this.onward()]));
    if (line) { this.marked(line.at); }
    this.choices.replaceChildren();
    this.hint.disabled = this.claim.disabled = true;
    this.again.disabled = false;
    this.save(level, 0);
    this.shows();
    this.announce();
  };
  // best is the action that leads to the nearest break of the goal, if one does.
  Game.prototype.best = function () {
    var state = this.states[this.states.length - 1], bit = 1 << this.goal, far = this.distances(bit);
    return this.edges(state).find(function (e) {
      return e.mask & bit && far[state] === 1 || far[e.to] === far[state] - 1 && far[state] > 1;
    });
  };
  // lead is a clicker's: it says how a level is played, and then plays it, an action at a time, or claims and proves
  // that no schedule breaks it. It returns whether there was something left to do.
  Game.prototype.lead = function () {
    var level = this.asked(), best = this.best();
    if (this.small || !this.graph.goals[this.goal].schedule && this.graph.stopped) { return false; }
    if (!this.led) { this.advice.textContent = PICK; this.led = true; }
    else if (best) { this.choose(best.action); }
    else if (this.graph.goals[this.goal].schedule) { this.back(); }
    else if (this.cards.querySelector('.reasons')) { this.proved(level, { text: level.lines[0], at: this.find(level.lines[0]) }); }
    else { this.claims(); }
    return true;
  };
  // help points to the nearest break of the goal, in three steps: what to think of and how far
  // it is, whose turn it is, and which action leads there.
  Game.prototype.help = function () {
    var state = this.states[this.states.length - 1], game = this;
    var goal = this.graph.goals[this.goal], hint = this.asked().hint || '';
    var far = this.distances(1 << this.goal), says = [hint, 'Do you find any way at all?'], best = this.best();
    if (goal.schedule && !best) {
      this.advice.textContent = 'Not from here. Undo.';
      return;
    }
    if (goal.schedule) {
      says = [hint + ' ' + far[state] + (far[state] === 1 ? ' action' : ' actions') + ' to go.',
        'It is ' + (best.action[1] ? best.action[0] : 'the clock') + '\'s turn.',
        'One way on: ' + this.offer(state, best.action, best.mask) + '.'];
    }
    this.hints = Math.min(says.length, this.hints + 1);
    this.advice.textContent = says[this.hints - 1] + ' (hint ' + this.hints + ' of ' + says.length + ')';
    this.element.querySelectorAll('[data-action]').forEach(function (b) {
      b.classList.toggle('hinted', game.hints === 3 && b.dataset.action === best.action);
    });
  };
  Game.prototype.progress = function () {
    if (this.own) { return this.done; }
    try { return JSON.parse(localStorage.getItem(STORE)) || {}; } catch (e) { return {}; }
  };
  Game.prototype.save = function (level, steps) {
    var done = this.progress(), key = level.lock + ' ' + level.invariant;
    if (done[key] === undefined || steps < done[key]) { done[key] = steps; }
    if (this.own) { return; }
    try { localStorage.setItem(STORE, JSON.stringify(done)); } catch (e) { /* no storage */ }
  };
  Game.prototype.shows = function () {
    var game = this, done = this.progress(), links = document.querySelectorAll('.side a[href*="#level="]');
    this.list.replaceChildren.apply(this.list, this.levels.map(function (l, i) {
      var key = l.lock + ' ' + l.invariant;
      links.forEach(function (a) {
        if (a.href === game.address(l)) { a.classList.toggle('done', done[key] !== undefined); }
      });
      return html('li', i === game.level && !game.before ? { 'aria-current': 'true' } : {}, [
        done[key] === undefined ? '' : '✓ ',
        html('a', { href: game.address(l) }, [l.title]), ' (' + l.lock + ')']);
    }));
  };

  lockladder.games = Array.from(document.querySelectorAll('[data-level]'), function (element) { return new Game(element); });
})();
