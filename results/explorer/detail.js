// detail.js - one point in words: what differs from the point that it is compared with, its results, and the command
// that runs it by itself.

// A word of a shell's command line, in quotes where the shell would change it.
function shellWord(text) {
  return /^[-A-Za-z0-9_.,:=/@%+]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
}

function plainValue(column, point) {
  const number = column.numbers[point];
  if (Number.isNaN(number)) return '';
  return column.isNumber ? String(number) : column.words[number];
}

// "path=value" as [path, value].
function splitSetting(text) {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}

// orrery run FILE --set path=value ...: the point as a run of its own. Some axes are not settings of a
// scenario; `commands` has what stands for them: ["path=value; path=value", setting], or [null, setting] for all
// points.
function settingsLine(sweep, columns, point) {
  const values = new Map();
  for (const column of columns)
    if (column.kind === 'axis' && plainValue(column, point) !== '') values.set(column.path, plainValue(column, point));
  const settings = [];
  for (const [axes, setting] of sweep.commands) {
    const parts = axes ? axes.split('; ').map(splitSetting) : [];
    if (!parts.every(([path, value]) => values.get(path) === value)) continue;
    settings.push(setting);
    for (const [path] of parts) values.delete(path);
  }
  for (const [path, value] of values) settings.push(`${path}=${value}`);
  return ['orrery run', shellWord(sweep.file), ...settings.map(setting => '--set ' + shellWord(setting))].join(' ');
}

// The axes in which two points differ, as [label, value of the other, value of this].
function differences(columns, point, other) {
  const found = [];
  for (const column of columns)
    if (column.kind === 'axis' && other >= 0 && plainValue(column, point) !== plainValue(column, other))
      found.push([column.label, plainValue(column, other) || 'none', plainValue(column, point) || 'none']);
  return found;
}

function changePercent(column, point, other) {
  const now = column.numbers[point], then = column.numbers[other];
  if (!column.isNumber || other < 0 || point === other || !then || Number.isNaN(now) || Number.isNaN(then)) return '';
  const percent = 100 * (now / then - 1);
  return ` (${percent >= 0 ? '+' : '−'}${trimmed(Math.abs(percent))} %)`;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// A list of terms: what differs, then results with their change.
function describePoint(columns, shown, point, other) {
  const list = element('dl');
  const add = (term, text) => {
    const pair = element('div');
    pair.append(element('dt', term), element('dd', text));
    list.append(pair);
  };
  const found = differences(columns, point, other);
  for (const [label, then, now] of found) add(label, `${then} → ${now}`);
  if (found.length === 0 && point !== other && other >= 0) add('settings', 'equal');
  for (const column of shown) {
    const text = bandText(column, point);
    if (text) add(axisTitle(column), text + changePercent(column, point, other));
  }
  const find = name => columns.find(column => column.name === name);
  const status = find('status'), reason = find('reason');
  if (status && cellText(status, point) !== 'ok') add(cellText(status, point), reason ? cellText(reason, point) : '');
  return list;
}
