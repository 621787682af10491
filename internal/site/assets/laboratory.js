// The laboratory: a reader changes a scenario and has a rung's own code run it again.
// The program that does so is loaded when it is asked for, see laboratory-worker.js.
(function () {
  'use strict';
  var html = lockladder.html;
  var WORKER = document.currentScript.dataset.worker;
  // A number is as the scenarios have it until it is changed.
  var NUMBERS = [
    { key: 'lease', name: 'lease', unit: 's', scale: 1000, written: '10', said: 'a lease of' },
    { key: 'work', name: 'work', unit: '%', scale: 1, written: '100', said: 'work of' },
    { key: 'latency', name: 'latency', unit: 'ms', scale: 1, written: '0.5', said: 'a latency of' },
    { key: 'poll', name: 'pauses up to', unit: 'ms', scale: 1, written: '100', said: 'pauses of up to' },
    { key: 'skew', name: 'clock ahead', unit: 's', scale: 1000, written: '0', said: 'clock ahead by' }
  ];
  var OVERTAKEN = 'the reader has asked for something else';
  var OWN = 'your lock', OWN_FILE = OWN + '/lock.js', KEPT = 'lockladder own lock';
  // A verdict that says nothing about the lock says why.
  var MEANS = {
    'does not arise': 'The situation that the scenario tests doesn\'t arise in this run.',
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
    this.beat = 0; // when a learner's code last went on
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
        if (e.data.beat) { program.beat = performance.now(); }
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
      var patience = Math.min(program.patience, question.code && !question.worlds ? 20 : Infinity);
      return new Promise(function (done, failed) {
        program.waiting.push({ done: done, failed: failed, timer: setTimeout(function () {
          program.end('There was no answer within ' + patience + ' s. ' + (program.goesOn() ? 'Your code was still running.' :
            'Does ' + (question.code ? 'your code' : 'a script') + ' loop forever?') + ' The laboratory starts anew with the next run.');
        }, patience * 1000) });
        program.worker.postMessage(JSON.stringify(question));
      });
    });
  };
  Program.prototype.goesOn = function () { return this.beat > performance.now() - 3000; };
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
    this.templates = {}; // what a learner's own lock may begin with
    Object.keys(this.scripts).forEach(function (file) {
      var name = /^docs\/own\/(.*)\.js$/.exec(file);
      if (name) { lab.templates[name[1]] = lab.scripts[file]; }
    });
    this.program = new Program();
    this.faults = [];
    this.editors = [];
    this.again = false; // a client that a fault befalls asks once more
    this.outcome = html('p', { 'class': 'outcome', role: 'status' });
    this.soFar = html('span', {});
    this.progress = html('p', { 'class': 'progress', hidden: '' }, [this.soFar, ' ',
      button('stop', function () { lab.stop(); })]);
    this.stale = html('p', { 'class': 'stale', role: 'status', hidden: '' });
    this.told = html('div', { 'class': 'told' }, [this.stale, this.outcome, this.progress]);
    var buttons = element.querySelectorAll('.buttons button'); // in the page, so that nothing moves
    buttons.forEach(function (b) { b.disabled = false; });
    this.start = buttons[0];
    this.start.addEventListener('click', function () { lab.begin(); });
    this.writes = buttons[1];
    this.writes.addEventListener('click', function () {
      history.replaceState(null, '', '#' + new URLSearchParams({ rung: OWN }));
      lab.begin();
    });
    element.append(this.told);
    if (new URLSearchParams(location.hash.slice(1)).get('rung')) { this.begin(); }
    window.addEventListener('hashchange', function () {
      var hash = new URLSearchParams(location.hash.slice(1));
      if (!hash.has('rung')) { // a section of the page, which the browser has shown
        if (lab.written) { history.replaceState(null, '', '#' + lab.written); }
        return;
      }
      if (!lab.catalogue && !lab.start.disabled) { lab.begin(); }
      if (lab.written && withoutStep(hash) !== withoutStep(lab.written)) { lab.read(); }
      lab.element.scrollIntoView(); // a link below it has led here
    });
  }

  Laboratory.prototype.stop = function () {
    if (this.all && this.took() < 2) { // no question hangs: the program can stay
      this.ended(this.began);
      this.program.patience = 30;
      this.report('Stopped.');
      this.element.dataset.state = 'ready';
    } else if (this.program.stage || this.program.waiting.length > 0) {
      this.program.end('Stopped after ' + this.took() + ' s.');
      if (this.place && this.isOwn()) { this.place.replaceChildren(); } // it was of other code
    }
  };

  Laboratory.prototype.report = function (text, classes) {
    this.outcome.replaceChildren.apply(this.outcome, text.split(/(?<=\n)/).map(function (line) {
      return html('span', { 'class': /^[^;]*: breaks(,| at) /.test(line) ? 'wrong' : '' }, [line]);
    }));
    this.outcome.className = 'outcome ' + (classes || '');
    if (classes === 'busy' || !this.settings) { return; }
    if (this.pressed !== undefined && this.settings.offsetWidth === this.element.offsetWidth) {
      this.sight(this.outcome, this.pressed, classes === 'wrong' && 'nearest'); // on a phone it is below the form
    }
    this.pressed = false;
  };
  // sight scrolls to what has come: always, or only if it can't be seen.
  Laboratory.prototype.sight = function (what, always, block) {
    setTimeout(function () { // by then all of it is there
      var box = what.getBoundingClientRect();
      if (always || box.top < 0 || Math.min(box.bottom, box.top + 200) > window.innerHeight) { what.scrollIntoView({ block: block || 'start' }); }
    });
  };
  Laboratory.prototype.begin = function () {
    var lab = this;
    this.start.disabled = this.writes.disabled = true;
    document.documentElement.dataset.begun = '';
    this.report('The program is loading.', 'busy');
    this.ask({ list: true }).then(function (a) {
      lab.catalogue = a.catalogue;
      lab.start.parentNode.remove();
      lab.build();
      lab.read();
    }).catch(function (e) {
      lab.start.disabled = lab.writes.disabled = false;
      delete document.documentElement.dataset.begun;
      lab.report('The laboratory can\'t be loaded: ' + e.message, 'wrong');
    });
  };

  Laboratory.prototype.build = function () {
    var lab = this, c = this.catalogue;
    function first(f, i, all) { return all.indexOf(f) === i; }
    this.families = c.scenarios.map(function (s) { return s.family; }).filter(first);
    this.lock = html('select', {}, [
      html('optgroup', { label: 'write one' }, [option(OWN, 'your own lock')])
    ].concat(c.rungs.map(function (r) { return r.arc; }).filter(first).map(function (arc) {
      return html('optgroup', { label: arc }, c.rungs.filter(function (r) {
        return r.arc === arc;
      }).map(function (r) { return option(r.name); }));
    }), [
      html('optgroup', { label: 'exercises that change only Lua' },
        c.exercises.map(function (e) {
          return option('exercise ' + e.name, 'exercise ' + e.name + ' (' + e.rung + ')');
        }))]));
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
    // The list has half a sentence of each, for which the closed field has no room.
    ['mousedown', 'focus', 'keydown', 'change', 'blur'].forEach(function (kind, i) {
      lab.scenario.addEventListener(kind, function () {
        Array.prototype.forEach.call(lab.scenario.options, function (o) { o.text = o.dataset.name + (i < 3 ? o.dataset.says : ''); });
      });
    });
    this.other = html('select', {}, [option('', 'nothing'), option(OWN, 'your own lock')].concat(
      c.rungs.map(function (r) { return option(r.name); })));
    this.other.addEventListener('change', function () {
      lab.run(lab.player ? lab.player.main.at : 0);
    });
    this.about = html('p', { 'class': 'about' });
    this.skewed = html('select', { 'aria-label': 'whose clock' },
      ['A', 'B', 'C', 'D'].map(function (name) { return option(name); }));
    this.numbers = {};
    var fields = NUMBERS.map(function (n) {
      var input = lab.numbers[n.key] = html('input', { type: 'number', step: 'any',
        value: n.written, 'aria-label': n.name + ', in ' + n.unit });
      input.addEventListener('input', function () { lab.mark(); });
      input.addEventListener('change', function () { // emptied, it is as it was
        if (input.value === '' && input.validity.valid) { input.value = n.written; }
      });
      return html('label', {}, [html('span', {}, [n.key === 'skew' ? lab.skewed : '',
        n.key === 'skew' ? "'s " : '', n.name]), ' ', input, ' ' + n.unit]);
    });
    this.figures = html('details', { open: '' }, [html('summary', {}, ['Numbers'])].concat(fields));
    this.edit = html('div', { 'class': 'edit' });
    this.back = button('Undo changes', function () { lab.reset(); });
    this.more = html('p', { 'class': 'buttons' });
    this.dropped = html('ul', { 'class': 'dropped' });
    this.settings = html('form', { 'class': 'settings' }, [
      html('label', {}, ['lock ', this.lock]), html('label', { 'class': 'scenario' }, ['scenario ', this.scenario]),
      this.about, this.edit, html('label', {}, ['beside it ', this.other]), this.figures,
      html('p', { 'class': 'buttons' }, [html('button', { type: 'submit' }, ['Run it']), this.back]), this.more]);
    this.settings.addEventListener('submit', function (e) {
      e.preventDefault();
      lab.run();
    });
    // A button's verdict is looked at next, a choice may be followed by another one.
    ['click', 'submit', 'change'].forEach(function (kind) {
      lab.element.addEventListener(kind, function (e) { lab.pressed = kind === 'submit' || kind === 'click' && !!e.target.closest('button'); }, true);
    });
    // The page's keys would turn pages while a number is typed.
    this.element.addEventListener('keydown', function (e) {
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) { e.stopPropagation(); }
    });
    this.dropper = html('form', { 'class': 'dropper', hidden: '' });
    this.place = html('div', {});
    this.place.addEventListener('step', function (e) { lab.stepped(e.detail); });
    this.table = html('div', { 'class': 'verdicts' });
    this.element.append(this.settings, html('div', { 'class': 'result' }, [this.dropped, this.told, this.table, this.dropper, this.place]));
    this.element.classList.add('built');
  };
  // mark shows which numbers are changed, also when they are folded.
  Laboratory.prototype.mark = function () {
    var lab = this;
    NUMBERS.forEach(function (n) {
      lab.numbers[n.key].parentNode.classList.toggle('changed', lab.changed(n));
    });
    if (this.figures.querySelector('.changed') && window.innerWidth > 960) { this.figures.open = true; }
    this.back.disabled = this.changes().length === 0 && !this.former;
    var was = this.asked, now = this.inputs(), part = ['code', 'scripts'].find(function (key) {
      return was && JSON.stringify(was[key]) !== JSON.stringify(now[key]);
    });
    this.stale.hidden = !was || JSON.stringify(was) === JSON.stringify(now);
    this.stale.textContent = this.stale.hidden ? '' : ({ code: 'Your code has', scripts: 'A script has' }[part] ||
      'A number has') + ' changed: run it again.';
    if (this.lines) { // the same text again, unseen, has its numbers where the lines are
      this.lines.replaceChildren.apply(this.lines, this.code.value.split('\n').map(function (text) { return html('div', {}, [text]); }));
    }
    this.figures.firstChild.textContent = ['Numbers'].concat(this.set().join(', ') || []).join(': ');
  };
  // inputs are what a run is made with.
  Laboratory.prototype.inputs = function () {
    return Object.assign(this.question(this.scenario.value), { invariant: '' });
  };
  // fresh says that what comes is of what is written now. Clear takes away a run that isn't.
  Laboratory.prototype.fresh = function (clear) {
    if (clear && !this.stale.hidden) {
      this.place.replaceChildren();
      this.table.replaceChildren();
      this.dropper.hidden = true;
      this.shown = this.player = null;
    }
    this.asked = this.inputs();
    this.leading = null;
    this.mark();
  };
  // changed says whether a number isn't as the scenario has it.
  Laboratory.prototype.changed = function (n) {
    var value = this.numbers[n.key].value;
    return value !== '' && Number(value) !== Number(n.written);
  };

  // exercise is the one that was chosen, or undefined.
  Laboratory.prototype.exercise = function () {
    var chosen = this.lock.value;
    return this.catalogue.exercises.find(function (e) {
      return chosen === 'exercise ' + e.name;
    });
  };
  Laboratory.prototype.rung = function () {
    var e = this.exercise();
    return e ? e.rung : this.lock.value;
  };

  Laboratory.prototype.rungOf = function (name) {
    return this.catalogue.rungs.find(function (r) { return r.name === name; });
  };
  Laboratory.prototype.isOwn = function () { return this.lock.value === OWN; };
  Laboratory.prototype.ownCode = function () {
    return this.code ? this.code.value : kept() || this.templates.bronze;
  };

  // editor is where a learner writes a lock. The browser keeps it.
  Laboratory.prototype.editor = function () {
    var lab = this, area = this.code;
    if (!area) {
      area = html('textarea', { spellcheck: 'false', 'aria-label': 'your lock',
        rows: '15', autocapitalize: 'off' });
      area.value = this.ownCode();
      area.addEventListener('input', function () { keep(area.value); lab.mark(); });
      area.addEventListener('scroll', function () { lab.lines.scrollTop = area.scrollTop; });
      this.lines = html('pre', { 'aria-hidden': 'true' });
      this.numbered = html('div', { 'class': 'numbered' }, [area, this.lines]);
      area.addEventListener('keydown', function (e) {
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { lab.run(); }
      });
      this.code = area;
    }
    var begin = html('select', { 'aria-label': 'a rung to begin with' }, [option('', 'begin with …')].concat(
      Object.keys(this.templates).sort(function (x, y) {
        return lab.order(x) - lab.order(y);
      }).map(function (name) { return option(name); })));
    begin.addEventListener('change', function () {
      if (!begin.value) { return; }
      if (Object.values(lab.templates).indexOf(area.value) < 0) { lab.former = area.value; }
      lab.types(lab.templates[begin.value]);
      begin.value = '';
    });
    return [html('p', { 'class': 'buttons' }, [begin, html('a', { href: '#your-own-lock' }, ['what you can use'])]),
      this.numbered, html('p', { 'class': 'buttons' }, [
        html('button', { type: 'submit', title: 'key: Ctrl-Enter' }, ['Run this scenario']),
        button('Run all scenarios', function () { lab.runAll(); }),
        button('A hundred random worlds', function () { lab.worlds(); }),
        button('Copy link', function () { lab.share(); })])];
  };
  // types puts code into the editor as if typed, so that Ctrl-Z brings back what was there.
  Laboratory.prototype.types = function (code) {
    this.code.focus();
    this.code.select();
    if (!document.execCommand('insertText', false, code)) { this.code.value = code; }
    this.code.setSelectionRange(0, 0);
    keep(code);
    this.run();
  };
  Laboratory.prototype.order = function (name) {
    return this.catalogue.rungs.findIndex(function (r) {
      return r.name.slice(r.name.lastIndexOf('/') + 1) === name;
    });
  };
  function kept() {
    try { return localStorage.getItem(KEPT); } catch (e) { return null; }
  }
  function keep(code) {
    try { localStorage.setItem(KEPT, code); } catch (e) { /* it is lost with the page */ }
  }
  // share puts the lock into the address, and copies that.
  Laboratory.prototype.share = function () {
    var lab = this;
    this.write();
    var hash = new URLSearchParams(this.written);
    hash.set('code', this.code.value);
    this.written = hash.toString();
    history.replaceState(null, '', '#' + hash);
    function said(text) { lab.report(text); }
    (navigator.clipboard ? navigator.clipboard.writeText(location.href) : Promise.reject()).then(function () {
      said('The link is copied. It has your lock in it.');
    }, function () { said('The address has your lock in it now: copy it from there.'); });
  };

  // choose lists the scenarios and the scripts of the lock that was chosen.
  Laboratory.prototype.choose = function (scenario) {
    var lab = this, e = this.exercise(), name = this.rung();
    var breaks = e || this.isOwn() ? [] : this.rungOf(name).breaks || [];
    var all = e ? e.scenarios : this.catalogue.scenarios.map(function (s) { return s.name; });
    this.scenario.replaceChildren.apply(this.scenario, this.families.map(function (family) {
      return html('optgroup', { label: family }, lab.catalogue.scenarios.filter(function (s) {
        return s.family === family && all.indexOf(s.name) >= 0;
      }).map(function (s) {
        var o = option(s.name, s.name + (breaks.indexOf(s.name) >= 0 ? ' (breaks)' : ''));
        o.dataset.name = o.text;
        o.dataset.says = ': ' + s.short;
        o.title = s.summary;
        return o;
      }));
    }).filter(function (group) { return group.children.length > 0; }));
    this.scenario.value = all.indexOf(scenario) >= 0 ? scenario : breaks[0] || all[0];
    this.element.classList.toggle('own', this.isOwn());
    this.figures.open = !this.isOwn() && window.innerWidth > 960; // a phone shows the result
    this.invariant = '';
    this.editors = [];
    this.table.replaceChildren();
    this.more.replaceChildren();
    if (this.isOwn()) {
      this.edit.replaceChildren.apply(this.edit, this.editor());
      return;
    }
    var editors = [];
    Object.keys(this.scripts).sort().forEach(function (file) {
      var slash = file.lastIndexOf('/');
      if (file.slice(0, slash) !== name) { return; }
      var own = e && lab.scripts['docs/exercises/' + e.name + file.slice(slash)];
      var begin = own || lab.scripts[file];
      var area = html('textarea', { spellcheck: 'false', 'aria-label': file,
        rows: String(Math.min(30, begin.split('\n').length + 1)) });
      area.value = begin;
      area.addEventListener('input', function () { lab.mark(); });
      lab.editors.push({ name: file.slice(slash + 1), file: file, area: area, begin: begin });
      editors.push(html('b', {}, [file.slice(slash + 1)]), area);
    });
    if (!e) {
      this.more.append(button('Run all scenarios', function () { lab.runAll(); }),
        button('A hundred random worlds', function () { lab.worlds(); }));
    }
    this.edit.replaceChildren.apply(this.edit, editors.length === 0 ? [] : [
      html('details', e || this.opened ? { open: '' } : {}, [
        html('summary', {}, [e ? 'Exercise ' + e.name + ': ' + e.task :
          'Edit the scripts of ' + name])].concat(editors, [html('p', { 'class': 'buttons' },
        [button('Run with these scripts', function () { lab.run(); }),
          button('The scripts as they were', function () {
            lab.editors.forEach(function (s) { s.area.value = s.begin; });
          }), button('Stop', function () { lab.stop(); })])])),
      e ? html('p', { 'class': 'buttons' }, [button('Check the exercise', function () { lab.check(e); })]) : '']);
  };

  // question is what the page asks for.
  Laboratory.prototype.question = function (scenario, other) {
    var q = { rung: other || this.rung(), scenario: scenario, invariant: this.invariant }, lab = this;
    NUMBERS.forEach(function (n) {
      if (lab.changed(n)) { q[n.key] = Number(lab.numbers[n.key].value) * n.scale; }
    });
    if (q.rung === OWN) { q.code = this.ownCode(); }
    if (q.skew !== undefined) { q.skewed = this.skewed.value; }
    if (this.faults.length > 0) { q.faults = this.faults; }
    if (this.asksAgain()) { q.again = true; }
    var scripts = other ? [] : this.edited().map(function (s) {
      return { name: s.name, original: lab.scripts[s.file], edited: s.area.value };
    });
    if (scripts.length > 0) { q.scripts = scripts; }
    return q;
  };

  // ask asks, one question after the other, and shows a failure. A question that has had
  // no answer for half a second, such as that of code that loops, makes way for the next.
  Laboratory.prototype.ask = function (question) {
    var lab = this;
    if (this.program.waiting.length > 0 && performance.now() - this.began > 500) {
      this.program.end(OVERTAKEN);
    }
    this.element.dataset.state = 'busy';
    this.began = performance.now();
    clearInterval(this.ticks);
    if (this.all) { // it is short, and others follow
      this.soFar.textContent = '';
      this.progress.hidden = false;
    }
    this.ticks = setInterval(function () {
      lab.soFar.textContent = [lab.program.stage, lab.took() + ' s',
        lab.took() >= 4 && (question.worlds ? '' : lab.program.goesOn() ? 'still running' : question.code ? 'does your code loop forever?' :
          question.scripts ? 'does a script loop forever?' : '')]
        .filter(Boolean).join(', ');
      lab.progress.hidden = false;
    }, 1000);
    function over() {
      if (lab.program.waiting.length > 0) { return; }
      clearInterval(lab.ticks);
      lab.progress.hidden = !lab.all;
    }
    return this.program.ask(question).then(function (text) {
      over();
      return Object.assign(JSON.parse(text), { asked: question });
    }, function (e) {
      if (e.message === OVERTAKEN) { throw e; }
      lab.all = null;
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
    this.world = -1;
    this.table.replaceChildren(); // it was another question's
    if (this.isOwn() && !this.code.value.trim()) {
      this.report('There is no code yet: begin with a rung.', 'wrong');
      return;
    }
    if (Array.prototype.some.call(this.settings.querySelectorAll('input'), function (i) {
      return !i.validity.valid; })) {
      this.report('A field has something that is no number (example: 2.5).', 'wrong');
      return;
    }
    this.fresh();
    this.write();
    this.tell();
    this.report(this.lock.value + ' runs ' + scenario + ' …', 'busy');
    var other = this.other.value !== this.lock.value && this.other.value;
    this.ask(this.question(scenario)).then(function (a) {
      if (lab.program.waiting.length > 0) { throw new Error(OVERTAKEN); }
      lab.element.dataset.took = String(Math.round(performance.now() - began));
      return (!other || !a.run ? Promise.resolve(before) : lab.ask(lab.question(scenario, other)).then(function (b) {
        return { lock: other, verdicts: b.verdicts || [], run: b.run, numbers: b.numbers, error: b.error, asked: b.asked };
      })).then(function (beside) {
        lab.show(a, at || 0, beside);
        return lab.leads(a);
      });
    }).then(function () { lab.element.dataset.state = 'ready'; }).catch(ignore);
  };
  Laboratory.prototype.show = function (a, at, before) {
    var all = a.verdicts || [], broken = all.some(function (v) { return v.verdict === 'breaks'; });
    var together = unlisted(a);
    this.said = a.error || a.unjudged ? null : { lock: this.lock.value +
      (this.edited().length > 0 ? ' with other scripts' : ''), verdicts: all };
    if (this.player) { this.player.stop(); }
    this.tell();
    this.list(a);
    if (a.error) {
      if (a.mistake) { this.table.replaceChildren(); } // it was of other code
      this.report(a.mistake ? a.error + '.' : a.run ?
        'This run can\'t be judged: ' + a.error + '. ' + this.advice() : a.error, 'wrong');
      this.point(a);
      if (/choose a longer lease/.test(a.error)) { this.longer(); }
    } else {
      this.report([a.outcome, a.unjudged && this.unjudged(all),
        beside(this.said, before), !together && this.spared(all) || verdicts(all)].filter(Boolean).join(' ').replace(/\n /g, '\n'),
      broken ? 'broken' : !together && all.some(function (v) { return v.verdict === 'holds'; }) ? 'holds' : '');
      if (together) { this.elsewhere(together); }
    }
    if (!a.run) {
      this.place.replaceChildren();
      this.dropper.hidden = true;
      this.shown = null;
      return;
    }
    this.play(a, at, before && before.run && before);
  };
  // fixes are the rungs that aren't known to break in a scenario: from a rung on, or from the
  // first that breaks. What reentrant fixes, those that are built on it don't fix first.
  Laboratory.prototype.fixes = function (scenario, name) {
    var all = this.catalogue.rungs, own = this.lock.value;
    function breaks(r) { return r.name === own || (r.breaks || []).indexOf(scenario) >= 0; }
    var from = all.findIndex(function (r) { return name ? r.name === name : breaks(r); });
    var rest = from < 0 ? [] : all.slice(from).filter(function (r) { return !breaks(r); });
    return rest.map(function (r) {
      return rest.find(function (base) { return base.name === r.name.split('/')[0]; }) || r;
    }).filter(function (r, i, bases) { return bases.indexOf(r) === i; });
  };
  // leads says which rung fixes what was broken, when it has held with the same change, and
  // offers to run it, unless a learner is to find out how.
  Laboratory.prototype.leads = function (a) {
    var lab = this, scenario = this.scenario.value, own = this.isOwn(), tried = [];
    var broken = (a.verdicts || []).filter(function (v) { return v.verdict === 'breaks'; });
    if (broken.length === 0 || a.error || a.story || this.exercise()) { return null; }
    function say(parts) { lab.outcome.append('\n', html('span', {}, parts)); }
    var seconds = own && /\b(?:EX|SETEX|EXPIRE)(?: lock:\S+)? (\d{4,})\b/.exec(JSON.parse(a.run).texts.join('\n'));
    var rest = own && this.solving ? [] : this.fixes(scenario, own ? '' : this.lock.value).slice(0, 4);
    if (seconds) {
      say(['This is a lease of ' + seconds[1] + ' s: ttl is in milliseconds. Write PX, or PEXPIRE.']);
      if (rest[0] && / lease/.test(rest[0].idea)) { return null; } // it is fixed by that
    }
    this.leading = a;
    function next() {
      var fix = rest.shift();
      if (!fix) {
        if (tried.length) { say(['The next rungs (' + tried.join(', ') + ') don\'t fix it' + (lab.changes().length ? ' with this change.' : '.')]); }
        return null;
      }
      var asked = lab.ask(lab.question(scenario, fix.name));
      lab.element.dataset.state = 'leads'; // the run is there to look at
      return asked.then(function (b) {
        if (lab.leading !== a) { throw new Error(OVERTAKEN); }
        var all = b.verdicts || [], its = all.filter(function (v) {
          return broken.some(function (other) { return other.invariant === v.invariant; });
        });
        var holds = (its.length ? its : all).every(function (v) { return v.verdict === 'holds'; });
        if (b.error || b.unjudged || all.length === 0 || all.some(function (v) { return v.verdict === 'breaks'; }) ||
          !holds && (lab.faults.length > 0 || its.some(function (v) { return v.verdict === 'not offered'; }))) {
          tried.push(fix.name);
          return next();
        }
        say([holds ? 'Fixed by ' : 'It doesn\'t arise with ', html('b', {}, [fix.name]), ' (' + fix.idea + '). ',
          button('Run ' + fix.name, function () {
            lab.lock.value = fix.name;
            lab.lock.dispatchEvent(new Event('change'));
          }), lab.changes().length ? '' : own ? ' Or change your code.' : ' Or change a number, and run it again.']);
        return null;
      });
    }
    return next();
  };
  // unlisted says that a run has two holders, whom its scenario doesn't judge.
  function unlisted(a) {
    var run = a.run && !a.story && JSON.parse(a.run), entry = run && run.entries.find(function (e) {
      return (run.states[e[8]].inside || []).length > 1;
    });
    return entry && (a.verdicts || []).some(function (v) { return v.invariant === 'two holders' && v.verdict !== 'breaks'; }) &&
      'From ' + (entry[0] / 1e6).toFixed(3) + ' s on ' + run.states[entry[8]].inside.join(' and ') + ' both believe that they' +
      ' hold the lock. This scenario doesn\'t judge that';
  }
  // elsewhere leads to the scenario that judges it.
  Laboratory.prototype.elsewhere = function (text) {
    var lab = this, other = / judged by (\w+)/.exec(this.summary(this.scenario.value));
    this.outcome.append('\n', html('span', {}, other ? [text + '; ' + other[1] + ' does. ', button('Run ' + other[1], function () {
      lab.scenario.value = other[1];
      lab.invariant = '';
      lab.run();
    })] : [text + '.']));
  };
  // longer offers a lease with room for some replies.
  Laboratory.prototype.longer = function () {
    var lab = this, lease = this.numbers.latency.value / 50;
    this.outcome.append('\n', button('Run with a lease of ' + lease + ' s', function () {
      lab.numbers.lease.value = lease;
      lab.run();
    }));
  };
  // unjudged is what has no verdict in a scenario that couldn't go on.
  Laboratory.prototype.unjudged = function (all) {
    var name = this.scenario.value, rest = this.catalogue.scenarios.find(function (s) {
      return s.name === name;
    }).invariants.filter(function (i) { return all.every(function (v) { return v.invariant !== i; }); });
    return rest.length && 'The scenario needs that acquisition and ends there, without a verdict on ' + rest.join(', ') + '.';
  };
  // unfolded are a run's folds without the commands that a fault befalls.
  Laboratory.prototype.unfolded = function (run, numbers) {
    var faults = this.faults;
    return (run.folds || []).flatMap(function (fold) {
      var parts = [], from = fold[0];
      for (var i = from; i <= fold[1] + 1; i++) {
        if (i <= fold[1] && !faults.some(function (f) {
          return numbers && numbers[i] === f.nth && run.clients[run.entries[i][1]] === f.client;
        })) { continue; }
        if (i - from > 2) { parts.push([from, i - 1]); }
        from = i + 1;
      }
      return parts;
    });
  };

  // point shows the line of the learner's code that a mistake is in.
  Laboratory.prototype.point = function (a) {
    var at = a.mistake && /^Line (\d+) /.exec(a.error);
    if (!at || !this.isOwn()) { return; }
    var lines = this.code.value.split('\n'), before = lines.slice(0, at[1] - 1).join('\n').length;
    this.outcome.append('\n', html('code', {}, [(lines[at[1] - 1] || '').trim()]));
    this.code.setSelectionRange(before + (at[1] > 1 ? 1 : 0), before + 1 + (lines[at[1] - 1] || '').length);
    if (!window.matchMedia('(pointer: coarse)').matches) { this.code.focus({ preventScroll: true }); } // or a keyboard covers all
  };

  // play puts a run into the player, and another lock's beside it.
  Laboratory.prototype.play = function (a, at, other) {
    var data = JSON.parse(a.run), holder = html('div', { 'class': 'player', 'data-lock': data.lock });
    function put(name, what) {
      var script = html('script', { type: 'application/json', 'class': name });
      script.textContent = JSON.stringify(what);
      holder.append(script);
    }
    data.verdict = data.verdict || 'not judged';
    data.folds = this.unfolded(data, a.numbers);
    var breaks = (a.verdicts || []).filter(function (v) { return v.at; });
    if (breaks.length > 1) { data.breaks = breaks.map(function (v) { return { at: v.at, names: [v.invariant] }; }); }
    this.shown = a.numbers ? { data: data, numbers: a.numbers } : null; // a world takes no fault
    var hash = new URLSearchParams(this.written);
    hash.set('t', String(at));
    history.replaceState(null, '', '#' + hash);
    this.written = hash.toString();
    var sources = Object.assign({}, this.sources);
    function replace(file, text) {
      sources[file] = escaped(text).replace(/\n$/, '').split('\n');
    }
    (a.asked.scripts || []).forEach(function (s) { replace(a.asked.rung + '/' + s.name, s.edited); });
    replace(OWN_FILE, a.asked.code || other && other.asked.code || ''); // not what is written since
    put('run', data);
    if (other) {
      var its = other.numbers;
      other = JSON.parse(other.run);
      other.folds = this.unfolded(other, its);
      other.verdict = other.verdict || 'not judged';
      put('run', other);
    }
    put('sources', sources);
    this.place.replaceChildren(holder); // the address says what is shown beside it
    this.player = new lockladder.Player(holder, 0);
    if (other && this.beside !== other.lock) { this.player.reveal(); }
    this.beside = other && other.lock;
  };
  // beside says what a lock does, and what another one did before or does beside it, in
  // the same scenario.
  function beside(now, other) {
    if (!now || !other || other.error) { return ''; }
    function says(said) {
      var all = said.verdicts, broken = all.filter(function (v) { return v.verdict === 'breaks'; });
      var first = broken.map(function (v) { return parseFloat(v.event); }).sort(function (x, y) {
        return x - y;
      })[0];
      return said.lock + ': ' + (broken.length > 0 ? 'breaks at ' + first.toFixed(3) + ' s' :
        all.some(function (v) { return v.verdict === 'holds'; }) ? 'holds' : all[0] ? all[0].verdict : 'not judged');
    }
    return says(now) + (other.run ? '.\n' : '; before it, ') + says(other) + '.\n';
  }
  function verdicts(all) {
    return (all || []).map(function (v) {
      return v.invariant + ': ' + v.verdict + (v.event ? ', ' + v.event : '');
    }).concat(meaning(all || [])).join('\n');
  }
  // meaning is why some of the verdicts say nothing about the lock.
  function meaning(all) {
    return all.some(function (v) { return v.verdict === 'breaks'; }) ? [] : Object.keys(MEANS).filter(function (verdict) {
      return all.some(function (v) { return v.verdict === verdict; });
    }).map(function (verdict) { return MEANS[verdict]; });
  }
  // spared says in words that nothing breaks any more of what the lock is known to
  // break, since the numbers are others.
  Laboratory.prototype.spared = function (all) {
    var changes = this.changes(), work = this.numbers.work.value, long = this.works();
    if (changes.length === 0 || !all.some(function (v) { return v.declared; }) ||
      all.some(function (v) { return v.verdict === 'breaks'; })) { return ''; }
    return ['With ' + changes.join(', ') + ' ' + this.lock.value + ' doesn\'t break in ' +
      (long ? long * (work || 100) / 100 + ' s of work' : 'this scenario') + '.'].concat(meaning(all)).join(' ') + ' ' +
      (long && !this.changed(NUMBERS[1]) ? 'Now make the work longer.' : 'How far can you go back until it breaks?');
  };
  // works is how many seconds the scenario's holder works, if its summary says so.
  Laboratory.prototype.works = function () {
    var long = / works? for ([\d.]+) s\b/.exec(' ' + this.summary(this.scenario.value));
    return long && long[1];
  };
  Laboratory.prototype.summary = function (name) {
    return this.catalogue.scenarios.find(function (s) { return s.name === name; }).summary;
  };
  // tell says what happens in the scenario, and what this run has changed.
  Laboratory.prototype.tell = function () {
    var long = this.works(), work = this.numbers.work.previousElementSibling;
    work.textContent = long ? 'work of ' + long + ' s' : 'work';
    var changes = this.changes(), summary = this.summary(this.scenario.value);
    this.about.textContent = changes.length === 0 ? summary :
      'As it is written: ' + summary + ' This run has ' + changes.join(', ') + '.';
  };
  // set are the numbers that are changed.
  Laboratory.prototype.set = function () {
    var lab = this;
    return NUMBERS.filter(function (n) { return lab.changed(n); }).map(function (n) {
      return (n.key === 'skew' ? lab.skewed.value + "'s " : '') + n.said + ' ' +
        lab.numbers[n.key].value + ' ' + n.unit;
    });
  };
  // changes are what is different from the scenario as it is written, whose text has
  // the old numbers.
  Laboratory.prototype.changes = function () {
    return this.set().concat(this.faults.map(says), this.asksAgain() ? [this.asker() + ' that asks again'] : [],
      this.edited().length > 0 ? ['other scripts'] : []);
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
      this.isOwn() ? 'Look at what your functions return.' :
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
    this.dropper.replaceChildren(html('b', {}, [client + "'s command " + nth, ', ' + text.replace(/ lock:stock|EVAL(SHA)? (?=\S+\.lua)/g, '')]), ' ', kind,
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
    q.exercise = e.name; // only its scripts count
    this.fresh(true);
    this.all = null;
    this.report('Exercise ' + e.name + ' runs …', 'busy');
    this.ask(q).then(function (a) {
      var broken = (a.verdicts || []).filter(function (v) { return v.verdict === 'breaks'; });
      if (a.error || broken.length > 0) {
        lab.report(a.error || 'Not solved yet: ' + broken.length + ' of ' + a.verdicts.length +
          ' invariants break.', 'broken');
      } else { lab.report('Solved: exercise ' + e.name + ' holds all its scenarios.', 'holds'); }
      lab.rows(a.verdicts || []);
      lab.element.dataset.state = 'ready';
      if (broken.length > 0) { lab.open(broken[0], true); }
    }).catch(ignore);
  };
  // runAll runs every scenario and shows what breaks, and what does so only now.
  Laboratory.prototype.runAll = function () {
    var lab = this, scenario = this.scenario.value, began = performance.now();
    lab.invariant = '';
    this.fresh(true);
    var q = this.question('');
    delete q.again;
    delete q.faults; // they belong to one scenario's messages
    this.each('', function (all, errors) {
      lab.ended(began);
      if (lab.isOwn() && lab.changes().length === 0) { lab.worldsOf(q).shown = shows(all); }
      lab.report(lab.count(all, errors), all.some(function (v) {
        return v.verdict === 'breaks'; }) ? 'broken' : 'holds');
      lab.rows(all);
      var broken = all.filter(function (v) { return v.verdict === 'breaks'; });
      var first = broken.find(function (v) { return v.scenario === scenario; }) || broken[0];
      return (lab.isOwn() && lab.changes().length === 0 ? lab.grade(all) : Promise.resolve()).then(function () {
        if (first) { lab.open(first, true); } else { lab.element.dataset.state = 'ready'; }
      });
    }, q);
  };
  // each asks about every scenario. Another question, about another lock perhaps, ends it.
  Laboratory.prototype.each = function (why, done, q) {
    var lab = this, names = this.catalogue.scenarios.map(function (s) { return s.name; });
    var all = this.all = [], errors = 0, n = 0;
    function next() {
      if (lab.all !== all) { return null; }
      if (n === names.length) { return done(all, errors); }
      lab.report(why + 'Scenario ' + (n + 1) + ' of ' + names.length + ': ' + names[n], 'busy');
      return lab.ask(Object.assign({}, q, { scenario: names[n] })).then(function (a) {
        if (lab.all !== all) { return null; }
        if (a.mistake && !a.early) { // it would be the same in most of those that follow
          lab.ended(lab.began);
          lab.scenario.value = names[n];
          lab.show(a, 0);
          lab.element.dataset.state = 'ready';
          return null;
        }
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
  // ended ends what asks one question after the other.
  Laboratory.prototype.ended = function (began) {
    this.all = null;
    this.progress.hidden = true;
    this.element.dataset.took = String(Math.round(performance.now() - began));
  };
  // grade adds where the learner's lock stands, and what to fix next.
  Laboratory.prototype.grade = function (all) {
    var lab = this, counted = this.outcome.textContent;
    var ladder = this.catalogue.rungs.filter(function (r) { return r.arc === 'Safety'; }).map(function (r) { return r.name; });
    var asked = ladder.findIndex(function (name) { return name.split('/').pop() === lab.solving; });
    return this.ask({ grade: all }).then(function (a) {
      lab.outcome.replaceChildren.apply(lab.outcome, a.grade.says.slice(0, 3).map(function (says, i) {
        var steps = /^([^:]*: )(.*)\.$/.exec(says);
        return i < 1 ? html('b', {}, [says]) : !steps ? html('div', {}, [says]) : html('div', {}, [steps[1], html('ul', {},
          steps[2].split(/, (?=\w+(?: \(|,|$))/).map(function (step) {
            var name = step.split(' ')[0], v = all.find(function (v) { return v.scenario === name && v.verdict === 'breaks'; }) ||
              all.find(function (v) { return v.scenario === name; });
            return html('li', {}, v ? [button(name, function () { lab.open(v, true); }), step.slice(name.length)] : [step]);
          }))]);
      }).concat(html('small', {}, [counted])));
      if (asked >= 0 && ladder.indexOf(a.grade.rung) >= asked) {
        lab.outcome.prepend(html('b', {}, ['The exercise is solved. ']));
      }
    });
  };
  // worlds plays a hundred random worlds, some at a time, until something breaks that isn't
  // declared, or that no scenario has shown of a learner's lock. A further click plays the next
  // hundred. The shortest run of a break takes many more worlds to find.
  Laboratory.prototype.worlds = function (known) {
    var lab = this, began = performance.now(), q = this.question(this.scenario.value), own = this.isOwn();
    var played = this.worldsOf(q), n = known ? 0 : played.end, end = n + 100, all;
    function next() {
      if (lab.all !== all) { return null; }
      if (n === end) { return ended({}); }
      lab.report('Random world ' + (n + 1) + ' of ' + end, 'busy');
      return lab.ask(Object.assign({}, q, { worlds: [n, n += 10], shown: known ? [] : played.shown }))
        .then(function (a) { return lab.all !== all ? null : a.error || a.run ? ended(a) : next(); });
    }
    function ended(a) {
      lab.ended(began);
      lab.program.patience = 30;
      lab.world = a.story && !known ? played.end = n - 10 : -1; // the address leads to it
      lab.write();
      if (a.error || a.run) { lab.show(a, 0); }
      lab.about.textContent = a.story ? 'Not ' + lab.scenario.value + ' but a random world, as short as' +
        ' it can be: ' + a.story + (JSON.parse(a.run).clients.indexOf('Z') < 0 ? '' :
        ' Z asks for the lock at the end of every world.') : '';
      if (a.story) {
        lab.outcome.prepend('One of the first ' + n + ' random worlds breaks ' + lab.lock.value +
          (known ? ', as its scenarios do.\n' : ' in a way that ' + (own ? 'no scenario shows.\n' : 'the matrix doesn\'t have.\n')));
      }
      lab.dropper.hidden = true;
      if (!a.error && !a.run) {
        played.end = end;
        known = !own ? 'the matrix says of it' : played.shown.length ? 'its scenarios show, too' : '';
        lab.report('In ' + end + ' random worlds ' + lab.lock.value + ' broke nothing' + (known && ' but what ' + known) +
          '. Another click plays a hundred more.', known ? '' : 'holds');
        if (own && known) { lab.outcome.append(' ', button('See one of them', function () { lab.worlds(true); })); }
        if (lab.player) { lab.outcome.append('\nThe run below is ' + lab.scenario.value + '.'); }
      }
      lab.element.dataset.state = 'ready';
      return null;
    }
    function play() {
      all = lab.all = [];
      lab.table.replaceChildren();
      lab.program.patience = 300;
      next().catch(function () { lab.program.patience = 30; });
    }
    this.fresh(true);
    if (!own || played.shown) { return play(); }
    this.each('First what its scenarios show: ', function (verdicts) {
      played.shown = shows(verdicts);
      play();
    }, { rung: q.rung, code: q.code, invariant: '' });
  };
  // worldsOf is how far the random worlds of a question were played, and what its lock's own
  // scenarios have shown.
  Laboratory.prototype.worldsOf = function (q) {
    var key = JSON.stringify([q.rung, q.code, q.scripts]);
    if (!this.played || this.played.key !== key) { this.played = { key: key, end: 0 }; }
    return this.played;
  };
  function shows(all) {
    return all.filter(function (v) { return v.verdict === 'breaks'; }).map(function (v) {
      return { scenario: v.scenario, invariant: v.invariant };
    });
  }
  // count says how many of the invariants break, and how many only because of a change.
  Laboratory.prototype.count = function (all, errors) {
    var lab = this, names = this.catalogue.scenarios.length;
    function of(verdict, declared) {
      return all.filter(function (v) {
        return v.verdict === verdict && (declared === undefined || v.declared === declared);
      }).length;
    }
    var changed = this.changes().length > 0 || this.isOwn(), breaks = of('breaks');
    var rest = all.length - errors - breaks - of('holds');
    var fixed = all.filter(function (v) { return v.declared && v.verdict !== 'breaks'; }).length;
    return names + ' scenarios look at ' + all.length + ' invariants: ' + breaks + ' break' +
      (!changed || this.isOwn() ? '' : ', ' + of('breaks', false) + ' only because of your change') + ', ' + of('holds') +
      ' hold' + (rest ? ', ' + rest + ' don\'t arise or aren\'t offered' : '') +
      (errors ? ', ' + scenarios(errors) + ' can\'t be judged: ' + all.find(function (v) {
        return v.verdict === 'can\'t be judged'; }).invariant : '') + '.' +
      (fixed ? ' Your change fixes ' + fixed + '.' : '') +
      (this.isOwn() && this.changes().length === 0 ? this.likeness(all) : '');
  };
  // nearest are the rungs that break in the same scenarios as a learner's lock, or in the
  // fewest others.
  Laboratory.prototype.nearest = function (all) {
    function breaks(of, scenario) { return (of || []).indexOf(scenario) >= 0; }
    var broken = all.filter(function (v) { return v.verdict === 'breaks'; }).map(function (v) { return v.scenario; });
    var names = this.catalogue.scenarios.map(function (s) { return s.name; }), differ = Infinity, rungs = [];
    this.catalogue.rungs.forEach(function (r) {
      var n = names.filter(function (s) { return breaks(broken, s) !== breaks(r.breaks, s); }).length;
      if (n < differ) { rungs = []; }
      if (n <= differ) { rungs.push(r.name); }
      differ = Math.min(n, differ);
    });
    return { differ: differ, rungs: rungs };
  };
  Laboratory.prototype.likeness = function (all) {
    var near = this.nearest(all), names = near.rungs.join(' and ');
    return near.differ === 0 ? ' Your lock breaks where ' + names + (near.rungs.length > 1 ? ' break.' : ' breaks.') :
      ' Nearest to ' + names + ': ' + scenarios(near.differ) + (near.differ > 1 ? ' differ.' : ' differs.');
  };
  function scenarios(n) { return n + (n > 1 ? ' scenarios' : ' scenario'); }
  Laboratory.prototype.rows = function (all) {
    var lab = this, e = this.exercise(), near = this.isOwn() && this.nearest(all).rungs[0];
    var rows = all.filter(function (v) {
      return e || v.verdict === 'breaks' || v.declared || v.verdict === 'can\'t be judged';
    });
    function differs(v) {
      if (MEANS[v.verdict]) { return MEANS[v.verdict]; }
      if (e || v.verdict === 'can\'t be judged') { return ''; }
      var breaks = v.verdict === 'breaks';
      if (lab.isOwn() || !lab.changes().length) { // with other numbers it may break
        var better = !lab.changes().length && lab.fixes(v.scenario, near || lab.lock.value)[0];
        return better ? better.name + ' doesn\'t break' : '';
      }
      return breaks === v.declared ? 'as the rung does' :
        breaks ? 'only with your change' : 'your change fixes it';
    }
    var more = rows.some(function (v) { return differs(v).replace('as the rung does', ''); });
    this.table.replaceChildren(html('div', { 'class': 'scrolls', tabindex: '0',
      role: 'group', 'aria-label': 'verdicts' }, [html('table', {}, [html('thead', {}, [
      html('tr', {}, ['scenario', 'invariant', 'verdict'].concat(more ? '' : []).map(function (h) {
        return html('th', {}, [h]);
      }))]), html('tbody', {}, rows.map(function (v) {
      var opens = button('', function () { lab.open(v); });
      opens.append.apply(opens, v.scenario.split(/(?<=_)/).flatMap(function (part) { return [part, html('wbr')]; }));
      opens.title = lab.summary(v.scenario);
      return html('tr', {}, [html('td', {}, [opens]), html('td', {}, [v.invariant]),
      html('td', { 'class': v.verdict === 'breaks' ? 'broken' : 'holds' }, [v.verdict])].concat(
        more ? html('td', {}, [differs(v)]) : []));
    }))])]));
  };
  // open shows the run of a verdict; quietly it leaves the outcome as it is.
  Laboratory.prototype.open = function (v, quietly) {
    var lab = this, said = Array.from(this.outcome.childNodes), how = this.outcome.className;
    this.scenario.value = v.scenario;
    this.invariant = v.verdict === 'can\'t be judged' ? '' : v.invariant;
    this.faults = [];
    if (quietly && !this.stale.hidden) { this.run(); return; } // what was said is of something else
    this.all = null;
    this.world = -1;
    this.fresh(true);
    this.write();
    var pressed = this.pressed;
    this.pressed = false;
    this.ask(this.question(v.scenario)).then(function (a) {
      lab.show(a, 0);
      if (pressed) { lab.sight(lab.place); }
      if (!quietly) { return lab.leads(a); }
      lab.outcome.replaceChildren.apply(lab.outcome, said);
      lab.outcome.className = how;
      return null;
    }).then(function () { lab.element.dataset.state = 'ready'; }).catch(ignore);
  };

  Laboratory.prototype.reset = function () {
    var lab = this, former = this.isOwn() && this.former;
    if (former) { // first the code that a rung has replaced
      this.former = '';
      this.types(former);
      return;
    }
    NUMBERS.forEach(function (n) { lab.numbers[n.key].value = n.written; });
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
      if (lab.changed(n)) { hash.set(n.key, lab.numbers[n.key].value); }
    });
    if (hash.has('skew')) { hash.set('skewed', this.skewed.value); }
    if (this.faults.length > 0) {
      hash.set('faults', this.faults.map(function (f) {
        return [f.client, f.nth, f.kind, f.by || 0].join('.');
      }).join(','));
    }
    if (this.asksAgain()) { hash.set('again', '1'); }
    if (this.other.value) { hash.set('beside', this.other.value); }
    if (this.world >= 0) { hash.set('worlds', this.world); }
    if (this.solving && this.isOwn()) { hash.set('exercise', this.solving); }
    this.mark();
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
    this.choose(hash.get('scenario') || (this.isOwn() ? 'crash_holding' : 'overrun_release'));
    this.other.value = hash.get('beside') || '';
    this.invariant = hash.get('invariant') || '';
    NUMBERS.forEach(function (n) { lab.numbers[n.key].value = hash.get(n.key) || n.written; });
    this.skewed.value = hash.get('skewed') || 'A';
    this.again = hash.has('again');
    this.solving = /^[a-z]+$/.test(hash.get('exercise')) && hash.get('exercise');
    this.world = hash.has('worlds') ? Math.floor(hash.get('worlds')) || 0 : -1;
    this.faults = (hash.get('faults') || '').split(',').filter(Boolean).map(function (text) {
      var f = text.split('.'), fault = { client: f[0], nth: Number(f[1]) || 0, kind: f[2] || '' };
      var by = Number(f.slice(3).join('.')); // a fraction has a point of its own
      if (by) { fault.by = by; }
      return fault;
    });
    if (hash.has('code') && this.isOwn()) { // somebody else's is read before it is run
      this.code.value = hash.get('code');
      this.worldsOf(this.question(this.scenario.value)).end = Math.max(0, this.world);
      this.written = hash.toString();
      this.tell();
      this.mark();
      this.fresh(true);
      this.report(this.solving ? 'Change this lock, and run all scenarios, until it stands on ' + this.solving + '. ' :
        'This lock came with the link. Look at it, and run ' + (this.world < 0 ? 'it.' : 'a hundred random worlds: the link leads to one of them.'));
      var task = this.solving && document.querySelector('main a[href*="exercises/"]');
      if (task) { this.outcome.append(html('a', { href: task.href.replace('exercises/', '$&' + this.solving + '/') }, ['The exercise, with hints'])); }
      this.element.dataset.state = 'ready';
      return;
    }
    if (this.world < 0) { this.run(Number(hash.get('t')) || 0); return; }
    this.worldsOf(this.question(this.scenario.value)).end = this.world;
    this.worlds();
  };

  // Sentence lets a reader change the bold numbers of a paragraph, in the order in which
  // its link to the laboratory names them, and says what comes of it.
  function Sentence(link) {
    var sentence = this, base = link.href.split('#')[0];
    this.link = link;
    this.hash = new URLSearchParams(link.hash.slice(1));
    this.outcome = html('p', { 'class': 'outcome', role: 'status' });
    var paragraph = link.closest('p'), bold = paragraph.querySelectorAll('strong');
    paragraph.classList.add('tried');
    NUMBERS.filter(function (n) { return sentence.hash.has(n.key); }).forEach(function (n, i) {
      var written = parseFloat(bold[i].textContent), scale = sentence.hash.get(n.key) / written;
      var now = html('output', {}, [bold[i].textContent]);
      var slider = html('input', { type: 'range', min: '1', max: String(3 * written), step: '1',
        value: String(written), 'aria-label': n.name + ', in s' });
      slider.addEventListener('input', function () {
        now.textContent = slider.value + ' s';
        sentence.hash.set(n.key, String(Math.round(slider.value * scale * 10) / 10));
        link.href = base + '#' + sentence.hash;
        clearTimeout(sentence.timer);
        sentence.timer = setTimeout(function () { sentence.run(); }, 150);
      });
      // The page's keys would turn pages while the slider moves.
      slider.addEventListener('keydown', function (e) { e.stopPropagation(); });
      bold[i].replaceChildren(html('label', {}, [slider, ' ', now]));
    });
    paragraph.after(this.outcome);
  }
  Sentence.program = new Program();
  Sentence.prototype.run = function () {
    var sentence = this, hash = this.hash, scenario = hash.get('scenario');
    var q = { rung: hash.get('rung'), scenario: scenario, invariant: '' };
    NUMBERS.forEach(function (n) { if (hash.has(n.key)) { q[n.key] = hash.get(n.key) * n.scale; } });
    var asked = this.asked = JSON.stringify(q);
    if (!Sentence.program.worker) { this.say('The laboratory is loading (5 MB).', ''); }
    Sentence.program.ask(q).then(function (text) {
      var a = JSON.parse(text), broken = (a.verdicts || []).find(function (v) { return v.verdict === 'breaks'; });
      if (asked !== sentence.asked) { return; } // the reader has moved on
      sentence.say(a.error || (broken ? broken.invariant + ', ' + broken.event :
        q.rung + ' doesn\'t break: no two clients hold the lock together.'), broken || a.error ? 'broken' : 'holds');
    }).catch(function (e) { sentence.say(e.message, 'wrong'); });
  };
  Sentence.prototype.say = function (text, classes) {
    this.outcome.textContent = text;
    this.outcome.className = 'outcome ' + classes;
  };
  if (location.protocol !== 'file:') {
    document.querySelectorAll('p a[href*="lab."][href*="&lease="]').forEach(function (link) {
      new Sentence(link);
    });
  }

  var element = document.querySelector('.laboratory');
  if (element) { lockladder.laboratory = new Laboratory(element); }
})();
