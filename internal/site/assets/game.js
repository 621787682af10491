// The game: the reader is the scheduler. A level is the state graph that the explorer
// has walked with a lock's real code; see package play. An action leads from one state
// to the next, and what it breaks is known of the action, not of the state.
(function () {
  'use strict';
  var html = lockladder.html, seconds = lockladder.seconds;
  var STORE = 'lockladder levels';
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
    this.done = {};
    this.build();
    this.read();
    window.addEventListener('hashchange', function () { game.read(); });
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
      list.push({ client: s[i], node: s[i + 1], sign: g.texts[s[i + 2]],
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
      var does = game.does(state, i).replace('is stopped: ', ''), call = game.calls(i, does);
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
        list.push({ client: i, line: game.methods[call], why: name + ' calls ' + call + ' next' });
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

  // flights are the same for the lanes.
  Game.prototype.flights = function (state) {
    return this.ways(state).map(function (w) {
      var reply = w.sign === '<';
      return { client: w.client, node: w.node, inbound: reply || w.sign === '~',
        text: reply ? 'reply ' + w.reply + ' to ' + w.text : w.text };
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
      e.text = (action === 'E' ? 'the lease ends: the clock moves to ' :
        'the clock moves to ') + seconds(at);
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
    case '=': e.text = this.stored(to, mask); break;
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
  // short is a command without a script's arguments, which the picture has.
  function short(text) { return text.replace(/^EVAL(?:SHA)? (\S+\.lua)\b.*/, '$1'); }
  // offer is what a button says of an action.
  Game.prototype.offer = function (state, action, mask) {
    var name = action[0], client = action.charCodeAt(0) - 65, w, text, sent;
    if (action === 'E') { return 'the lease ends'; }
    if (action === 'R') { return 'time passes until a timer is due'; }
    if ('><~!?/-'.indexOf(action[1]) >= 0) {
      w = this.way(state, action);
      text = short(w.text);
    }
    switch (action[1]) {
    case '>': return name + '\'s ' + text + ', already sent, arrives at ' +
      this.node(w.node);
    case '?': return name + '\'s ' + text + ' arrives late';
    case '<': return 'the reply ' + w.reply + ' to ' + text + ', already sent, arrives at ' +
      name;
    case '~': return text + ' arrives at ' + name;
    case '!': return 'the reply to ' + name + '\'s ' + text + ' is lost';
    case '/': case '-': return text + ' to ' + name + ' is lost';
    case '=': return name + (this.does(state, client) === this.asks(mask) ? ' ' :
      '\'s request, sent before, ') + this.asks(mask) +
      (this.asks(mask) === 'writes' ? ' to' : '') + ' the storage';
    case 'x':
      sent = this.ways(state).find(function (f) {
        return f.client === client && f.sign !== '<' && f.sign !== '~';
      });
      return name + ' crashes' + (sent ? ', after it has sent its ' +
        short(sent.text).split(' ')[0] : '');
    case 'z': return name + '\'s process stops, until you wake it';
    case 'w': return name + '\'s process goes on';
    case 'g': return 'the context of ' + name + '\'s Lock ends';
    }
    return action;
  };

  // order has a choice stand where the same kind of choice stood before: by client,
  // then by kind, and last what befalls all.
  function order(action) {
    return action.length < 2 ? [99, 0] :
      [action.charCodeAt(0) - 65, '><~!?/-=xzwg'.indexOf(action[1])];
  }
  Game.prototype.offers = function (state) {
    return this.edges(state).sort(function (a, b) {
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
    this.ask = html('p', { 'class': 'ask' });
    this.verdict = html('p', { 'class': 'verdict', id: 'verdict', tabindex: '-1',
      'aria-live': 'polite' });
    this.choices = html('ol', { 'class': 'choices', 'aria-label': 'What happens next' });
    this.undo = button('undo', function () { game.back(); });
    this.again = button('from the beginning', function () { game.take([]); });
    this.hint = button('hint', function () { game.help(); });
    this.claim = button('claim that no schedule breaks it', function () { game.claims(); });
    this.advice = html('span', { 'class': 'advice', 'aria-live': 'polite' });
    this.paste = html('input', { type: 'text', 'aria-label': 'a schedule to play',
      placeholder: 'paste a schedule: ' + g.program + ': A> A<', size: '32' });
    this.paste.addEventListener('change', function () {
      game.play(game.paste.value);
      game.paste.value = '';
    });
    this.command = html('code', { 'class': 'command' });
    this.view = new lockladder.View(this.run([0], [], []), this.sources, function (view, row) {
      if (row.from < game.path.length) { game.take(game.path.slice(0, row.from)); }
    });
    this.view.element.querySelector('.run').textContent = g.lock + ': ' + g.bounds;
    this.list = html('ol', { 'class': 'levels' });
    this.element.append(html('div', { 'class': 'panel' }, [this.title, this.ask,
      this.verdict, this.choices, html('div', { 'class': 'controls' }, [this.undo,
        this.again, this.hint, this.claim, this.advice]), this.view.element,
      html('p', {}, [this.own ? 'In a test: ' : 'In a terminal: ', this.command]),
      html('p', {}, ['A schedule from a terminal: ', this.paste]),
      html('details', {}, [html('summary', {}, ['All levels']), this.list])]));
    function chosen(e) {
      var choice = /^[1-9]$/.test(e.key) && game.choices.querySelectorAll('button')[e.key - 1];
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
          !document.getElementById('keys').checked) { return; }
      if (chosen(e)) { e.preventDefault(); }
    });
    this.element.classList.add('playing');
  };

  // run is what was done so far, for the lanes.
  Game.prototype.run = function (states, path, masks) {
    var g = this.graph, game = this, start = this.clock(0);
    var entries = [{ at: start, client: -1, node: 0, text: 'both are about to ask for the lock',
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
      verdict: '', invariant: '', broken: -1, breaks: breaks }, entries);
    var now = states[states.length - 1];
    run.flights = this.flights(now);
    run.waits = this.waits(now);
    run.does = g.clients.map(function (name, i) { return game.does(now, i); });
    return run;
  };

  // read takes the level and the schedule from the address.
  Game.prototype.read = function () {
    var hash = new URLSearchParams(location.hash.slice(1)), lock = this.graph.lock;
    var wanted = (hash.get('level') || '').replace(/-/g, ' '), game = this;
    this.level = this.levels.findIndex(function (l) {
      return l.lock === lock && l.invariant.replace(/-/g, ' ') === wanted;
    });
    if (this.level < 0) {
      this.level = this.levels.findIndex(function (l) { return l.lock === lock; });
    }
    var invariant = this.levels[this.level].invariant;
    this.goal = this.graph.goals.findIndex(function (g) { return g.invariant === invariant; });
    this.advice.textContent = '';
    this.won = null;
    game.play(hash.get('s') || '', true);
  };
  // play takes a schedule: "once: A> A<", with or without the lock's name before it.
  Game.prototype.play = function (schedule, quiet) {
    var words = schedule.slice(schedule.lastIndexOf(':') + 1).trim();
    this.take(words ? words.split(/\s+/) : [], quiet);
  };

  // take takes a schedule from the beginning, as far as it is possible.
  Game.prototype.take = function (path, quiet) {
    var state = 0, states = [0], taken = [], masks = [], broken = [];
    this.advice.textContent = '';
    for (var i = 0; i < path.length; i++) {
      var edge = this.edges(state).find(function (e) { return e.action === path[i]; });
      if (!edge) {
        this.advice.textContent = path[i] + ' is not possible after ' +
          (taken.join(' ') || 'the beginning') + '.';
        break;
      }
      taken.push(path[i]);
      state = edge.to;
      states.push(state);
      masks.push(edge.mask);
      this.broken(edge.mask).forEach(function (name) {
        if (broken.indexOf(name) < 0) { broken.push(name); }
      });
    }
    this.path = taken;
    this.states = states;
    this.masks = masks;
    this.found = broken;
    this.show();
    if (!quiet) { this.write(); }
  };
  Game.prototype.back = function () { this.take(this.path.slice(0, -1)); };
  Game.prototype.write = function () {
    var hash = new URLSearchParams();
    hash.set('level', this.levels[this.level].invariant.replace(/ /g, '-'));
    if (this.path.length) { hash.set('s', this.schedule()); }
    history.replaceState(null, '', '#' + hash);
  };
  Game.prototype.schedule = function () {
    return this.graph.program + ': ' + this.path.join(' ');
  };

  Game.prototype.show = function () {
    var game = this, g = this.graph, level = this.levels[this.level];
    var state = this.states[this.states.length - 1], goal = g.goals[this.goal];
    document.title = level.title + ' · Lock Ladder';
    this.title.textContent = 'Level ' + (this.level + 1) + ': ' + level.title;
    this.ask.replaceChildren(html('b', {}, [g.lock]), ': ' + level.ask + ' (',
      html('i', {}, [level.invariant]), MEANS[level.invariant] ? ': ' +
      MEANS[level.invariant] + ')' : ')');
    this.view.run = this.run(this.states, this.path, this.masks);
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
        var before = game.element.dataset.state;
        game.take(game.path.concat(e.action));
        if (game.element.dataset.state === 'won' && before !== 'won') { game.announce(); }
        else {
          (game.choices.querySelector('button') || game.undo).focus({ preventScroll: true });
        }
      });
      return html('li', { 'data-of': String(order(e.action)[0]) }, [b]);
    }));
    this.undo.disabled = this.again.disabled = this.path.length === 0;
    this.judge(state, goal, level);
    this.shows();
  };
  Game.prototype.judge = function (state, goal, level) {
    var bit = 1 << this.goal, all = (1 << this.graph.goals.length) - 1;
    var text = [], par = goal.steps, won = this.found.indexOf(goal.invariant) >= 0;
    // What was chosen after the break isn't counted.
    var best = this.masks.findIndex(function (mask) { return mask & (won ? bit : all); }) + 1;
    this.element.dataset.state = 'open';
    if (won) {
      text = [html('strong', { 'class': 'broken' }, ['You broke it: ' + goal.invariant +
        '. ']), 'You needed ' + best + ' actions; the explorer\'s cheapest schedule has ' +
        par + '. ', this.next()];
      this.save(level, best);
    } else if (this.found.length > 0) {
      text = [html('strong', { 'class': 'broken' }, ['You broke it: ' +
        this.found.join(', ') + '. ']),
        'The level asks for another invariant, but this break counts as well. Can you also break, or prove, ' + goal.invariant + '? ', this.next()];
      this.save(level, best);
    } else if (this.distances(all)[state] < 0) {
      text = ['Nothing can be broken from here on. Undo, begin again, or claim that no' +
        ' schedule breaks it.'];
      this.element.dataset.state = 'stuck';
    } else if (goal.schedule && this.distances(bit)[state] < 0) {
      text = ['From here on ' + goal.invariant + ' can\'t be broken any more; something' +
        ' else can.'];
      this.element.dataset.state = 'stuck';
    } else {
      text = ['Pick what happens next, or press its number.'];
    }
    this.hint.disabled = this.claim.disabled = this.found.indexOf(goal.invariant) >= 0;
    this.verdict.replaceChildren.apply(this.verdict, text);
  };
  Game.prototype.next = function () {
    this.element.dataset.state = 'won';
    var next = this.levels[this.level + 1];
    return next ? html('a', { href: this.address(next) }, ['Next: ' + next.title + ' →']) :
      'That was the last level.';
  };
  // announce leads the keyboard to the next level, and a screen reader says with its
  // name what was won.
  Game.prototype.announce = function () {
    var link = this.verdict.querySelector('a');
    if (link) { link.setAttribute('aria-describedby', this.verdict.id); }
    (link || this.verdict).focus();
  };
  Game.prototype.address = function (level) {
    if (this.own) { return '#level=' + level.invariant.replace(/ /g, '-'); }
    var home = document.getElementById('home'); // the front page has a level, too
    return new URL('docs/levels/' + level.lock + (/\.html$/.test(home.getAttribute('href')) ?
      '.html' : '.json') + '#level=' + level.invariant.replace(/ /g, '-'), home.href).href;
  };
  Game.prototype.claims = function () {
    var goal = this.graph.goals[this.goal], level = this.levels[this.level];
    if (goal.schedule) {
      this.advice.textContent = 'It can be broken: ' + goal.failing + ' of ' +
        this.graph.schedules + ' schedules do.';
      return;
    }
    if (this.graph.stopped) {
      this.advice.textContent = 'Nobody knows: the explorer stopped after ' +
        this.graph.states.length + ' states and has broken it in none of them.';
      return;
    }
    this.verdict.replaceChildren(html('strong', { 'class': 'proved' },
      ['✓ proved: 0 of ' + this.graph.schedules + ' schedules break it within these' +
      ' bounds (' + this.graph.bounds + '). ']), this.next());
    this.save(level, 0);
    this.shows();
    this.announce();
  };
  // help points to the nearest break of the goal, or else of anything.
  Game.prototype.help = function () {
    var state = this.states[this.states.length - 1], game = this;
    var goal = this.graph.goals[this.goal];
    if (!goal.schedule) {
      this.advice.textContent = 'Try it for a while. Do you find any way at all?';
      return;
    }
    var bit = 1 << this.goal, far = this.distances(bit);
    if (far[state] < 0) {
      this.advice.textContent = 'Not from here. Undo.';
      return;
    }
    var best = this.edges(state).find(function (e) {
      return e.mask & bit && far[state] === 1 || far[e.to] === far[state] - 1 && far[state] > 1;
    });
    this.advice.textContent = far[state] + (far[state] === 1 ? ' action' : ' actions') +
      ' from the nearest break. One way on: ' + best.action + '.';
    game.choices.querySelectorAll('button').forEach(function (b) {
      b.classList.toggle('hinted', b.dataset.action === best.action);
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
    var game = this, done = this.progress();
    this.list.replaceChildren.apply(this.list, this.levels.map(function (l, i) {
      var key = l.lock + ' ' + l.invariant;
      return html('li', i === game.level ? { 'aria-current': 'true' } : {}, [
        done[key] === undefined ? '' : '✓ ',
        html('a', { href: game.address(l) }, [l.title]), ' (' + l.lock + ')']);
    }));
  };

  document.querySelectorAll('.game').forEach(function (element) { new Game(element); });
})();
