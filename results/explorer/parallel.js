// parallel.js - parallel coordinates: one vertical line per column, one broken line per point.
//
// Dragging along an axis keeps what lies between the ends: the range goes into the table's filter of that column, where
// the keyboard can write it too. At most MOST_LINES points are drawn: the front, and an even sample of the others.

const MOST_LINES = 4000;

function makeParallel(canvas, filterBy) {
  const chart = {canvas, axes: [], drag: null, base: null};

  // The axis' scale: numbers by value; texts, and numbers of few values, evenly.
  function makeAxis(column, x, box) {
    const values = distinctValues(column);
    if (!column.isNumber || (column.kind === 'axis' && values.length <= 12)) {
      const step = (box.bottom - box.top) / Math.max(1, values.length - 1);
      const height = k => values.length === 1 ? (box.top + box.bottom) / 2 : box.bottom - k * step;
      const places = new Map(values.map((value, k) => [value, height(k)]));
      return {column, x, values, place: value => places.get(value), marks: values};
    }
    const scale = makeScale([values[0], values[values.length - 1]], box.bottom, box.top);
    return {column, x, values, place: scale.place, marks: ticks(scale, 5, column.unit)};
  }

  function sample(view) {
    const first = view.front.slice(0, MOST_LINES), rest = [], known = new Set(first);
    const step = Math.max(1, view.points.length / (MOST_LINES - first.length || 1));
    for (let k = 0; k < view.points.length; k += step) {
      const point = view.points[Math.floor(k)];
      if (!known.has(point)) rest.push(point);
    }
    return {first, rest};
  }

  function drawLine(context, point) {
    context.beginPath();
    let isOpen = false;
    for (const axis of chart.axes) {
      const value = axis.column.numbers[point];
      if (Number.isNaN(value)) {
        isOpen = false;
        continue;
      }
      if (isOpen) context.lineTo(axis.x, axis.place(value));
      else context.moveTo(axis.x, axis.place(value));
      isOpen = true;
    }
    context.stroke();
  }

  function drawAxis(context, axis, width, room) {
    context.strokeStyle = pageColour('faint');
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(axis.x + 0.5, 40);
    context.lineTo(axis.x + 0.5, canvas.clientHeight - 14);
    context.stroke();
    const isLast = axis.x > width - room;
    context.textAlign = isLast ? 'right' : 'left';
    const at = axis.x + (isLast ? -4 : 4);
    let free = Infinity;
    for (const value of axis.marks) {
      const y = axis.place(value);
      if (free - y < 13) continue;
      free = y;
      const name = axis.column.isNumber ? shortNumber(value, axis.column.unit) : axis.column.words[value];
      const text = fitText(context, name, room - 10);
      const wide = context.measureText(text).width;
      context.fillStyle = pageColour('paper');
      context.globalAlpha = 0.8;
      context.fillRect(isLast ? at - wide - 1 : at - 1, y - 7, wide + 2, 14);
      context.globalAlpha = 1;
      context.fillStyle = pageColour('ink');
      context.fillText(text, at, y + 4);
    }
  }

  function drawHeads(context, width, room) {
    chart.axes.forEach((axis, k) => {
      const isLast = k === chart.axes.length - 1;
      context.textAlign = isLast ? 'right' : k === 0 ? 'left' : 'center';
      context.fillStyle = pageColour('ink');
      context.fillText(fitText(context, axisTitle(axis.column), room * (isLast || k === 0 ? 1 : 0.95)),
        axis.x + (isLast ? 12 : k === 0 ? -12 : 0), k % 2 ? 30 : 14);
    });
  }

  chart.draw = function (view) {
    const {context, width, height} = startDrawing(canvas);
    const box = {left: 20, right: width - 20, top: 46, bottom: height - 22};
    const columns = view.columns.filter(column => distinctValues(column).length > 0);
    const room = (box.right - box.left) / Math.max(1, columns.length - 1);
    chart.axes = columns.map((column, k) => makeAxis(column, Math.round(box.left + k * room), box));
    const {first, rest} = sample(view);
    context.lineWidth = 1;
    context.strokeStyle = pageColour('dot');
    context.globalAlpha = Math.max(0.05, Math.min(0.6, 150 / (rest.length || 1)));
    for (const point of rest) drawLine(context, point);
    context.globalAlpha = 1;
    context.strokeStyle = pageColour('front');
    context.lineWidth = 1.5;
    for (const point of first) drawLine(context, point);
    for (const axis of chart.axes) drawAxis(context, axis, width, room);
    drawHeads(context, width, room);
    chart.base = keepDrawing(canvas);
    return {drawn: first.length + rest.length};
  };

  chart.mark = function (chosen) {
    if (!chart.base) return;
    const context = restoreDrawing(canvas, chart.base);
    if (chosen < 0) return;
    context.strokeStyle = pageColour('chosen');
    context.lineWidth = 3;
    drawLine(context, chosen);
  };

  function axisAt(x) {
    let nearest = null;
    for (const axis of chart.axes) if (!nearest || Math.abs(axis.x - x) < Math.abs(nearest.x - x)) nearest = axis;
    return nearest && Math.abs(nearest.x - x) < 24 ? nearest : null;
  }

  // The filter that keeps what lies between two heights of an axis; '' where that is everything, or nothing.
  function filterBetween(axis, top, bottom) {
    const within = axis.values.filter(value => axis.place(value) >= top && axis.place(value) <= bottom);
    if (within.length === 0 || within.length === axis.values.length) return '';
    if (!axis.column.isNumber) return '=' + within.map(value => axis.column.words[value]).join('|');
    return `${within[0]}..${within[within.length - 1]}`;
  }

  canvas.addEventListener('pointerdown', event => {
    const axis = axisAt(event.offsetX);
    if (!axis) return;
    chart.drag = {axis, from: event.offsetY, x: axis.x};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointerup', event => {
    if (!chart.drag) return;
    const {axis, from} = chart.drag, to = event.offsetY;
    chart.drag = null;
    filterBy(axis.column, Math.abs(to - from) < 4 ? '' : filterBetween(axis, Math.min(from, to), Math.max(from, to)));
  });
  return chart;
}
