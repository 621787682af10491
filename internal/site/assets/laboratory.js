// The laboratory: a reader changes a scenario and has a rung's own code run it again.
// The program that does so is loaded when it is asked for, see laboratory-worker.js.
(function () {
  'use strict';
  var html = lockladder.html;
  var WORKER = document.currentScript.dataset.worker;
  var NUMBERS = [
    { key: 'lease', name: 'lease', unit: 's', scale: 1000, written: '10' },
    { key: 'work', name: 'work under the lock', unit: '%', scale: 1, written: '100' },
    { key: 'latency', name: 'latency', unit: 'ms', scale: 1, written: '0.5' },
    { key: 'poll', name: 'waiters pause up to', unit: 'ms', scale: 1, written: '100' },
    { key: 'skew', name: 'clock ahead by', unit: 's', scale: 1000, written: '0' }
  ];
  // A verdict that says nothing about the lock says why.
  var MEANS = {
    'does not arise': 'The situation of this scenario didn\'t come about in this run.',
    'not offered': 'This lock doesn\'t have what the scenario needs.'
  };
  var FAULTS = [
    ['late reply', 'the reply is late'], ['late', 'the request is late'],
    ['lost request', 'the request is lost'], ['lost reply', 'the reply is lost'],
    ['hang', 'no answer, ever']
  ];
  function button(text, act) {
    var b = html('button', { type: 'button' }, [text]);
    b.addEventListener('click', act);
    return b;
  }
  function option(value, text) { return html('option', { value: value }, [text || value]); }
  function says(f) {
    var kind = FAULTS.find(function (k) { return k[0] === f.kind; });
    return f.client + "'s command " + f.nth + ': ' + (kind ? kind[1] : f.kind) +
      (f.by ? ' by ' + f.by / 1000 + ' s' : '');
  }
  function escaped(text) {
    return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  }

  // Program is the program in its worker. It answers one question at a time.
  function Program() {
    this.waiting = [];
    this.worker = null;
    this.patience = 30; // seconds for an answer
    this.stage = ''; // of what it does before it answers
  }
  Program.prototype.load = function () {
    var program = this;
    if (this.ready) { return this.ready; }
    if (location.protocol === 'file:') {
      return Promise.reject(new Error('A browser runs the laboratory only from a web' +
        ' server: go run ./docs, or any static host'));
    }
    this.ready = new Promise(function (done, failed) {
      var worker = program.worker = new Worker(WORKER);
      program.unready = failed;
      worker.onerror = function (e) { failed(new Error(e.message || 'the worker failed')); };
      worker.onmessage = function (e) {
        if (e.data.stage) { program.stage = e.data.stage; }
        if (e.data.ready) { done(); }
        if (e.data.answer !== undefined) { program.answered(e.data.answer); }
        if (e.data.failed !== undefined) { program.end(e.data.failed); }
      };
    });
    this.ready.catch(function () { program.ready = null; })
      .then(function () { program.stage = ''; });
    return this.ready;
  };
  Program.prototype.ask = function (question) {
    var program = this;
    return this.load().then(function () {
      return new Promise(function (done, failed) {
        program.waiting.push({ done: done, failed: failed, timer: setTimeout(function () {
          program.end('There was no answer within ' + program.patience + ' s. Does a' +
            ' script loop forever? The laboratory starts anew with the next run.');
        }, program.patience * 1000) });
        program.worker.postMessage(JSON.stringify(question));
      });
    });
  };
  Program.prototype.answered = function (text) {
    var first = this.waiting.shift();
    clearTimeout(first.timer);
    first.done(text);
  };
  // end ends a program that does not answer; the next question starts another one.
  Program.prototype.end = function (why) {
    if (this.worker) {
      this.worker.terminate();
      this.unready(new Error(why));
    }
    this.worker = this.ready = null;
    this.waiting.splice(0).forEach(function (w) {
      clearTimeout(w.timer);
      w.failed(new Error(why));
    });
  };

  function Laboratory(element) {
    var lab = this;
    this.element = element;
    this.sources = JSON.parse(element.querySelector('script.sources').textContent);
    this.scripts = JSON.parse(element.querySelector('script.scripts').textContent);
    this.program = new Program();
    this.faults = [];
    this.editors = [];
    this.again = false; // a client that a fault befalls asks once more
    this.outcome = html('p', { 'class': 'outcome', role: 'status' });
    this.soFar = html('span', {});
    this.progress = html('p', { 'class': 'progress', hidden: '' }, [this.soFar, ' ',
      button('stop', function () { lab.stop(); })]);
    this.start = button('Start the laboratory (5 MB)', function () { lab.begin(); });
    element.append(html('p', {}, [this.start]), this.outcome, this.progress);
    if (new URLSearchParams(location.hash.slice(1)).get('rung')) { this.begin(); }
  }

  Laboratory.prototype.stop = function () {
    if (this.program.stage || this.program.waiting.length > 0) {
      this.program.end('Stopped after ' + this.took() + ' s.');
    }
  };

  Laboratory.prototype.report = function (text, classes) {
    this.outcome.textContent = text;
    this.outcome.className = 'outcome ' + (classes || '');
  };
  Laboratory.prototype.begin = function () {
    var lab = this;
    this.start.disabled = true;
    this.report('The program is loading.', 'busy');
    this.ask({ list: true }).then(function (a) {
      lab.catalogue = a.catalogue;
      lab.start.parentNode.remove();
      lab.build();
      lab.read();
      window.addEventListener('hashchange', function () {
        var hash = new URLSearchParams(location.hash.slice(1));
        if (!hash.has('rung')) { // a section of the page, which the browser has shown
          history.replaceState(null, '', '#' + lab.written);
        } else if (withoutStep(hash) !== withoutStep(lab.written)) { lab.read(); }
      });
    }).catch(function (e) {
      lab.start.disabled = false;
      lab.report('The laboratory can\'t be loaded: ' + e.message, 'wrong');
    });
  };

  Laboratory.prototype.build = function () {
    var lab = this, c = this.catalogue;
    this.lock = html('select', {}, [
      html('optgroup', { label: 'rungs' }, c.rungs.map(function (r) { return option(r.name); })),
      html('optgroup', { label: 'exercises that change only Lua' },
        c.exercises.map(function (e) {
          return option('exercise ' + e.number, 'exercise ' + e.number + ' (' + e.rung + ')');
        }))]);
    this.lock.addEventListener('change', function () {
      var scenario = lab.scenario.value, invariant = lab.invariant, before = lab.said;
      lab.choose(scenario);
      if (lab.scenario.value !== scenario) {
        lab.faults = [];
        lab.run();
        return;
      }
      lab.invariant = invariant;
      lab.run(0, before);
    });
    this.scenario = html('select', {});
    this.scenario.addEventListener('change', function () {
      lab.faults = [];
      lab.invariant = '';
      lab.run();
    });
    this.skewed = html('select', { 'aria-label': 'whose clock' },
      ['A', 'B', 'C', 'D'].map(function (name) { return option(name); }));
    this.numbers = {};
    var fields = NUMBERS.map(function (n) {
      var input = lab.numbers[n.key] = html('input', { type: 'number', step: 'any',
        placeholder: n.written, 'aria-label': n.name + ', in ' + n.unit });
      return html('label', {}, [n.key === 'skew' ? lab.skewed : '',
        n.key === 'skew' ? "'s " : '', n.name + ' ', input, ' ' + n.unit]);
    });
    this.settings = html('form', { 'class': 'settings' }, [
      html('div', {}, [html('label', {}, ['lock ', this.lock]),
        html('label', {}, ['scenario ', this.scenario])]),
      html('div', {}, fields),
      html('div', {}, [html('button', { type: 'submit' }, ['Run with these numbers']),
        button('As it is written', function () { lab.reset(); })])]);
    this.settings.addEventListener('submit', function (e) {
      e.preventDefault();
      lab.run();
    });
    // The page's keys would turn pages while a number is typed.
    this.element.addEventListener('keydown', function (e) {
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) { e.stopPropagation(); }
    });
    this.dropped = html('ul', { 'class': 'dropped' });
    this.dropper = html('form', { 'class': 'dropper', hidden: '' });
    this.place = html('div', {});
    this.place.addEventListener('step', function (e) { lab.stepped(e.detail); });
    this.edit = html('div', { 'class': 'edit' });
    this.table = html('div', { 'class': 'verdicts' });
    this.element.append(this.settings, this.dropped, this.outcome, this.progress, this.dropper, this.place,
      this.edit, this.table);
  };

  // exercise is the one that was chosen, or undefined.
  Laboratory.prototype.exercise = function () {
    var chosen = this.lock.value;
    return this.catalogue.exercises.find(function (e) {
      return chosen === 'exercise ' + e.number;
    });
  };
  Laboratory.prototype.rung = function () {
    var e = this.exercise();
    return e ? e.rung : this.lock.value;
  };

  // choose lists the scenarios and the scripts of the lock that was chosen.
  Laboratory.prototype.choose = function (scenario) {
    var lab = this, e = this.exercise(), name = this.rung();
    var rung = this.catalogue.rungs.find(function (r) { return r.name === name; });
    var all = e ? e.scenarios : this.catalogue.scenarios.map(function (s) { return s.name; });
    this.scenario.replaceChildren.apply(this.scenario, all.map(function (s) {
      return option(s, s + (!e && rung.breaks && rung.breaks.indexOf(s) >= 0 ? ' ✗' : ''));
    }));
    this.scenario.value = all.indexOf(scenario) >= 0 ? scenario :
      !e && rung.breaks ? rung.breaks[0] : all[0];
    this.invariant = '';
    this.editors = [];
    this.table.replaceChildren();
    var editors = [];
    Object.keys(this.scripts).sort().forEach(function (file) {
      var slash = file.lastIndexOf('/');
      if (file.slice(0, slash) !== name) { return; }
      var own = e && lab.scripts['docs/exercises/' + e.number + file.slice(slash)];
      var begin = own || lab.scripts[file];
      var area = html('textarea', { spellcheck: 'false', 'aria-label': file,
        rows: String(Math.min(30, begin.split('\n').length + 1)) });
      area.value = begin;
      lab.editors.push({ name: file.slice(slash + 1), file: file, area: area, begin: begin });
      editors.push(html('h4', {}, [file.slice(slash + 1)]), area);
    });
    var all = button(e ? 'Check the exercise' : 'Run all scenarios', function () {
      if (e) { lab.check(e); } else { lab.runAll(); }
    });
    this.edit.replaceChildren.apply(this.edit, editors.length === 0 ? [
      html('p', {}, [name + ' has no script to edit. ', all])] : [
      html('details', e || this.opened ? { open: '' } : {}, [
        html('summary', {}, [e ? 'Exercise ' + e.number + ': ' + e.task :
          'Edit the scripts of ' + name])].concat(editors, [html('p', { 'class': 'buttons' },
        [button('Run with these scripts', function () { lab.run(); }), all,
          button('The scripts as they were', function () {
            lab.editors.forEach(function (s) { s.area.value = s.begin; });
          }), button('Stop', function () { lab.stop(); })])]))]);
  };

  // question is what the page asks for.
  Laboratory.prototype.question = function (scenario) {
    var q = { rung: this.rung(), scenario: scenario, invariant: this.invariant }, lab = this;
    NUMBERS.forEach(function (n) {
      var input = lab.numbers[n.key];
      if (input.value !== '') { q[n.key] = Number(input.value) * n.scale; }
    });
    if (q.skew !== undefined) { q.skewed = this.skewed.value; }
    if (this.faults.length > 0) { q.faults = this.faults; }
    if (this.asksAgain()) { q.again = true; }
    var scripts = this.edited().map(function (s) {
      return { name: s.name, original: lab.scripts[s.file], edited: s.area.value };
    });
    if (scripts.length > 0) { q.scripts = scripts; }
    return q;
  };

  // ask asks, one question after the other, and shows a failure.
  Laboratory.prototype.ask = function (question) {
    var lab = this;
    this.element.dataset.state = 'busy';
    this.began = performance.now();
    clearInterval(this.ticks);
    this.ticks = setInterval(function () {
      lab.soFar.textContent = [lab.program.stage, lab.took() + ' s',
        question.scripts && lab.took() > 1 ? 'does a script loop forever?' : '']
        .filter(Boolean).join(', ');
      lab.progress.hidden = false;
    }, 1000);
    function over() {
      if (lab.program.waiting.length > 0) { return; }
      clearInterval(lab.ticks);
      lab.progress.hidden = true;
    }
    return this.program.ask(question).then(function (text) {
      over();
      lab.raw = text; // for a test, which wants the same bytes
      return JSON.parse(text);
    }, function (e) {
      over();
      lab.element.dataset.state = 'failed';
      lab.report(e.message, 'wrong');
      throw e;
    });
  };
  // took is how many seconds the question that was asked last takes so far.
  Laboratory.prototype.took = function () {
    return Math.round((performance.now() - this.began) / 1000);
  };
  function ignore() { /* it was told */ }
  // withoutStep is an address without the step that the player is at.
  function withoutStep(hash) {
    var params = new URLSearchParams(hash);
    ['t', 'all'].forEach(function (key) { params.delete(key); });
    return params.toString();
  }

  // run runs the scenario. Before is what another lock's run of it said.
  Laboratory.prototype.run = function (at, before) {
    var lab = this, scenario = this.scenario.value, began = performance.now();
    this.all = null;
    if (Array.prototype.some.call(this.settings.querySelectorAll('input'), function (i) {
      return !i.validity.valid; })) {
      this.report('A field has something that is no number (example: 2.5).', 'wrong');
      return;
    }
    this.write();
    this.report(this.lock.value + ' runs ' + scenario + ' …', 'busy');
    this.ask(this.question(scenario)).then(function (a) {
      lab.element.dataset.took = String(Math.round(performance.now() - began));
      lab.show(a, at || 0, before);
      lab.element.dataset.state = 'ready';
    }).catch(ignore);
  };
  Laboratory.prototype.show = function (a, at, before) {
    var broken = (a.verdicts || []).filter(function (v) {
      return v.verdict === 'breaks';
    });
    this.said = a.error || a.unjudged ? null : { lock: this.lock.value +
      (this.edited().length > 0 ? ' with other scripts' : ''), verdicts: a.verdicts || [] };
    if (this.player) { this.player.stop(); }
    if (!a.run) {
      this.report(a.error || beside(this.said, before) + verdicts(a.verdicts),
        a.error ? 'wrong' : '');
      this.place.replaceChildren();
      this.dropper.hidden = true;
      this.shown = null;
      this.list(a);
      return;
    }
    this.report(a.error ? 'This run can\'t be judged: ' + a.error + '. ' + this.advice() :
      [a.outcome, a.unjudged && 'The scenario needs that grant and ends without a verdict.',
        beside(this.said, before) + verdicts(a.verdicts)].filter(Boolean).join(' '),
      a.error ? 'wrong' : broken.length > 0 ? 'broken' :
        (a.verdicts || []).some(function (v) { return v.verdict === 'holds'; }) ? 'holds' : '');
    this.list(a);
    var data = JSON.parse(a.run);
    data.verdict = data.verdict || 'not judged';
    var changes = this.changes();
    if (changes.length > 0) {
      data.summary = 'As it is written: ' + data.summary + ' In this run ' + changes.join(', ') + '.';
    }
    this.shown = { data: data, numbers: a.numbers };
    var hash = new URLSearchParams(this.written);
    hash.set('t', String(at));
    history.replaceState(null, '', '#' + hash);
    this.written = hash.toString();
    var sources = Object.assign({}, this.sources);
    this.edited().forEach(function (s) {
      sources[s.file] = escaped(s.area.value).replace(/\n$/, '').split('\n');
    });
    var holder = html('div', { 'class': 'player', 'data-lock': data.lock });
    var run = html('script', { type: 'application/json', 'class': 'run' });
    run.textContent = JSON.stringify(data);
    var code = html('script', { type: 'application/json', 'class': 'sources' });
    code.textContent = JSON.stringify(sources);
    holder.append(run, code);
    this.place.replaceChildren(holder);
    this.player = new lockladder.Player(holder, 0);
  };
  // beside says what a lock does, and what another one did before, in the same scenario.
  function beside(now, before) {
    if (!now || !before) { return ''; }
    function says(said, breaks, holds, neither) {
      var all = said.verdicts, broken = all.filter(function (v) { return v.verdict === 'breaks'; });
      var first = broken.map(function (v) { return parseFloat(v.event); }).sort(function (x, y) {
        return x - y;
      })[0];
      return said.lock + ' ' + (broken.length > 0 ? breaks + ' at ' + first.toFixed(3) + ' s' :
        all.some(function (v) { return v.verdict === 'holds'; }) ? holds : neither);
    }
    return says(now, 'breaks', 'holds', 'isn\'t put to the test') + '; ' +
      says(before, 'broke', 'held', 'wasn\'t put to the test') + '. ';
  }
  function verdicts(all) {
    return (all || []).map(function (v) {
      return v.invariant + ': ' + v.verdict + (v.event ? ', ' + v.event : '');
    }).concat(Object.keys(MEANS).filter(function (verdict) {
      return (all || []).some(function (v) { return v.verdict === verdict; });
    }).map(function (verdict) { return MEANS[verdict]; })).join(' · ');
  }
  // changes are what is different from the scenario as it is written, whose text has
  // the old numbers.
  Laboratory.prototype.changes = function () {
    var lab = this, all = [];
    NUMBERS.forEach(function (n) {
      var value = lab.numbers[n.key].value;
      if (value === '') { return; }
      all.push(n.key === 'poll' ? n.name + ' ' + value + ' ' + n.unit :
        n.key === 'skew' ? lab.skewed.value + '\'s clock is ahead by ' + value + ' s' :
          n.key === 'work' ? 'the work takes ' + value + ' % of its time' :
            'the ' + n.name + ' is ' + value + ' ' + n.unit);
    });
    return all.concat(this.faults.map(says), this.asksAgain() ? [this.asker() + ' asks again'] : [],
      this.edited().length > 0 ?
      ['scripts are changed'] : []);
  };
  // asker are the clients that ask again after an error, if they are to.
  Laboratory.prototype.asker = function () {
    return this.faults.map(function (f) { return f.client; }).filter(function (name, i, all) {
      return all.indexOf(name) === i;
    }).join(', ');
  };
  Laboratory.prototype.asksAgain = function () { return this.again && this.faults.length > 0; };
  // edited are the scripts that are not the rung's.
  Laboratory.prototype.edited = function () {
    var lab = this;
    return this.editors.filter(function (s) { return s.area.value !== lab.scripts[s.file]; });
  };
  // advice is for a run that ended before its scenario did.
  Laboratory.prototype.advice = function () {
    return 'The scenario can\'t go on from there. ' + (this.faults.length > 0 ?
      'Try a shorter delay or a later command, or take the fault back.' :
      this.edited().length > 0 ? 'Look at what your script returns.' :
        'Try other numbers, or the scenario as it is written.');
  };
  // list shows the faults that were dropped, and those that befell nothing.
  Laboratory.prototype.list = function (a) {
    var lab = this;
    function here(text, act) {
      return button(text, function () {
        act();
        lab.run(lab.player ? lab.player.main.at : 0);
      });
    }
    function again(yes) { return function () { lab.again = yes; }; }
    var items = this.faults.map(function (f) {
      return [says(f), ' ', here('take it back', function () {
        lab.faults = lab.faults.filter(function (other) { return other !== f; });
      })];
    });
    if (this.asksAgain()) {
      items.push([this.asker() + ' asks again after an error ', here('ask only once', again(false))]);
    } else if (a.outcome && a.unjudged) {
      items.push([here('let ' + this.asker() + ' ask again', again(true))]);
    }
    this.dropped.replaceChildren.apply(this.dropped, items.map(function (item) {
      return html('li', {}, item);
    }).concat((a.unfired || []).map(function (text) {
      return html('li', { 'class': 'wrong' }, [text]);
    })));
  };

  // stepped offers a fault for the message that the player shows now.
  Laboratory.prototype.stepped = function (i) {
    var lab = this, shown = this.shown;
    if (!shown) { return; }
    var nth = shown.numbers[i], e = shown.data.entries[i];
    var client = shown.data.clients[e[1]];
    this.dropper.hidden = false;
    if (!nth) {
      this.dropper.dataset.at = '';
      this.dropper.replaceChildren('Step to a command to make it late, or to lose it.');
      return;
    }
    var text = shown.data.texts[e[3]].replace(/, sent at.*/, '').slice(0, 60);
    var about = client + nth + ' ' + text; // another lease makes it another command
    if (this.dropper.dataset.at === about) { return; }
    this.dropper.dataset.at = about;
    // Most scenarios begin with a grant and go on within a second: a reply that is
    // later than that ends them.
    var by = html('input', { type: 'number', step: 'any', min: '0', value: '0.3',
      'aria-label': 'by how many seconds' });
    var seconds = html('label', {}, ['by ', by, ' s']);
    var kind = html('select', { 'aria-label': 'what happens to this message' },
      FAULTS.map(function (f) { return option(f[0], f[1]); }));
    kind.addEventListener('change', function () {
      seconds.hidden = kind.value.indexOf('late') !== 0;
    });
    this.dropper.replaceChildren('What if for ', html('b', {}, [client + "'s command " + nth,
      ', ' + text]), ' ', kind,
    ' ', seconds, ' ', html('button', { type: 'submit' }, ['Run with this fault']));
    this.dropper.onsubmit = function (event) {
      event.preventDefault();
      var f = { client: client, nth: nth, kind: kind.value };
      if (!seconds.hidden) { f.by = Math.round(Number(by.value) * 1e6) / 1e3; }
      lab.faults = lab.faults.filter(function (other) {
        return other.client !== client || other.nth !== nth;
      }).concat([f]);
      lab.run(i);
    };
  };

  // check runs an exercise as go test does.
  Laboratory.prototype.check = function (e) {
    var lab = this, q = this.question('');
    q.exercise = e.number; // only its scripts count
    this.all = null;
    this.report('Exercise ' + e.number + ' runs …', 'busy');
    this.ask(q).then(function (a) {
      var broken = (a.verdicts || []).filter(function (v) { return v.verdict === 'breaks'; });
      if (a.error || broken.length > 0) {
        lab.report(a.error || 'Not solved yet: ' + broken.length + ' of ' + a.verdicts.length +
          ' invariants break.', 'broken');
      } else { lab.report('Solved: exercise ' + e.number + ' holds all its scenarios.', 'holds'); }
      lab.rows(a.verdicts || []);
      lab.element.dataset.state = 'ready';
      if (broken.length > 0) { lab.open(broken[0], true); }
    }).catch(ignore);
  };
  // runAll runs every scenario and shows what breaks, and what does so only now. Another
  // question, about another lock perhaps, ends it.
  Laboratory.prototype.runAll = function () {
    var lab = this, names = this.catalogue.scenarios.map(function (s) { return s.name; });
    var all = this.all = [], errors = 0, n = 0;
    lab.invariant = '';
    var q = this.question('');
    delete q.again;
    delete q.faults; // they belong to one scenario's messages
    function next() {
      if (lab.all !== all) { return null; }
      if (n === names.length) {
        lab.all = null;
        var broken = all.filter(function (v) { return v.verdict === 'breaks'; }).length;
        lab.report(names.length + ' scenarios: ' + broken + ' invariants break, ' +
          all.filter(function (v) { return v.verdict === 'holds'; }).length + ' hold' +
          (errors ? ', ' + errors + ' scenarios can\'t be judged' : '') + '.');
        lab.rows(all);
        lab.element.dataset.state = 'ready';
        return null;
      }
      lab.report('Scenario ' + (n + 1) + ' of ' + names.length + ': ' + names[n], 'busy');
      return lab.ask(Object.assign({}, q, { scenario: names[n] })).then(function (a) {
        if (a.error) {
          errors++;
          all.push({ scenario: names[n], invariant: a.error, verdict: 'can\'t be judged' });
        }
        Array.prototype.push.apply(all, a.error ? [] : a.verdicts);
        n++;
        return next();
      });
    }
    next().catch(ignore);
  };
  Laboratory.prototype.rows = function (all) {
    var lab = this, e = this.exercise(), rows = all.filter(function (v) {
      return e || v.verdict === 'breaks' || v.declared || v.verdict === 'can\'t be judged';
    });
    function differs(v) {
      if (MEANS[v.verdict]) { return MEANS[v.verdict]; }
      if (e || v.verdict === 'can\'t be judged') { return ''; }
      var breaks = v.verdict === 'breaks';
      return breaks === v.declared ? 'as the rung does' :
        breaks ? 'only with your change' : 'your change fixes it';
    }
    this.table.replaceChildren(html('div', { 'class': 'scrolls', tabindex: '0',
      role: 'group', 'aria-label': 'verdicts' }, [html('table', {}, [html('thead', {}, [
      html('tr', {}, ['scenario', 'invariant', 'verdict', ''].map(function (h) {
        return html('th', {}, [h]);
      }))]), html('tbody', {}, rows.map(function (v) {
      return html('tr', {}, [html('td', {}, [button(v.scenario, function () {
        lab.open(v);
      })]), html('td', {}, [v.invariant]),
      html('td', { 'class': v.verdict === 'breaks' ? 'broken' : 'holds' }, [v.verdict]),
      html('td', {}, [differs(v)])]);
    }))])]));
  };
  // open shows the run of a verdict; quietly it leaves the outcome as it is.
  Laboratory.prototype.open = function (v, quietly) {
    var lab = this, said = this.outcome.textContent, how = this.outcome.className;
    this.scenario.value = v.scenario;
    this.invariant = v.verdict === 'can\'t be judged' ? '' : v.invariant;
    this.faults = [];
    this.all = null;
    this.write();
    this.ask(this.question(v.scenario)).then(function (a) {
      lab.show(a, 0);
      if (quietly) {
        lab.outcome.textContent = said;
        lab.outcome.className = how;
      } else { lab.outcome.scrollIntoView(); } // the table is far below
      lab.element.dataset.state = 'ready';
    }).catch(ignore);
  };

  Laboratory.prototype.reset = function () {
    var lab = this;
    Object.keys(this.numbers).forEach(function (key) { lab.numbers[key].value = ''; });
    this.faults = [];
    this.again = false;
    this.editors.forEach(function (s) { s.area.value = s.begin; });
    this.run();
  };

  // write keeps in the address what is asked for, and read takes it from there.
  Laboratory.prototype.write = function () {
    var lab = this, hash = new URLSearchParams();
    hash.set('rung', this.lock.value);
    hash.set('scenario', this.scenario.value);
    if (this.invariant) { hash.set('invariant', this.invariant); }
    NUMBERS.forEach(function (n) {
      if (lab.numbers[n.key].value !== '') { hash.set(n.key, lab.numbers[n.key].value); }
    });
    if (hash.has('skew')) { hash.set('skewed', this.skewed.value); }
    if (this.faults.length > 0) {
      hash.set('faults', this.faults.map(function (f) {
        return [f.client, f.nth, f.kind, f.by || 0].join('.');
      }).join(','));
    }
    if (this.asksAgain()) { hash.set('again', '1'); }
    this.written = hash.toString();
    history.replaceState(null, '', '#' + hash);
  };
  Laboratory.prototype.read = function () {
    var lab = this, hash = new URLSearchParams(location.hash.slice(1));
    this.all = null;
    this.lock.value = hash.get('rung') || 'gold';
    if (!this.lock.value) {
      this.report('There is no lock "' + hash.get('rung') + '": choose one.', 'wrong');
      this.lock.value = 'gold';
      this.choose('overrun_release');
      return;
    }
    this.choose(hash.get('scenario') || 'overrun_release');
    this.invariant = hash.get('invariant') || '';
    NUMBERS.forEach(function (n) { lab.numbers[n.key].value = hash.get(n.key) || ''; });
    this.skewed.value = hash.get('skewed') || 'A';
    this.again = hash.has('again');
    this.faults = (hash.get('faults') || '').split(',').filter(Boolean).map(function (text) {
      var f = text.split('.'), fault = { client: f[0], nth: Number(f[1]) || 0, kind: f[2] || '' };
      var by = Number(f.slice(3).join('.')); // a fraction has a point of its own
      if (by) { fault.by = by; }
      return fault;
    });
    this.run(Number(hash.get('t')) || 0);
  };

  var element = document.querySelector('.laboratory');
  if (element) { lockladder.laboratory = new Laboratory(element); }
})();
