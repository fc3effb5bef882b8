// front.js - the Pareto front of two columns: the points that no other point beats in both.
//
// In the order of x, best first, a point is on the front if its y is better than that of all points before it. Of
// points equal in both the first is taken, as in the view `front`.

function paretoFront(points, x, y, xMore, yMore) {
  const signX = xMore ? -1 : 1, signY = yMore ? -1 : 1;
  const valued = Array.from(points).filter(i => !Number.isNaN(x.numbers[i]) && !Number.isNaN(y.numbers[i]));
  valued.sort((a, b) => signX * (x.numbers[a] - x.numbers[b]) || signY * (y.numbers[a] - y.numbers[b]) || a - b);
  const front = [];
  let best = Infinity;
  for (const point of valued) {
    const value = signY * y.numbers[point];
    if (value < best) {
      front.push(point);
      best = value;
    }
  }
  return front;
}

// Whether more of a column is better: as the sweep's objective says, else less of seconds and bytes, more of the rest.
function moreIsBetter(column) {
  if (column.better) return column.better === 'more';
  return !(column.unit === 's' || column.unit === 'B' || column.unit === 'W' || column.unit === 'J');
}
