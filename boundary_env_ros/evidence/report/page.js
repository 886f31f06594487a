// Copyright 2026 The boundary_env_ros developers
// SPDX-License-Identifier: Apache-2.0
//
// Draws the episodes of the page, each when it is opened. Everything that comes from the record is
// put in as text; nothing is ever parsed as markup.
'use strict';
(() => {
  const SVG = 'http://www.w3.org/2000/svg';
  const RIGHT = 6;
  const RULES = 6; // shown at one moment
  const GROUPS = [
    ['action', 'Action'], ['observation', 'Observation'], ['state', 'State'],
    ['privileged', 'Privileged'], ['latency', 'Latency by stage'],
    ['age', 'Age of the observation'], ['confidence', 'Confidence'], ['reward', 'Reward'],
  ];
  const ACTIONS = new Map([
    ['requested', 'requested'], ['admitted', 'admitted'], ['commanded', 'commanded'],
    ['measured', 'measured'], ['sent otherwise', 'otherwise'],
  ]);
  const LANES = new Set(['latency', 'age', 'confidence']);
  const VERDICTS = {
    A: 'admitted', L: 'limited', H: 'held', S: 'stopped', R: 'rejected', '.': 'no decision',
  };
  const OUTCOMES = { ADMITTED: 'A', LIMITED: 'L', HELD: 'H', STOPPED: 'S', REJECTED: 'R' };

  const data = (id) => {
    const found = document.getElementById(id);
    return found ? JSON.parse(found.textContent) : null;
  };

  // Elements ----------------------------------------------------------------------------------

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key === 'class') element.className = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  function draw(parent, name, attributes = {}, text = null) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== null) element.textContent = text;
    parent.append(element);
    return element;
  }

  function canvasOf(parent, width, height) {
    return draw(parent, 'svg', { viewBox: `0 0 ${width} ${height}`, height });
  }

  const shown = (value) => {
    if (value === null || value === undefined) return '–';
    const size = Math.abs(value);
    if (size >= 1e5 || (size > 0 && size < 1e-4)) return value.toExponential(2);
    return String(Number(value.toPrecision(4)));
  };

  function ticks(low, high, most) {
    const rough = (high - low) / Math.max(most, 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || rough;
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
      found.push(i * step);
    }
    return found;
  }

  // One episode -------------------------------------------------------------------------------

  class Episode {
    constructor(body, number) {
      this.number = number;
      this.facts = data(`d${number}`);
      this.frames = data(`f${number}`) || [];
      this.updates = [];
      this.at = 0;
      const grid = make('div', { class: 'grid' });
      this.side = make('aside', { class: 'side' });
      this.charts = make('div', {
        class: 'charts', tabindex: '0', role: 'group',
        'aria-label': `Time lines of episode ${number}; arrow keys move the cursor`,
      });
      grid.append(this.side, this.charts);
      body.append(grid);
      const time = this.facts.time;
      this.times = time.map((t) => (t === null ? 0 : t));
      this.count = this.times.length;
      this.buildSide();
      this.render();
      this.listen();
      this.point(0);
    }

    listen() {
      let pending = false, x = 0;
      const move = (event) => {
        x = event.clientX;
        if (pending) return;
        pending = true;
        requestAnimationFrame(() => {
          pending = false;
          const box = this.charts.getBoundingClientRect();
          this.point(this.columnAt(x - box.left));
        });
      };
      this.charts.addEventListener('pointermove', move);
      this.charts.addEventListener('pointerdown', move);
      this.charts.addEventListener('keydown', (event) => {
        const leap = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
        const to = leap ? this.at + leap : { Home: 0, End: this.count - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        this.point(to);
      });
      let width = this.charts.clientWidth;
      new ResizeObserver(() => {
        if (Math.abs(this.charts.clientWidth - width) < 2) return;
        width = this.charts.clientWidth;
        this.render();
        this.point(this.at);
      }).observe(this.charts);
    }

    x(time) {
      const end = this.times[this.count - 1] - this.times[0] || 1;
      return this.gutter + ((time - this.times[0]) / end) * (this.width - this.gutter - RIGHT);
    }

    // Where a column begins and ends: from the moment of the one before to its own.
    from(column) { return this.x(this.times[Math.max(column - 1, 0)]); }
    to(column) { return this.x(this.times[column]); }

    columnAt(x) {
      let low = 0, high = this.count - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.x(this.times[middle]) < x - 1) low = middle + 1; else high = middle;
      }
      if (low > 0 && x - this.to(low - 1) < this.to(low) - x) low -= 1;
      return low;
    }

    columnOfStep(step) {
      const last = this.facts.last_step;
      const found = last.findIndex((value) => value !== null && value >= step);
      return found < 0 ? this.count - 1 : found;
    }

    // What is beside the charts ---------------------------------------------------------------

    buildSide() {
      this.readout = make('div', { class: 'readout' });
      this.side.append(this.readout);
      this.pictures = new Map();
      if (this.frames.length) {
        const box = make('div', { class: 'frames' });
        for (const frame of this.frames) {
          if (!this.pictures.has(frame.field)) {
            const image = make('img', { alt: '' }), caption = make('figcaption');
            box.append(make('figure', {}, image, caption));
            this.pictures.set(frame.field, { image, caption, all: [], shown: null });
          }
          this.pictures.get(frame.field).all.push(frame);
        }
        this.side.append(box);
        this.side.classList.add('with-frames');
      }
    }

    point(column) {
      this.at = column = Math.min(Math.max(column, 0), this.count - 1);
      const facts = this.facts;
      const first = facts.first_step[column], last = facts.last_step[column];
      this.cross.style.left = `${this.to(column)}px`;
      for (const update of this.updates) update(column);
      const verdict = facts.verdicts[column];
      const top = make('div', { class: 'top' },
        make('b', {}, `${this.times[column].toFixed(2)} s`),
        make('span', {}, first === last ? `step ${last}` : `steps ${first} to ${last}`));
      const isReset = column === 0 && verdict === '.' && first === 0 && last === 0;
      top.append(make('span', { class: `badge v${verdict === '.' ? 'N' : verdict}` },
        isReset ? 'reset' : VERDICTS[verdict]));
      if (facts.overruns[column]) {
        const many = facts.overruns[column] > 1 ? ` ×${facts.overruns[column]}` : '';
        top.append(make('span', { class: 'over' }, `overrun${many}`));
      }
      const list = make('ul');
      const rules = facts.rules.filter((rule) => rule.first <= last && rule.last >= first);
      for (const rule of rules.slice(0, RULES)) {
        const once = rule.first === rule.last;
        list.append(make('li', {}, rule.text, make('span', { class: 'dim' },
          once ? '' : `, steps ${rule.first} to ${rule.last} (numbers of the first)`)));
      }
      if (rules.length > RULES) list.append(make('li', {}, `and ${rules.length - RULES} more`));
      for (const event of facts.events) {
        if (event.step <= last && event.step >= first) {
          list.append(make('li', {}, `${event.kind}: ${event.text}`));
        }
      }
      const command = `boundary-env inspect ${page.path} --episode ${this.number} --step ${last}`;
      this.readout.replaceChildren(top);
      if (list.childElementCount) this.readout.append(list);
      this.readout.append(make('code', {}, command));
      for (const [field, pictures] of this.pictures) this.show(field, pictures, last);
    }

    show(field, pictures, step) {
      let found = null;
      for (const frame of pictures.all) if (frame.step <= step) found = frame;
      if (found === pictures.shown) {
        if (found) pictures.caption.textContent = caption(field, found, step);
        return;
      }
      pictures.shown = found;
      if (!found) {
        pictures.image.removeAttribute('src');
        pictures.caption.textContent = `${field}: none yet`;
        return;
      }
      pictures.image.src = found.data;
      pictures.image.alt = `${field} at step ${found.step}`;
      pictures.caption.textContent = caption(field, found, step);
    }

    // The charts ------------------------------------------------------------------------------

    render() {
      this.width = Math.max(this.charts.clientWidth, 240);
      this.gutter = this.width < 500 ? 34 : 46;
      this.charts.style.setProperty('--gutter', `${this.gutter}px`);
      this.updates = [];
      this.charts.replaceChildren();
      this.gate();
      for (const [group, title] of GROUPS) {
        const charts = this.facts.charts.filter((chart) => chart.group === group);
        if (!charts.length && group !== 'age') continue;
        if (charts.length) this.charts.append(make('div', { class: 'group' }, title));
        for (const chart of charts) this.lines(chart, LANES.has(group));
        if (group === 'age') this.status();
      }
      this.axis();
      this.cross = make('div', { class: 'cross' });
      this.charts.append(this.cross);
    }

    figure(name) {
      const figure = make('figure', { class: 'chart' });
      const head = make('figcaption', {}, make('span', { class: 'name' }, name));
      figure.append(head);
      this.charts.append(figure);
      return [figure, head];
    }

    gate() {
      const facts = this.facts;
      this.charts.append(make('div', { class: 'group' }, 'Gate'));
      const [figure, head] = this.figure('verdict');
      // The reset has no verdict; it is no step without one.
      const verdicts = facts.last_step[0] === 0 ? facts.verdicts.slice(1) : facts.verdicts;
      for (const letter of 'ALHSR.') {
        if (!verdicts.includes(letter)) continue;
        const kind = letter === '.' ? 'N' : letter;
        head.append(make('span', { class: 'value' },
          make('span', { class: `key v${kind}` }), VERDICTS[letter]));
      }
      const overruns = facts.overruns.reduce((a, b) => a + b, 0);
      if (overruns) head.append(make('span', { class: 'value' }, `▲ overrun (${overruns})`));
      const svg = canvasOf(figure, this.width, overruns ? 26 : 18);
      for (let i = 0; i < this.count; i++) {
        const letter = facts.verdicts[i];
        const left = this.from(i);
        draw(svg, 'rect', {
          class: `v${letter === '.' ? 'N' : letter}`, x: left, y: 2, height: 14,
          width: Math.max(this.to(i) - left - (this.count < 200 ? 0.6 : 0), 0.5),
        });
        if (facts.overruns[i]) {
          const x = (left + this.to(i)) / 2;
          draw(svg, 'path', { class: 'overrun', d: `M${x} 18l3.5 6h-7z` });
        }
      }
      this.reasons();
      if (facts.events.length) {
        const list = make('ul', { class: 'events' });
        for (const event of facts.events) {
          const jump = make('button', { type: 'button' }, `${event.time.toFixed(2)} s`);
          jump.addEventListener('click', () => this.point(this.columnOfStep(event.step)));
          list.append(make('li', {}, jump, make('span', {}, `${event.kind}: ${event.text}`)));
        }
        this.charts.append(list);
      }
    }

    reasons() {
      const lanes = new Map();
      for (const rule of this.facts.rules) {
        const key = `${rule.reason.toLowerCase().replaceAll('_', ' ')}`;
        if (!lanes.has(key)) lanes.set(key, []);
        lanes.get(key).push(rule);
      }
      if (!lanes.size) return;
      const height = 21;
      const figure = make('figure', { class: 'chart' });
      this.charts.append(figure);
      const svg = canvasOf(figure, this.width, lanes.size * height + 4);
      let y = 2;
      for (const [name, rules] of lanes) {
        draw(svg, 'line', {
          class: 'gridline', x1: this.gutter, x2: this.width - RIGHT, y1: y + 16, y2: y + 16,
        });
        for (const rule of rules) {
          const left = this.from(this.columnOfStep(rule.first));
          const right = this.to(this.columnOfStep(rule.last));
          draw(svg, 'rect', {
            class: `v${OUTCOMES[rule.outcome]}`, x: left, y: y + 13, height: 6, rx: 2,
            width: Math.max(right - left, 2.5),
          });
        }
        draw(svg, 'text', { x: this.gutter, y: y + 10 }, name);
        y += height;
      }
    }

    lines(chart, lane) {
      const height = lane ? 40 : 108;
      const [figure, head] = this.figure(
        chart.unit ? `${chart.name}${chart.name.includes(`(${chart.unit})`) ? '' : ` (${chart.unit})`}`
          : chart.name);
      let low = Infinity, high = -Infinity;
      for (const line of chart.lines) {
        for (const value of line.low) if (value !== null && value < low) low = value;
        for (const value of line.high || line.low) {
          if (value !== null && value > high) high = value;
        }
      }
      if (low > high) { low = 0; high = 1; }
      // A limit far away would make a flat line of everything; words say it instead.
      const near = chart.limit !== undefined && chart.limit <= 3 * Math.max(high, 1e-9);
      if (near) high = Math.max(high, chart.limit * 1.04);
      if (lane) low = Math.min(low, 0);
      if (chart.group === 'reward') { low = Math.min(low, 0); high = Math.max(high, 0); }
      const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
      if (!lane || low < 0) low -= room;
      high += room;
      const y = (value) => height - 4 - ((value - low) / (high - low)) * (height - 8);
      // What never changes needs no axis to say so.
      const still = chart.lines.every((line) => {
        const known = line.low.filter((value) => value !== null);
        return !line.high && new Set(known).size <= 1 && known.length >= this.count - 1;
      });
      const svg = still ? null : canvasOf(figure, this.width, height);
      if (svg) this.scale(svg, low, high, y, lane, near ? chart.limit : null);
      chart.lines.forEach((line, index) => {
        const known = chart.group === 'action' ? ACTIONS.get(line.name) : undefined;
        const colour = known || `s${index % 8}`;
        // Where steps share a column, its value holds for all of it.
        const stepped = line.high || (known && line.name !== 'measured');
        if (svg && line.high) {
          const back = this.path(line.high, y, true);
          draw(svg, 'path', { class: `band ${colour}`, d: this.area(line, y) });
          draw(svg, 'path', { class: `line ${colour}`, 'stroke-opacity': '.55', d: back });
        }
        if (svg) {
          draw(svg, 'path', { class: `line ${colour}`, d: this.path(line.low, y, stepped) });
        }
        const value = make('b', {}, '');
        const item = make('span', { class: 'value' });
        if (chart.lines.length > 1 || known) item.append(make('span', { class: `key ${colour}` }));
        if (line.name && (chart.lines.length > 1 || known)) item.append(`${line.name} `);
        item.append(value);
        head.append(item);
        this.updates.push((column) => {
          const least = line.low[column], most = line.high ? line.high[column] : least;
          value.textContent = least === most ? shown(least) : `${shown(least)} … ${shown(most)}`;
        });
      });
      if (still) head.append(make('span', { class: 'value' }, 'all the time'));
      if (chart.limit !== undefined) {
        const word = chart.group === 'latency' ? 'budget' : 'limit';
        head.append(make('span', { class: 'value' }, `${word} ${shown(chart.limit)}`));
      }
    }

    scale(svg, low, high, y, lane, limit) {
      for (const tick of ticks(low, high, lane ? 2 : 3)) {
        draw(svg, 'line', {
          class: 'gridline', x1: this.gutter, x2: this.width - RIGHT, y1: y(tick), y2: y(tick),
        });
        draw(svg, 'text', { x: this.gutter - 6, y: y(tick) + 3.5, 'text-anchor': 'end' }, shown(tick));
      }
      if (limit !== null) {
        draw(svg, 'line', {
          class: 'limitline', x1: this.gutter, x2: this.width - RIGHT, y1: y(limit),
          y2: y(limit),
        });
      }
    }

    // A line with gaps where nothing is known; a lonely value becomes a short dash.
    path(values, y, stepped) {
      let d = '', open = false;
      for (let i = 0; i < this.count; i++) {
        const value = values[i];
        if (value === null || value === undefined) { open = false; continue; }
        const x = this.to(i).toFixed(1), at = y(value).toFixed(1);
        if (stepped) d += `${open ? 'L' : 'M'}${this.from(i).toFixed(1)} ${at}H${x}`;
        else if (open) d += `L${x} ${at}`;
        else d += `M${(this.to(i) - 1).toFixed(1)} ${at}H${x}`;
        open = true;
      }
      return d;
    }

    area(line, y) {
      let d = '';
      for (let i = 0; i < this.count; i++) {
        if (line.low[i] === null) continue;
        const left = this.from(i).toFixed(1), right = this.to(i).toFixed(1);
        const top = y(line.high[i]), bottom = Math.max(y(line.low[i]), top + 0.5);
        d += `M${left} ${top.toFixed(1)}H${right}V${bottom.toFixed(1)}H${left}z`;
      }
      return d;
    }

    status() {
      const names = Object.keys(this.facts.status)
        .filter((name) => /[SM]/.test(this.facts.status[name]));
      if (!names.length) return;
      const [figure, head] = this.figure('too old or missing');
      head.append(
        make('span', { class: 'value' }, make('span', { class: 'key vL' }), 'stale'),
        make('span', { class: 'value' }, make('span', { class: 'key vS' }), 'missing'));
      const svg = canvasOf(figure, this.width, names.length * 19 + 2);
      names.forEach((name, row) => {
        const status = this.facts.status[name];
        for (let i = 0; i < this.count; i++) {
          if (status[i] === '.') continue;
          const left = this.from(i);
          draw(svg, 'rect', {
            class: `t${status[i]}`, x: left, y: row * 19 + 12, height: 6,
            width: Math.max(this.to(i) - left, 1),
          });
        }
        draw(svg, 'text', { x: this.gutter, y: row * 19 + 10 }, name);
      });
    }

    axis() {
      const figure = make('figure', { class: 'chart' });
      const svg = canvasOf(figure, this.width, 20);
      const begin = this.times[0], end = this.times[this.count - 1];
      if (end > begin) {
        for (const tick of ticks(begin, end, this.width < 500 ? 4 : 8)) {
          draw(svg, 'line', {
            class: 'gridline', x1: this.x(tick), x2: this.x(tick), y1: 0, y2: 5,
          });
          const text = `${shown(tick)} s`;
          draw(svg, 'text', { x: this.x(tick), y: 16, 'text-anchor': 'middle' }, text);
        }
      }
      this.charts.append(figure);
    }
  }

  const caption = (field, frame, step) => {
    const behind = step - frame.step;
    return `${field}, step ${frame.step}${behind ? ` (${behind} before)` : ''}`;
  };

  // The page ----------------------------------------------------------------------------------

  const page = data('page');
  const opened = new Map();

  function open(details) {
    const number = Number(details.dataset.number);
    if (!opened.has(number)) {
      opened.set(number, new Episode(details.querySelector('.body'), number));
    }
    return opened.get(number);
  }

  for (const details of document.querySelectorAll('details.episode')) {
    details.addEventListener('toggle', () => { if (details.open) open(details); });
  }

  // An address ends with #e3s17: episode 3, step 17.
  function follow() {
    const found = /^#e(\d+)(?:s(\d+))?$/.exec(location.hash);
    const details = found && document.getElementById(`e${found[1]}`);
    if (!details || details.tagName !== 'DETAILS') return;
    details.open = true;
    const episode = open(details);
    if (found[2] !== undefined) episode.point(episode.columnOfStep(Number(found[2])));
    details.scrollIntoView({ block: 'start' });
  }
  window.addEventListener('hashchange', follow);
  for (const link of document.querySelectorAll('a[href^="#e"]')) {
    // Followed again also when the address is there already.
    link.addEventListener('click', () => { if (link.hash === location.hash) follow(); });
  }

  if (location.hash) follow();
})();
