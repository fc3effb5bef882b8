// filters.js - what a reader types below a column's head, as a test of points.
//
//   8        equal            >8  >=8  <8  <=8  !=8    2..8  both ends included     1|2|4  one of them
//   full     contains         =full  is exactly        -     has no value
// Numbers may end in k, M, G, T or Ki, Mi, Gi, Ti: <80Gi.

function readNumber(text) {
  const found = /^([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*(Ki|Mi|Gi|Ti|[umkMGTP])?B?$/.exec(text.trim());
  return found ? Number(found[1]) * (found[2] ? suffixes[found[2]] : 1) : NaN;
}

function near(a, b) {
  return Math.abs(a - b) <= 1e-6 * Math.max(Math.abs(a), Math.abs(b));
}

// A test of one number, or null where the text is not one.
function numberTest(column, text) {
  const span = /^(.+)\.\.(.+)$/.exec(text);
  if (span) {
    const low = readNumber(span[1]), high = readNumber(span[2]);
    return Number.isNaN(low + high) ? null : value => value >= low && value <= high;
  }
  const found = /^(>=|<=|!=|>|<|=)?(.+)$/.exec(text), bound = readNumber(found[2]);
  if (Number.isNaN(bound)) return null;
  switch (found[1]) {
    case '>': return value => value > bound;
    case '>=': return value => value >= bound || near(value, bound);
    case '<': return value => value < bound;
    case '<=': return value => value <= bound || near(value, bound);
    case '!=': return value => !near(value, bound);
    default: return value => near(value, bound) || shortNumber(value, column.unit).replace(' ', '') === found[2];
  }
}

function wordTest(column, text) {
  const isExact = text.startsWith('='), wanted = (isExact ? text.slice(1) : text).toLowerCase();
  const fits = column.words.map(word =>
    isExact ? word.toLowerCase() === wanted : word.toLowerCase().includes(wanted));
  return code => fits[code] === true;
}

// A function of a number; null where the text cannot be read. Empty texts pass everything.
function readFilter(column, text) {
  const tests = [];
  for (const part of column.isNumber || !text.startsWith('=') ? text.split('|') : splitExact(text)) {
    const word = part.trim();
    const test = word === '-' ? Number.isNaN : column.isNumber ? numberTest(column, word) : wordTest(column, word);
    if (!test) return null;
    tests.push(test);
  }
  return value => tests.some(test => test(value));
}

// "=a|b" means exactly a, or exactly b.
function splitExact(text) {
  return text.slice(1).split('|').map(word => '=' + word.trim());
}

// The points that pass every filter and contain every word of `search` in one of the columns of text or settings.
function passing(columns, n, filters, search) {
  const tests = [];
  for (const [column, test] of filters) tests.push([column.numbers, test]);
  const words = search.toLowerCase().split(/\s+/).filter(word => word);
  const readable = columns.filter(column => column.kind !== 'metric');
  const kept = new Uint32Array(n);
  let count = 0;
  for (let i = 0; i < n; i++) {
    if (!tests.every(([numbers, test]) => test(numbers[i]))) continue;
    if (words.length > 0) {
      const text = readable.map(column => `${column.label} ${cellText(column, i)}`).join(' ').toLowerCase();
      if (!words.every(word => text.includes(word))) continue;
    }
    kept[count++] = i;
  }
  return kept.slice(0, count);
}

// Sorts points in place by a column; points without a value come last, equal ones stay in their order.
function sortPoints(points, column, isDown) {
  const numbers = column.numbers, sign = isDown ? -1 : 1;
  let rank = null;
  if (column.words) {
    const order = column.words.map((word, code) => code).sort((a, b) => // "250 W" before "1000 W"
      column.words[a].localeCompare(column.words[b], 'en', {numeric: true}));
    rank = [];
    order.forEach((code, place) => { rank[code] = place; });
  }
  const keys = new Float64Array(numbers.length);
  for (const point of points) {
    const value = rank && !Number.isNaN(numbers[point]) ? rank[numbers[point]] : numbers[point];
    keys[point] = Number.isNaN(value) ? Infinity : sign * value;
  }
  points.sort((a, b) => keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b);
  return points;
}
