// What the site's pages show. A check is for some pages, at some sizes; it returns what is
// wrong. TestWhatPagesShow runs them.
(() => {
  const all = (selector, of = document) => Array.from(of.querySelectorAll(selector));
  const bottom = e => e.getBoundingClientRect().bottom;
  const wait = ms => new Promise(resolve => setTimeout(resolve, ms));
  const until = async is => { for (let n = 0; n < 200 && !is(); n++) { await wait(20); } };
  const key = (key, at = document) => at.dispatchEvent(new KeyboardEvent('keydown',
    { key, bubbles: true, cancelable: true }));
  const desktop = [[1366, 768]], both = [[1366, 768], [390, 844]];

  return [
    { name: 'the first page is a level that two moves win, without scrolling', pages: ['/'],
      sizes: both.concat([[1920, 1080]]), check: async wrong => {
        const shown = all('.front h1, .front h2, .front p').filter(e => e.offsetParent);
        const words = shown.map(e => e.innerText).join(' ').split(/\s+/).length;
        if (words > 40) { wrong.push(words + ' words before the first click'); }
        for (const action of ['A>', 'Ax']) {
          const target = all('.front .lanes [data-action]').find(e =>
            e.dataset.action === action), box = target.getBoundingClientRect();
          if (box.bottom > innerHeight) { wrong.push(action + ' is below the screen'); }
          target.dispatchEvent(new MouseEvent('click', { bubbles: true }));
          await wait(400);
        }
        if (document.querySelector('.game').dataset.state !== 'won') { wrong.push('not won'); }
        if (bottom(document.querySelector('.game .verdict')) > innerHeight || scrollY > 0) {
          wrong.push('the win is below the screen');
        }
        const next = document.querySelector('.game a.next');
        if (!/docs\/levels\/silver\.json#level=orphaned$/.test(next.href)) {
          wrong.push('it goes on with ' + next.href);
        }
        if (all('.ways > section > h2').slice(0, 4).map(h => h.textContent).join() !==
            'Play,Climb,Decide,Teach') { wrong.push('not the four ways'); }
      } },

    { name: 'a level has its buttons in sight, also on a phone, and all that a win says',
      pages: ['/docs/levels/silver.json#level=orphaned', '/docs/levels/gold.json#level=lost-update',
        '/docs/levels/diamond.json#level=lost-update'], sizes: [[1280, 720], [390, 844]], check: async wrong => {
        const hint = all('.game .controls button').find(b => b.innerText === 'hint');
        hint.click();
        for (const e of [hint].concat(all(innerWidth > 960 ? '.game :is(.advice, .facts, .here)' : '.game :is(.advice, .facts)'))) {
          if (bottom(e) > innerHeight || !e.offsetHeight) { wrong.push(e.innerText + ' ends at ' + bottom(e)); }
        }
        const asked = location.hash.slice(7).replace(/-/g, ' ');
        const goal = JSON.parse(document.querySelector('script.graph').textContent).goals.find(g => g.invariant === asked);
        goal.schedule.split(': ')[1].split(' ').forEach(action =>
          document.querySelector(`.game .choices [data-action="${action}"]`).click());
        const box = document.querySelector('.game .scroll'), next = document.querySelector('.game .next');
        if (box.scrollHeight > box.clientHeight) { wrong.push(box.scrollHeight - box.clientHeight + ' pixels of the win are hidden'); }
        if (bottom(next) > bottom(document.querySelector('.game .controls')) || bottom(next) > innerHeight) { wrong.push('no way on in sight'); }
      } },

    { name: 'a shared link has a description, a picture and an icon',
      pages: ['/', '/docs/3-gold.md'], sizes: desktop, check: async wrong => {
        for (const url of [document.querySelector('meta[property="og:image"]').content,
          document.querySelector('link[rel=icon]').href]) {
          const got = await fetch(url);
          if (!got.ok) { wrong.push(url + ': ' + got.status); }
        }
        if (document.querySelector('meta[name=description]').content.length < 50) {
          wrong.push('no description');
        }
      } },

    { name: 'the pages are in six groups, and the one that is shown is marked',
      pages: ['/docs/3-gold.md', '/docs/workshop.md', '/docs/exercises/gold/README.md',
        '/docs/levels/gold.json#level=lost-update'], sizes: desktop, check: async wrong => {
        const groups = all('.side details details > summary').map(s => s.textContent).join();
        if (groups !== 'Play,Climb,Decide,Teach,Measure,Reference') { wrong.push(groups); }
        const here = all('.side li > a[aria-current]').filter(a => a.checkVisibility());
        if (here.length !== 1 || here[0].pathname !== location.pathname ||
            !location.hash.startsWith(here[0].hash)) {
          wrong.push('marked: ' + here.map(a => a.textContent));
        }
        if (all('.side details details[open]').length !== 1) { wrong.push('not folded'); }
      } },

    { name: 'a rung, its exercise, its levels and its scenarios lead to each other',
      pages: ['/docs/3-gold.md', '/docs/exercises/platinum/README.md', '/docs/levels/gold.json',
        '/docs/matrix.md'], sizes: desktop, check: async wrong => {
        const [page, exercise, level, matrix] = ['/docs/3-gold.md',
          '/docs/exercises/platinum/README.md', '/docs/levels/gold.json', '/docs/matrix.md'];
        const links = all('main a').map(a => a.pathname);
        ({ [page]: [exercise, level, matrix], [level]: [page, matrix], [matrix]: [page, exercise],
          [exercise]: [page, level.replace('gold', 'platinum'), matrix] })[location.pathname]
          .filter(w => links.indexOf(w) < 0).forEach(w => wrong.push('no link to ' + w));
        if (!/^Next: /.test(all('.on a').pop()?.textContent) && location.pathname !== level) {
          wrong.push('no way on');
        }
      } },

    { name: 'a scenario is found in the matrix', pages: ['/docs/matrix.md#slow_get'],
      sizes: desktop, check: async wrong => {
        const row = document.querySelector('tr.entered');
        if (!row || bottom(row) > innerHeight || bottom(row) < 0) { wrong.push('not in sight'); }
      } },

    { name: 'the head of the matrix stays in sight, and a scenario leads to what happens in it',
      pages: ['/docs/matrix.md'], sizes: desktop, check: async wrong => {
        scrollTo(0, 1500);
        const under = bottom(document.querySelector('header')) - document.querySelector('main th').getBoundingClientRect().top;
        if (under < 0 || under > 2) { wrong.push('the head is ' + under + ' px under the head of the page'); }
        const scenario = document.querySelector('main td a');
        scenario.click();
        await wait(100);
        if (!document.querySelector(':target')?.textContent.startsWith(scenario.textContent)) { wrong.push(location.hash); }
      } },

    { name: 'tables of sentences and the pictures of rungs fit a phone',
      pages: ['/docs/at-work.md', '/docs/choosing.md', '/docs/3-gold.md', '/docs/8-redlock.md'],
      sizes: [[390, 844]], check: async wrong => {
        all('.cards, p:has(> img)').filter(e => e.scrollWidth > e.clientWidth + 1).forEach(e =>
          wrong.push(e.scrollWidth + ' wide: ' + e.textContent.slice(0, 40)));
        all('.cards tr').filter(e => e.offsetHeight > innerHeight / 2).forEach(e => wrong.push(e.innerText));
      } },

    { name: 'slides fit the screen and are turned by keys', pages: ['/docs/0-before.md?slides', '/docs/3-gold.md?slides',
      '/docs/6-watchdog.md?slides', '/docs/7-fenced.md?slides', '/docs/8-redlock.md?slides', '/docs/notify.md?slides', '/docs/glossary.md?slides',
      '/docs/benchmark.md?slides'], sizes: [[1280, 720], [1920, 1080]], check: async wrong => {
        await until(() => document.querySelector('main > section')); // after its pictures
        const slides = all('main > section'), shown = () => slides.findIndex(s => !s.hidden);
        const count = document.querySelector('.slides'), title = document.title.split(/: | · /)[0];
        const sizes = { text: new Set(), code: new Set() }, seen = e => e.checkVisibility() && e.textContent.trim();
        const size = e => parseFloat(getComputedStyle(e).fontSize);
        const fits = (n, what) => {
          if (bottom(slides[n]) > innerHeight || document.documentElement.scrollWidth > innerWidth) {
            wrong.push(`slide ${n + 1}${what} ends at ${bottom(slides[n])}`);
          }
        };
        for (let n = 0; n < slides.length; n++) {
          const run = n > 0 && slides[n - 1].querySelector(':scope > .player .lanes'); // a click was in it
          if (run) { slides[n - 1].querySelector('[aria-label="to the end"]').click(); }
          for (let keys = 0; shown() < n && keys < 7; keys++) { // the first ones answer
            key(run ? 'PageDown' : ['PageDown', ' ', 'ArrowRight'][n % 3], run || document);
          }
          if (shown() !== n) { wrong.push('a key turns to ' + shown() + ', not ' + n); break; }
          fits(n, '');
          all(':scope > :is(p:not(h1 + p, .picture), ul, ol)', slides[n]).filter(seen).forEach(e => sizes.text.add(size(e)));
          all('pre', slides[n]).filter(seen).forEach(e => sizes.code.add(size(e)));
          const text = all(':scope > :is(p:not(h1 + p, .picture, .tried), ul, ol)', slides[n]).map(e => e.innerText).join(' ');
          if (text.split(/\s+/).length > 112) { wrong.push(`slide ${n + 1} is a wall: ${text}`); }
          const alone = slides[n].querySelector(':scope > :is(.player, .picture)');
          if (alone && (text.split(/\s+/).length > 32 || slides[n].querySelector(':scope > :is(details:not(.player + *), .copied, pre, table)'))) {
            wrong.push(`slide ${n + 1} has more than a picture or a run, and a sentence`);
          }
          if (alone?.matches('.player')) {
            await wait(60); // it is drawn anew
            const node = all('.lanes .names .name:not([style*="--"])', alone)[0].getBoundingClientRect();
            all('.lanes .what[text-anchor=start]', alone).filter(e => e.getBoundingClientRect().right > node.x + node.width / 2)
              .forEach(e => wrong.push(`slide ${n + 1} has a label across a node's lane: ${e.textContent}`));
          }
          const img = alone?.querySelector('img:first-child'), letters = img ? // 16.9 pixels high in it
            16.9 * Math.min(img.width / img.naturalWidth, img.height / img.naturalHeight) : Math.min(...all('svg text', alone || slides[n])
              .filter(t => t.checkVisibility()).map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a));
          if (letters < (/8-redlock/.test(location) ? 0.0235 : 0.0277) * innerHeight) { wrong.push(`slide ${n + 1} has a small picture: ${letters}`); }
          if (alone?.querySelector('.pane')?.scrollTop === 0) { wrong.push('the run begins at the imports'); }
          const heads = slides.map(s => s.querySelector('h1, h2, h3')?.firstChild.data), head = slides[n].querySelector('h1, h2, h3');
          if (head && heads.indexOf(heads[n]) < n && !/ of \d+$/.test(head.innerText)) { wrong.push(`slide ${n + 1} continues nothing`); }
          all('pre', slides[n]).filter(seen).forEach(e => {
            const first = e.textContent.slice(e.matches('.unified')).split('\n')[0];
            if (/^\s+\S/.test(first) && !e.dataset.again) { wrong.push(`slide ${n + 1} doesn't say what it continues: ${first}`); }
          });
          const low = Math.max(...all(':scope > *', slides[n]).filter(seen).map(bottom)) / count.getBoundingClientRect().top;
          if (low < 0.3 && n && !slides[n].querySelector(':scope > details')) { // a question may stand alone
            wrong.push(`slide ${n + 1} is nearly empty: ${low}`);
          }
          const small = all('p, li, td, pre, .pane code', slides[n]).find(e => e.offsetParent && e.textContent.trim() &&
            parseFloat(getComputedStyle(e).fontSize) * e.currentCSSZoom < (e.closest('.pane') ? 0.0277 : e.closest('pre') ? 0.029 : 0.03) * innerHeight - 0.1 &&
            !e.closest('.player p, details'));
          if (small) { wrong.push(`slide ${n + 1} has small letters: ${small.textContent}`); }
          if (slides[n].innerText.split(/\s+/).length < 14 && !slides[n].matches('.opening, .closing') && !slides[n].querySelector('img, pre, table')) {
            wrong.push(`slide ${n + 1} has little more than a title`);
          }
          for (const summary of all(':scope > details > summary', slides[n]).filter(e => e.offsetParent)) {
            summary.click();
            await wait(60);
            fits(n, ' with an answer');
          }
          if (!count.textContent.includes(title) || !count.textContent.includes(`${n + 1} of ${slides.length}`) ||
              !location.search.endsWith('=' + (n + 1))) { wrong.push(count.textContent); }
        }
        if (!/^Next: /.test(slides.at(-1).querySelector('.closing > .on > .next')?.innerText)) { wrong.push('the last slide leads nowhere'); }
        const opens = slides[0].matches('.opening') && slides[0].textContent, step = Number(location.pathname[6]);
        if (/glossary/.test(location) ? opens : !/[.?]$/.test(opens) || step && !opens.includes(`Step ${step} of 8`)) { wrong.push('no title: ' + opens); }
        const listed = slides.findIndex(s => /^Compare /.test(s.querySelector('li')?.innerText));
        if (listed >= 0 && listed < slides.findLastIndex(s => s.querySelector('.chart'))) { wrong.push('findings come before their charts'); }
        if (sizes.text.size > 1 || sizes.code.size > 3) { wrong.push('sizes: ' + [...sizes.text] + '; ' + [...sizes.code]); }
        const changes = (pre, edge) => pre ? edge.exec(pre.textContent)[0].split('\n').filter(line => line).length : 0;
        all('pre.unified').forEach((pre, n, parts) => {
          const before = parts[n - 1]?.dataset.block === pre.dataset.block && parts[n - 1];
          const left = changes(before, /(\n[+-].*)*$/), right = changes(pre, /^([+-].*\n)*/);
          if (left && right && left + right < 10) { wrong.push('a change is torn before ' + pre.textContent); }
        });
        key('PageUp');
        if (shown() !== slides.length - 2) { wrong.push('PageUp does not go back'); }
        await until(() => !all('[aria-label="play or pause"]').some(b => /pause/.test(b.textContent))); // it was at its end
        for (const what of /3-gold/.test(location) ? [':scope > details + details', ':scope > .player'] : []) {
          const slide = slides.findLast(s => s.querySelector(what)), asks = all(':scope > :is(details, .player):not(.player + *)', slide);
          for (let keys = 0; slide.hidden && keys < 40; keys++) { key('PageUp'); }
          asks.forEach(e => { e.removeAttribute('open'); delete e.dataset.seen; e.querySelector('[aria-label="to the beginning"]')?.click(); });
          for (const e of asks) {
            key('PageDown');
            await until(() => e.open || e.dataset.at > 0);
            await wait(60); // it has hidden the others
            if (!e.open && !(e.dataset.at > 0)) { wrong.push('Page Down neither answers nor plays'); }
          }
          const at = slide.querySelector('.player [type=range]'), asked = () => slide.querySelector('.question.asked')?.offsetWidth > 0;
          const playing = () => /pause/.test(slide.querySelector('[aria-label="play or pause"]').textContent);
          if (!at) {
            key('PageUp');
            if (slide.hidden || asks.at(-1).open || !asks.at(-2).open) { wrong.push('Page Up does not close the last answer'); }
            continue;
          }
          const question = () => { for (let n = 0; n < 9 && !asked(); n++) { slide.querySelector('[aria-label="one step on"]').click(); } };
          key('PageDown');
          if (playing()) { wrong.push('Page Down does not pause'); }
          question();
          key('PageDown');
          const next = at.value, told = slide.querySelector('.status.told')?.innerText || '';
          if (asked() || !playing()) { wrong.push('Page Down does not play on'); }
          if (!told.includes('A: DEL lock:stock → 1 ✗')) { wrong.push('right was ' + told); }
          key('PageUp');
          if (Number(at.value) !== next - 1 || playing() || !asked()) { wrong.push('Page Up does not go back to the question'); }
          for (const leave of ['.', 'ArrowRight']) {
            key('PageDown');
            key(leave);
            if (playing()) { wrong.push('the run goes on unseen after ' + leave); }
            key(leave === '.' ? '.' : 'ArrowLeft');
          }
          question();
          key('PageDown');
          if (at.value !== at.max || !at.offsetWidth) { wrong.push('Page Down does not show the end'); }
          key('PageUp');
          if (slide.hidden || !asked()) { wrong.push('Page Up does not go back from the end'); }
        }
        const told = slides.findIndex(s => /What still breaks|<summary>Before you run it|alt="[^"]*✗/.test(s.innerHTML));
        if (told >= 0 && told < slides.findIndex(s => s.querySelector('.player'))) { wrong.push(`slide ${told + 1} tells how the run ends`); }
      } },

    { name: 'slides lead on, back and out, keep their place in another size, and divide code', pages: ['/docs/3-gold.md'],
      sizes: desktop, check: async wrong => {
        const frame = document.createElement('iframe'), page = () => frame.contentDocument;
        const here = () => frame.contentWindow.location, shown = () => page().querySelector('main > section:not([hidden])');
        const count = () => page().querySelector('.slides')?.textContent.match(/(\d+) of (\d+)/)?.slice(1);
        const turned = async (file, first) => {
          await until(() => here().pathname === '/docs/' + file && count() && (count()[0] === '1') === first);
          if (here().pathname !== '/docs/' + file || (count()[0] === '1') !== first) { wrong.push(here().href); }
        };
        frame.width = 1280;
        frame.height = 300;
        frame.src = '3-gold.md?slides=last';
        document.body.append(frame);
        await until(() => page()?.querySelector('.slides'));
        const code = of => all('main > .copied > pre, section > .copied > pre, section > pre:not(.unified)', of);
        const text = of => code(of).map(e => e.textContent).join('').replace(/\s/g, '');
        if (text(page()) !== text(document) || code(page()).length === code(document).length) { wrong.push(text(page())); }
        let copied;
        frame.contentWindow.navigator.clipboard.writeText = async text => { copied = text; };
        page().querySelector('.copy').click();
        if (copied !== code(document)[0].textContent) { wrong.push('copied: ' + copied); }
        page().dispatchEvent(new KeyboardEvent('keydown', { key: 'PageDown', repeat: true })); // it is held
        await wait(200);
        if (!shown()?.matches('.closing')) { wrong.push('a key that is held leaves the page'); }
        key('ArrowRight', page());
        await turned('4-platinum.md', true);
        key('ArrowLeft', page());
        await turned('3-gold.md', false);
        if (count()[0] !== count()[1]) { wrong.push('not the last slide'); }
        for (let n = 0; n < 20 && !shown().querySelector('.player'); n++) { key('ArrowLeft', page()); }
        key('ArrowRight', shown().querySelector('.lanes'));
        if (shown().querySelector('.player')?.dataset.at !== '1') { wrong.push('the run has no step'); }
        const old = page();
        frame.height = 720;
        await until(() => page() !== old && page().readyState === 'complete' && count());
        if (!shown().querySelector('.player')) { wrong.push('another size shows ' + shown().innerText); }
        key('Escape', page());
        await until(() => !here().search && page().readyState === 'complete');
        if (here().search || here().hash !== '#t=1') { wrong.push('Escape leads to ' + here()); }
        for (const [what, at, again] of [['.player[data-at="1"]', null, 'F5'], ['#three-questions', 'three-questions', 's']]) {
          page().getElementById(at)?.scrollIntoView();
          key(again, page());
          await until(() => here().search && count());
          if (!shown()?.querySelector(what)) { wrong.push(again + ' leads to ' + here()); }
          key('Escape', page());
          await until(() => !here().search && page().readyState === 'complete');
        }
        for (const [file, leave] of [['runs/', 'Backspace'], ['lab.md', 'Escape']]) { // links lead there, and back
          frame.src = '3-gold.md?slides=last';
          await until(() => here().pathname.endsWith('3-gold.md') && count());
          page().querySelector(`main > section p a[href*="${file}"]`).click();
          await until(() => here().pathname.includes(file) && page().readyState === 'complete' && (file === 'lab.md' || page().querySelector('.slides')));
          if (!page().querySelector('.slides') !== (file === 'lab.md')) { wrong.push('a link leads to ' + here()); }
          key(leave, page());
          await until(() => here().pathname.endsWith('3-gold.md') && count());
          if (!here().pathname.endsWith('3-gold.md') || !count()) { wrong.push(leave + ' leads to ' + here()); }
        }
        frame.remove();
      } },

    { name: 'a presenter\'s keys start no run unseen, scroll what is cropped, and show where a run ends',
      pages: ['/docs/6-watchdog.md?slides=see-it-fail', '/docs/3-gold.md?slides=see-it-fail'], sizes: [[1280, 720]], check: async wrong => {
        await until(() => document.querySelector('.slides'));
        const slides = all('main > section'), shown = () => slides.find(s => !s.hidden);
        if (!shown().querySelector('#see-it-fail')) { wrong.push('begins with ' + shown().innerText); }
        const turn = to => { for (key('Home'); shown() !== to;) { key('ArrowRight'); } };
        key('End');
        if (shown() !== slides.at(-1)) { wrong.push('End shows ' + shown().innerText); }
        const slide = slides.find(s => s.querySelector('.player')), player = slide.querySelector('.player');
        turn(slide);
        key('.');
        key('PageDown');
        if (document.documentElement.matches('[data-black]') || player.dataset.at !== '0' || /pause/.test(player.innerText)) {
          wrong.push('a key on a black screen does more than bring the picture back');
        }
        const lanes = player.querySelector('.lanes');
        lanes.style.scrollbarWidth = 'none'; // or its scroll bar has it drawn anew
        await wait(100);
        const row = () => lanes.querySelector('.cursor').getBoundingClientRect();
        lanes.lastChild.dispatchEvent(new MouseEvent('click', { bubbles: true, clientY: row().bottom + 2.5 * row().height }));
        if (player.dataset.at !== '1') { wrong.push('a click shows row ' + player.dataset.at); }
        for (let at = player.querySelector('[type=range]'); Number(at.value) < at.max;) { player.querySelector('[aria-label="one step on"]').click(); }
        await wait(100);
        if (!/✗/.test(player.innerText) || row().bottom > bottom(lanes) || row().top < lanes.getBoundingClientRect().top) {
          wrong.push(`the verdict at ${row().bottom} is cut at ${bottom(lanes)}`);
        }
        const cropped = slides.find(s => s.querySelector(':scope > details')), fold = cropped.querySelector('details');
        turn(cropped);
        all(':scope > details', cropped).forEach(e => { e.dataset.seen = ''; }); // a key opens no other
        fold.append(...Array.from({ length: 40 }, (_, n) => Object.assign(document.createElement('p'), { textContent: n })));
        fold.open = true;
        await wait(100);
        let keys = 0;
        for (let was = -1; shown() === cropped && was !== fold.scrollTop; keys++) { was = fold.scrollTop; key('PageDown'); }
        if (keys < 4 || fold.scrollTop + fold.clientHeight < fold.scrollHeight - 2 && shown() === cropped) { wrong.push('it is left after ' + keys); }
      } },

    { name: 'a clicker plays a level, and nothing moves when it says how', pages: ['/docs/levels/gold.json?slides#level=foreign-release',
      '/docs/levels/diamond.json?slides#level=foreign-release'], sizes: [[1280, 720]], check: async wrong => {
        await until(() => document.querySelector('.slides'));
        const game = document.querySelector('.game'), high = () => all('.pane, .lanes').map(e => e.clientHeight).join(), before = high();
        key('PageDown');
        if (high() !== before) { wrong.push(`the panes were ${before}, and are ${high()}`); }
        for (let n = 0; n < 20 && game.dataset.state !== 'won'; n++) { key('PageDown'); }
        if (!game.querySelector('.cards .next')) { wrong.push(game.innerText); }
      } },

    { name: 'the search takes everyday words, parts of words and typos, marks them, and takes arrow keys',
      pages: ['/docs/3-gold.md'], sizes: desktop, check: async wrong => {
        const search = document.getElementById('search'), found = document.getElementById('found');
        for (const [words, first] of [['game', '/docs/levels.md'], ['benchmark', '/docs/benchmark.md'],
          ['fencing token', '/docs/glossary.md'], ['watchdog', '/docs/6-watchdog.md'], ['watchdgo', '/docs/6-watchdog.md'],
          ['fencing', '/docs/7-fenced.md'], ['redlock failover', '/docs/8-redlock.md'],
          ['lock stuck', '/docs/glossary.md'], ['cron', '/docs/scheduled.md'],
          ['fenc tok', '/docs/7-fenced.md'], ['redlokc', '/docs/8-redlock.md'],
          ['handlelosttoken', '/docs/at-work.md'], ['which library python', '/docs/at-work.md'],
          ['slow_get', '/docs/matrix.md'], ['level 9', '/docs/levels/diamond.json'], ['level', '/docs/levels.md'],
          ['reentrant', '/docs/reentrant.md'], ['cohort', '/docs/cohort.md'], ['lease', '/docs/glossary.md'],
          ['job locked forever', '/docs/cache.md'], ['two clients hold the lock', '/docs/glossary.md'],
          ['measure my own lock', '/docs/benchmark.md'], ['which lock should I use', '/docs/at-work.md'],
          ['renewSource', '/docs/6-watchdog.md'], ['-swarm.worlds', '/docs/swarm.md'], ['SET NX PX', '/docs/3-gold.md'],
          ['fairness', '/docs/fair.md'], ['pg_advisory_lock', '/docs/recipe.md'], ['setIfAbsent', '/docs/redisson.md'], ['CROSSSLOT', '/docs/production.md'],
          ['GET_LOCK', '/docs/alternatives.md'], ['leader election', '/docs/alternatives.md'], ['distributed lock', '/docs/0-before.md'],
          ['redis lock not released', '/docs/1-bronze.md'], ['two processes got the lock', '/docs/glossary.md'], ['double booking', '/docs/transactions.md'],
          ['redis', '/docs/go-redis.md'], ['node.js', '/docs/libraries.md'],
          ['Spring', '/docs/scheduled.md'], ['lock keeps expiring', '/docs/6-watchdog.md'], ['GC pause', '/docs/limits.md'], ['how to choose a lock', '/docs/at-work.md'],
          ["Cannot release a lock that's no longer owned", '/docs/production.md'], ["READONLY You can't write against a read only replica", '/docs/production.md'],
          ['BUSY', '/docs/production.md'], ['MOVED 3999 127.0.0.1:6381', '/docs/production.md'], ['lock lost after failover', '/docs/limits.md'],
          ['pub/sub', '/docs/notify.md'], ['Lost()', '/docs/6-watchdog.md'], ['my job ran twice', '/docs/scheduled.md'],
          ['fariness', '/docs/fair.md'], ['redlcck', '/docs/8-redlock.md'], ['watchodgg', '/docs/6-watchdog.md'], ['Kotlin', '/docs/redisson.md']]) {
          search.value = words;
          search.dispatchEvent(new Event('input'));
          await until(() => found.querySelector('a'));
          const link = found.querySelector('a');
          if (link?.pathname !== first) { wrong.push(words + ' finds ' + link?.pathname); }
          if (link?.href.split('#').length > 2) { wrong.push(link.href); }
          if (!found.querySelector('mark')) {
            wrong.push(words + ' is not marked');
          }
        }
        if (!found.textContent.startsWith('“Kotlin”: shown for java, redisson.')) { wrong.push('no word that was looked for: ' + found.textContent.slice(0, 60)); }
        search.value = 'kubernetes pod evicted lock';
        search.dispatchEvent(new Event('input'));
        if (all('li', found).length > 3) { wrong.push(all('li', found).length + ' near misses'); }
        search.value = 'redis';
        search.dispatchEvent(new Event('input'));
        if (all('mark', found).some(m => /redisson/i.test(m.textContent))) { wrong.push('redis marks Redisson'); }
        search.focus();
        key('ArrowDown', search);
        key('ArrowDown', document.activeElement);
        if (document.activeElement !== all('a', found)[1]) { wrong.push('no second result'); }
        search.focus();
        key('Tab', search);
        if (document.activeElement !== found.querySelector('a')) { wrong.push('Tab leads to ' + document.activeElement.outerHTML); }
        key('Escape', document.activeElement);
        if (!found.hidden || document.activeElement !== search) { wrong.push('Escape does not close it'); }
        for (const nothing of ['', 'zzqqx', 'docker']) {
          search.value = nothing;
          search.dispatchEvent(new Event('input'));
          const ways = all('a', found).map(a => a.textContent).join();
          if (ways !== 'Play,Climb,Decide,Teach,Glossary') { wrong.push(nothing + ' offers ' + ways); }
        }
        const frame = Object.assign(document.createElement('iframe'), { src: location.pathname, width: 1000, height: 600 });
        document.body.append(frame);
        for (const [words, marked] of [['no acquired for several leases', 'acquired,several,leases'], ['silently let the owner', 'silently,let,owner']]) { // a row, a fold
          await until(() => frame.contentDocument.querySelector('#search') && frame.contentDocument.readyState === 'complete');
          const box = Object.assign(frame.contentDocument.querySelector('#search'), { value: words }), from = frame.contentDocument;
          box.dispatchEvent(new Event('input'));
          await until(() => from.querySelector('#found li a'));
          key('Enter', box);
          await until(() => frame.contentDocument !== from && frame.contentWindow.CSS.highlights.get('found'));
          const marks = Array.from(frame.contentWindow.CSS.highlights.get('found') || []), at = marks[0]?.getBoundingClientRect();
          if (marks.join() !== marked || !(at.height && at.top > 40 && at.bottom < 600 && at.left > 0 && at.right < 1000)) { wrong.push(words + ' marks ' + marks + ' at ' + at?.top); }
        }
      } },

    { name: 'a phone keeps a row\'s names in sight, wraps a diff, and has room for text', pages: ['/docs/matrix.md', '/docs/4-platinum.md', '/docs/workshop.md'],
      sizes: [[390, 844]], check: async wrong => {
        for (const table of all('main > table')) {
          const names = Array.from(table.rows[1].cells).slice(0, 2), lefts = () => names.map(td => td.getBoundingClientRect().left), before = lefts();
          table.scrollLeft = 200;
          if (table.rows[0].cells.length > 9 && lefts().some((left, i) => Math.abs(left - before[i]) > 3)) { wrong.push('names move from ' + before + ' to ' + lefts()); }
          if (/^\d+$/.test(names[0].textContent) && names[0].offsetWidth > 80) { wrong.push(names[0].textContent + ' is ' + names[0].offsetWidth + ' wide'); }
        }
        for (const pre of all('.unified')) { if (pre.scrollWidth > pre.clientWidth) { wrong.push('a diff scrolls sideways'); } }
      } },

    { name: 'the search is in sight after scrolling, keeps the place, and leads to what is on the page itself',
      pages: ['/docs/limits.md', '/docs/glossary.md', '/docs/at-work.md', '/docs/6-watchdog.md'], sizes: both, check: async wrong => {
        const search = document.getElementById('search'), found = document.getElementById('found');
        const low = () => bottom(document.querySelector('header'));
        for (const [words, hash] of { limits: [['partitions', '#partitions']], glossary: [['thundering herd', '#thundering-herd'],
          ['starvation', '#starvation'], ['fencing token', '#fencing-token']], 'at-work': [['python', '']],
          '6-watchdog': [['renewSource', '']] }[location.pathname.slice(6, -3)]) {
          for (const from of [0, document.body.scrollHeight / 3]) {
            scrollTo(0, from);
            await wait(50);
            const place = scrollY;
            key('/');
            search.value = words;
            search.dispatchEvent(new Event('input'));
            await until(() => found.querySelector('li a'));
            const here = all('li a', found).find(a => a.pathname === location.pathname);
            key('ArrowDown', search);
            if (scrollY !== place || low() < 40) { wrong.push(words + ': moved from ' + place + ' to ' + scrollY + ', or no search'); }
            if (found.getBoundingClientRect().top < low() - 1) { wrong.push('the results lie over the field'); }
            if (here === found.querySelector('li a')) { key('Enter', search); } else { here.querySelector('b').click(); }
            await wait(100);
            const [range] = CSS.highlights.get('found') || [], box = range?.getBoundingClientRect();
            if (/\p{L}/u.test(range?.endContainer.data[range.endOffset] || '')) { wrong.push('it marks no whole words: ' + range); }
            if (!found.hidden || search.value || !box || box.top < low() || box.top > innerHeight - 40 || !location.hash.startsWith(hash)) {
              wrong.push(words + ' leads to ' + location.hash + ' at ' + scrollY + ': ' + range);
            }
            if (search.offsetWidth > 250) { wrong.push('the field stays large'); }
          }
        }
      } },

    { name: 'an address opens at its player and its moment, with what is beside it',
      pages: ['/docs/3-gold.md#t=178&all=1&beside=silver'], sizes: both, check: async wrong => {
        const player = document.querySelector('.player');
        if (Math.abs(player.getBoundingClientRect().top) > 2) { wrong.push('scrolled to ' + scrollY); }
        key('ArrowRight', player.querySelector('.lanes'));
        const views = all('.view', player).map(v => v.getAttribute('aria-label')).join();
        if (views !== 'gold,silver') { wrong.push('it shows ' + views); }
        if (player.dataset.at !== '179' || location.hash !== '#t=179&all=1&beside=silver') {
          wrong.push('at ' + player.dataset.at + ', ' + location.hash);
        }
      } },

    { name: 'nothing moves while a page loads, headings are in order, and a keyboard scrolls',
      pages: ['/', '/README.md', '/docs/3-gold.md', '/docs/matrix.md', '/docs/benchmark.md',
        '/docs/handout.md', '/docs/levels/gold.json', '/docs/lab.md', '/docs/exercises/gold/README.md',
        '/docs/runs/gold/overrun_release/foreign-release.json'],
      sizes: both, check: async wrong => {
        let moved = 0;
        new PerformanceObserver(list => list.getEntries().forEach(e => {
          if (!e.hadRecentInput) { moved += e.value; }
        })).observe({ type: 'layout-shift', buffered: true });
        await wait(300);
        if (moved >= 0.05) { wrong.push('layout shift ' + moved); }
        const levels = all('main h1, main h2, main h3, main h4').filter(h =>
          h.checkVisibility()).map(h => Number(h.nodeName[1]));
        levels.forEach((level, i) => {
          if (level > (levels[i - 1] || 0) + 1) { wrong.push('h' + level + ' at ' + i); }
        });
        all('pre, main > table').filter(e => e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0)
          .forEach(e => wrong.push('no key scrolls ' + e.innerText.slice(0, 40)));
      } },
  ];
})()
