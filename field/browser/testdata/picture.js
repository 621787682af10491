// The picture in the README: what the player shows of a run at its break, with the code of
// one function, as an SVG. It is drawn on the page of the run, in the light theme.
((width, name) => {
  const view = document.querySelector('.view'), lanes = view.querySelector('.lanes');
  const paper = lanes.querySelector('svg:not(.names)'), dim = { code: 390, line: 19 };
  const end = Number(paper.querySelector('.break').getAttribute('y')) + 34 + 8;
  const color = text => text.replace(/var\((--[a-z0-9-]+)\)/g, (_, variable) =>
    getComputedStyle(document.documentElement).getPropertyValue(variable).trim());
  const escape = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  const drawn = (svg, last) => Array.from(svg.children).filter(n =>
    !/cover|cursor/.test(n.getAttribute('class')) &&
    Number(n.getAttribute('y') || n.getAttribute('y1') || n.getAttribute('cy') || 0) <= last)
    .map(n => {
      const copy = n.cloneNode(true);
      ['y2', 'height'].forEach(a => {
        if (Number(copy.getAttribute(a)) > last) { copy.setAttribute(a, last); }
      });
      return color(new XMLSerializer().serializeToString(copy)
        .replace(/ xmlns="[^"]*"/g, '').replace(/="(\d+\.\d)\d+"/g, '="$1"'));
    }).join('\n');
  const all = Array.from(view.querySelectorAll('.pane:not([hidden]) li'));
  const from = all.findIndex(li => li.textContent.includes(name));
  const to = all.findIndex((li, i) => i > from && li.querySelector('code').textContent === '}');
  const x = width + 40;
  const code = all.slice(from, to + 1).map((li, i) => {
    const y = 120 + i * dim.line, here = li.querySelector('.here b');
    const text = li.querySelector('code').textContent.replace(/\t/g, '   ')
      .replace(/^(.{52}).{2,}/, '$1…');
    const marked = here ? `<rect x="${x - 6}" y="${y - 14}" width="${dim.code}" height="${dim.line}"` +
      ` fill="#fff6d6"/><rect x="${x - 28}" y="${y - 13}" width="17" height="16" rx="3"` +
      ` fill="${color(here.getAttribute('style').slice(11))}"/><text x="${x - 24}" y="${y}"` +
      ` fill="#fff">${here.textContent}</text>` : '';
    return marked + `<text class="code" x="${x}" y="${y}" xml:space="preserve">${escape(text)}</text>`;
  }).join('\n');
  const facts = Array.from(view.querySelectorAll('.fact')).map((fact, i) =>
    `<text x="${x}" y="${60 + i * 22}">${escape(Array.from(fact.children).concat(
      Array.from(fact.childNodes).filter(n => n.nodeType === 3)).map(n =>
      n.textContent).join('  '))}</text>`).join('\n');
  const high = Math.max(end + 26, 134 + (to - from) * dim.line), wide = x + dim.code;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" ` +
    `viewBox="0 0 ${wide} ${high}">
<style>
svg { font: 12px system-ui, sans-serif; fill: #1b1f24; }
.name { font-weight: bold; font-size: 14px; text-anchor: middle; }
.time, .fold { fill: #5c6670; } .lane { stroke: #d5dae0; } .dot { fill: #5c6670; }
.band { stroke-width: 7; opacity: .75; mix-blend-mode: multiply; } .message { stroke: #1b1f24; }
.what { paint-order: stroke; stroke: #fff; stroke-width: 8px; stroke-linejoin: round; }
.time { stroke: none; }
.overlap { fill: #ffe3e0; opacity: .6; } .break { fill: none; stroke: #b3160a; stroke-width: 2; }
.why { fill: #b3160a; font-weight: bold; stroke-width: 3px; } .code { font: 12px ui-monospace, "DejaVu Sans Mono", monospace; }
</style>
<rect width="${wide}" height="${high}" rx="6" fill="#fff" stroke="#d5dae0"/>
${drawn(lanes.querySelector('.names'), 30)}
<path d="M0 26H${width}" stroke="#d5dae0"/>
<g transform="translate(0 26)">
${drawn(paper, end)}
</g>
<path d="M${width} 0V${high}" stroke="#d5dae0"/>
<text x="${x}" y="30" font-weight="bold">${escape(view.querySelector('.lock b').textContent)}</text>
${facts}
${code}
</svg>
`;
})
