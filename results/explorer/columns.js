// columns.js - the points of a sweep, column by column, and numbers as people read them.
//
// The page holds each column as {values: [...]} or, where few values repeat, as {dictionary: [...], codes: [...]}.
// Here every column gets `numbers`, one per point: the value, or for texts the position in `words`; NaN where the point
// has none. Sorting, filtering and drawing then work on numbers alone.

function readColumn(raw, n) {
  const words = raw.dictionary || null;
  const isNumber = !words || words.every(word => typeof word === 'number');
  const numbers = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const cell = words ? raw.codes[i] : raw.values[i];
    if (words) numbers[i] = cell < 0 ? NaN : isNumber ? words[cell] : cell;
    else numbers[i] = cell === null ? NaN : cell;
  }
  return {name: raw.name, label: raw.label || raw.name, path: raw.path || '', unit: raw.unit || '', kind: raw.kind,
    sentence: raw.sentence || '', better: raw.better || '', words: isNumber ? null : words, isNumber, numbers,
    band: null, distinct: null};
}

// Attaches the error bands, [column, run, low, high, expected] each, to their columns as maps from a point
// to [low, high, expected].
function readBands(bands, columns) {
  const runs = columns.find(column => column.name === 'run'), points = new Map();
  if (!runs) return;
  runs.numbers.forEach((run, point) => points.set(run, point));
  for (const [name, run, low, high, expected] of bands) {
    const column = columns.find(one => one.name === name);
    if (!column || !points.has(run)) continue;
    if (!column.band) column.band = new Map();
    column.band.set(points.get(run), [low, high, expected]);
  }
}

const suffixes = {m: 1e-3, u: 1e-6, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40};

function trimmed(value) {
  return String(Number(value.toPrecision(4)));
}

// 232600 is 232.6k; sizes are in powers of two, 75.1 Gi.
function shortNumber(value, unit) {
  if (!Number.isFinite(value)) return '';
  const size = Math.abs(value);
  if (unit === 'B' && size >= 2 ** 20) {
    for (const name of ['Ti', 'Gi', 'Mi'])
      if (size >= suffixes[name]) return trimmed(value / suffixes[name]) + ' ' + name;
  }
  if (size >= 1e4)
    for (const name of ['P', 'T', 'G', 'M', 'k'])
      if (size >= suffixes[name]) return trimmed(value / suffixes[name]) + name;
  return trimmed(value);
}

function cellText(column, point) {
  const number = column.numbers[point];
  if (Number.isNaN(number)) return '';
  if (!column.isNumber) return column.words[number];
  return column.kind === 'metric' ? shortNumber(number, column.unit) : String(number);
}

// What measurements show where the point lies outside its own band.
function bandNote(value, [low, high, expected]) {
  if (!(value < low || value > high) || !expected) return '';
  return `, measured runs show ${Math.round(100 * Math.abs(expected / value - 1))} % ${expected > value ? 'more' : 'less'}`;
}

// The cell with its error band, where a measurement supports one.
function bandText(column, point) {
  const band = column.band && column.band.get(point);
  const text = cellText(column, point);
  if (!band) return text;
  const note = bandNote(column.numbers[point], band);
  return `${text} (${shortNumber(band[0], column.unit)} to ${shortNumber(band[1], column.unit)}${note})`;
}

// What stands at a chart's axis: the name with its unit.
function axisTitle(column) {
  return column.unit ? `${column.label}, ${column.unit}` : column.label;
}

// The different numbers of a column over all points, in order; found once.
function distinctValues(column) {
  if (!column.distinct)
    column.distinct = Float64Array.from(new Set(column.numbers)).filter(value => !Number.isNaN(value)).sort();
  return Array.from(column.distinct);
}

// Least and greatest number of a column over the points given; null where none has one.
function rangeOf(column, points) {
  let least = Infinity, most = -Infinity;
  for (const point of points) {
    const value = column.numbers[point];
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return least <= most ? [least, most] : null;
}
