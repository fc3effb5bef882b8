// explorer.js - the explorer of a sweep: reads the points that the page holds, and keeps table, charts and the chosen
// point in step. One `state`; every change of it ends in `update`.

function startExplorer() {
  const holder = document.getElementById('explorer-data');
  if (!holder) return;
  const root = document.getElementById('explorer');
  const data = JSON.parse(holder.textContent), n = data.points;
  holder.remove();
  const columns = data.columns.map(raw => readColumn(raw, n));
  readBands(data.bands, columns);
  const find = name => columns.find(column => column.name === name);
  const axes = columns.filter(column => column.kind === 'axis');
  const metrics = columns.filter(column => column.kind === 'metric' && column.isNumber);
  const objectives = data.objectives.map(find).filter(column => column);
  const eligible = find('eligible');
  const rung = find('rung'), lastRung = rung ? Math.max(...distinctValues(rung)) : 0;
  const isEligible = point =>
    (!eligible || eligible.numbers[point] === 1) && (!rung || rung.numbers[point] === lastRung);
  const byId = id => document.getElementById('explorer-' + id);

  const state = {
    filters: new Map(), texts: new Map(), search: '', points: new Uint32Array(0), chosen: -1, reference: -1, best: -1,
    sort: {column: objectives[0] || find('point'), isDown: objectives[0] ? moreIsBetter(objectives[0]) : false},
    shown: new Set(), x: null, y: null, colour: null,
  };
  state.x = objectives[0] || metrics[0];
  state.y = objectives[1] || find('memory_peak_bytes') || find('ttft_p99_s') ||
    metrics.find(one => one !== state.x) || state.x;

  // Columns that the table begins with: all that is not a metric, then the objectives and a few results.
  const leading = ['iteration_time_s', 'tokens_per_s', 'tokens_per_s_per_gpu', 'mfu', 'memory_bytes',
    'memory_peak_bytes', 'ttft_p99_s', 'tpot_p99_s', 'output_tokens_per_s', 'goodput_rps', 'n_gpus'];
  for (const column of columns) {
    const isLeading = column.kind !== 'metric' || objectives.includes(column) || leading.includes(column.name);
    if (isLeading && column.name !== 'eligible') state.shown.add(column);
  }

  function tableColumns() {
    const order = column => column.kind === 'fact' ? (column.name === 'reason' ? 3 : 0)
      : column.kind === 'axis' ? 1 : objectives.includes(column) ? 1.5 : 2;
    return columns.filter(column => state.shown.has(column)).sort((a, b) => order(a) - order(b));
  }

  // --- What a reader does

  function choose(point) {
    state.chosen = point;
    grid.choose(point);
    markCharts();
    showDetail();
  }

  function copy() {
    if (state.chosen < 0) return;
    copyText(settingsLine(data, columns, state.chosen), byId('copied'));
  }

  function filter(column, text) {
    const input = grid.inputs.get(column);
    const test = text.trim() ? readFilter(column, text.trim()) : undefined;
    if (input) input.setAttribute('aria-invalid', test === null ? 'true' : 'false');
    if (test === null) return;
    if (test) state.filters.set(column, test);
    else state.filters.delete(column);
    update();
  }

  // From a chart or a button: writes the filter into the table as a reader would.
  function setFilter(column, text) {
    if (!state.shown.has(column)) {
      state.shown.add(column);
      grid.setColumns(tableColumns(), state.sort);
      fillChooser();
    }
    grid.inputs.get(column).value = text;
    filter(column, text);
  }

  function sort(column) {
    const isAgain = state.sort.column === column;
    state.sort = {column, isDown: isAgain ? !state.sort.isDown : column.isNumber && column.kind === 'metric'};
    grid.setColumns(tableColumns(), state.sort);
    grid.setPoints(sortPoints(state.points, state.sort.column, state.sort.isDown));
  }

  const grid = makeGrid(byId('table'), {choose, copy, filter, sort});
  const scatter = makeScatter(byId('scatter'), choose, hover);
  const parallel = makeParallel(byId('parallel'), setFilter);

  // --- What is shown

  function bestPoint(points) {
    const objective = objectives[0];
    if (!objective) return points.length > 0 ? points[0] : -1;
    const sign = moreIsBetter(objective) ? -1 : 1;
    let best = -1;
    for (const point of points) {
      const value = objective.numbers[point];
      if (Number.isNaN(value) || !isEligible(point)) continue;
      if (best < 0 || sign * value < sign * objective.numbers[best]) best = point;
    }
    return best;
  }

  // What points are compared with: the one that the reader fixed, else the best.
  function comparedPoint() {
    return state.reference >= 0 ? state.reference : state.best;
  }

  function results() {
    return [...new Set([...objectives, state.x, state.y, ...tableColumns().filter(column => column.kind === 'metric')])]
      .filter(column => column);
  }

  function hover(point, event) {
    const tip = byId('tip');
    tip.hidden = point < 0;
    scatter.canvas.style.cursor = point < 0 ? 'default' : 'pointer';
    if (point < 0) return;
    const other = comparedPoint();
    tip.replaceChildren(element('b', point === other ? `Point ${pointName(point)}: the one compared with`
      : `Point ${pointName(point)}, from point ${pointName(other)}:`),
    describePoint(columns, [...new Set([state.x, state.y, ...objectives])], point, other));
    const room = root.clientWidth - tip.offsetWidth - 10, frame = root.getBoundingClientRect();
    tip.style.left = Math.max(0, Math.min(room, event.clientX - frame.left + 14)) + 'px';
    tip.style.top = event.clientY - frame.top + 14 + 'px';
  }

  function pointName(point) {
    const number = find('point');
    return number ? cellText(number, point) : String(point);
  }

  function showDetail() {
    const detail = byId('detail'), point = state.chosen;
    detail.replaceChildren();
    byId('copy').disabled = byId('compare').disabled = point < 0;
    byId('command').textContent = point < 0 ? '' : settingsLine(data, columns, point);
    if (point < 0) {
      detail.append(element('p', 'Choose a point in the chart or the table.', 'note'));
      return;
    }
    const other = comparedPoint(), run = find('run');
    const name = `Point ${pointName(point)}${run ? `, run ${cellText(run, point)}` : ''}`;
    detail.append(element('h3', point === other ? name : `${name}, compared with point ${pointName(other)}`),
      describePoint(columns, results(), point, other));
  }

  function drawCharts() {
    if (!state.x || !state.y) return;
    const xMore = moreIsBetter(state.x), yMore = moreIsBetter(state.y);
    scatter.draw({points: state.points, x: state.x, y: state.y, xMore, yMore, colour: state.colour, isEligible,
      withFront: byId('front').checked, withBands: byId('bands').checked});
    byId('front-count').textContent = byId('front').checked ? `: ${scatter.front.length}` : '';
    const lines = [...axes, ...new Set([...objectives, state.x, state.y])];
    const {drawn} = parallel.draw({columns: lines, points: state.points, front: scatter.front});
    byId('lines').textContent = drawn < state.points.length
      ? `${drawn} of ${state.points.length} shown points are drawn as lines: the front and an even sample.` : '';
    markCharts();
  }

  function markCharts() {
    scatter.mark(state.chosen, comparedPoint());
    parallel.mark(state.chosen);
  }

  function update() {
    state.points = passing(columns, n, state.filters, state.search);
    if (state.sort.column) sortPoints(state.points, state.sort.column, state.sort.isDown);
    byId('count').textContent = `${state.points.length} of ${n} points` + (data.of ? ` in this sample of ${data.of}` : '');
    grid.setPoints(state.points);
    drawCharts();
    showDetail();
  }

  // --- What stands around it

  function fillSelect(select, choices, chosen, none) {
    select.replaceChildren();
    if (none) select.append(new Option(none, ''));
    for (const column of choices) select.append(new Option(axisTitle(column), column.name, false, column === chosen));
  }

  function fillChooser() {
    const chooser = byId('columns');
    chooser.replaceChildren();
    for (const column of columns) {
      const label = element('label'), box = element('input');
      box.type = 'checkbox';
      box.checked = state.shown.has(column);
      box.addEventListener('change', () => {
        if (box.checked) state.shown.add(column);
        else state.shown.delete(column);
        grid.setColumns(tableColumns(), state.sort);
        grid.draw();
      });
      label.title = column.sentence;
      label.append(box, ' ' + axisTitle(column));
      chooser.append(label);
    }
  }

  // Points without an answer, by status and reason, with numbers left out; a button shows those points.
  function fillReasons() {
    const status = find('status'), reason = find('reason'), counts = new Map();
    if (!status) return;
    for (let point = 0; point < n; point++) {
      if (cellText(status, point) === 'ok') continue;
      const key = cellText(status, point) + '\n' + (reason ? cellText(reason, point).replace(/\d+(\.\d+)?/g, '#') : '');
      counts.set(key, (counts.get(key) || 0) + 1);
    }
    byId('reasons').hidden = counts.size === 0;
    const body = byId('reasons').querySelector('tbody');
    for (const [key, count] of [...counts].sort((a, b) => b[1] - a[1]).slice(0, 40)) {
      const [word, why] = key.split('\n'), row = body.insertRow(), button = element('button', 'show');
      row.append(element('td', word), element('td', String(count), 'n'), element('td', why, 't'), element('td'));
      row.lastChild.append(button);
      button.setAttribute('aria-label', `Show the ${count} points that are ${word}: ${why}`);
      button.addEventListener('click', () => {
        setFilter(status, '=' + word);
        byId('table').scrollIntoView({block: 'nearest'});
      });
    }
  }

  function clearFilters() {
    for (const input of grid.inputs.values()) {
      input.value = '';
      input.setAttribute('aria-invalid', 'false');
    }
    byId('search').value = state.search = '';
    state.filters.clear();
    update();
  }

  // The shown points as CSV, with every digit that the page holds.
  function save() {
    const quote = text => /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    const lines = [columns.map(column => quote(column.path || column.name)).join(',')];
    for (const point of state.points) lines.push(columns.map(column => quote(plainValue(column, point))).join(','));
    const link = element('a');
    link.href = URL.createObjectURL(new Blob([lines.join('\n') + '\n'], {type: 'text/csv'}));
    link.download = 'points.csv';
    link.click();
    URL.revokeObjectURL(link.href);
  }

  function listen() {
    byId('search').addEventListener('input', event => { state.search = event.target.value; update(); });
    byId('clear').addEventListener('click', clearFilters);
    byId('save').addEventListener('click', save);
    byId('copy').addEventListener('click', copy);
    byId('compare').addEventListener('click', () => { state.reference = state.chosen; markCharts(); showDetail(); });
    byId('x').addEventListener('change', event => { state.x = find(event.target.value); drawCharts(); showDetail(); });
    byId('y').addEventListener('change', event => { state.y = find(event.target.value); drawCharts(); showDetail(); });
    byId('colour').addEventListener('change', event => {
      state.colour = find(event.target.value) || null;
      drawCharts();
    });
    byId('front').addEventListener('change', drawCharts);
    byId('bands').addEventListener('change', drawCharts);
    document.addEventListener('themechange', drawCharts);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawCharts);
    new ResizeObserver(() => { drawCharts(); grid.draw(); }).observe(root);
    window.addEventListener('beforeprint', () => {
      drawCharts();
      byId('printed').textContent = state.points.length > PRINTED_ROWS
        ? `The first ${PRINTED_ROWS} of ${state.points.length} points in this order.` : '';
    });
    window.addEventListener('afterprint', drawCharts);
  }

  state.best = bestPoint(Uint32Array.from({length: n}, (none, k) => k));
  root.hidden = false;
  const charted = [...axes.filter(column => column.isNumber), ...metrics];
  fillSelect(byId('x'), charted, state.x);
  fillSelect(byId('y'), charted, state.y);
  fillSelect(byId('colour'), [...axes, ...metrics], null, 'one colour');
  byId('bands').closest('label').hidden = !columns.some(column => column.band && column.band.size > 0);
  grid.setColumns(tableColumns(), state.sort);
  fillChooser();
  fillReasons();
  listen();
  state.chosen = state.best;
  update();
  if (state.chosen >= 0) choose(state.chosen);
  root.dataset.ready = '1';
}

// Copies a text; where the page may not write to the clipboard (a file opened directly), by way of a selection.
function copyText(text, say) {
  const done = () => {
    say.textContent = 'Copied.';
    setTimeout(() => { say.textContent = ''; }, 2000);
  };
  if (navigator.clipboard && window.isSecureContext) {
    navigator.clipboard.writeText(text).then(done, () => copyBySelection(text, done));
  } else copyBySelection(text, done);
}

function copyBySelection(text, done) {
  const area = element('textarea', text), focused = document.activeElement;
  area.className = 'hidden-text';
  document.body.append(area);
  area.select();
  if (document.execCommand('copy')) done();
  area.remove();
  if (focused) focused.focus();
}

startExplorer();
