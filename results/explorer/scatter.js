// scatter.js - all shown points by two columns, their Pareto front as a staircase, error bands as bars.
//
// A hidden index of cells of 16 pixels finds the point below the pointer among 100,000. With the keyboard, left
// and right walk along the front.

const CELL = 16;

function makeScatter(canvas, choose, hover) {
  const chart = {canvas, cells: new Map(), front: [], walk: -1, base: null, xScale: null, yScale: null};

  function dotColours(view) {
    const column = view.colour;
    if (!column) return () => pageDot;
    const range = rangeOf(column, view.points), distinct = new Set();
    for (const point of view.points) if (distinct.size <= palette.length) distinct.add(column.numbers[point]);
    if (distinct.size <= palette.length) {
      const order = Array.from(distinct).sort((a, b) => a - b);
      const colours = new Map(order.map((value, k) => [value, palette[k]]));
      return point => colours.get(column.numbers[point]) || pageDot;
    }
    const span = range[1] - range[0] || 1;
    return point => Number.isNaN(column.numbers[point]) ? pageDot : shade((column.numbers[point] - range[0]) / span);
  }
  let pageDot = '';

  function drawAxes(context, width, height, view, box) {
    context.strokeStyle = pageColour('line');
    context.fillStyle = pageColour('faint');
    context.lineWidth = 1;
    context.textAlign = 'center';
    for (const value of ticks(chart.xScale, Math.max(2, (box.right - box.left) / 90), view.x.unit)) {
      const at = Math.round(chart.xScale.place(value)) + 0.5;
      context.beginPath();
      context.moveTo(at, box.top);
      context.lineTo(at, box.bottom);
      context.stroke();
      context.fillText(shortNumber(value, view.x.unit), at, box.bottom + 16);
    }
    context.textAlign = 'right';
    for (const value of ticks(chart.yScale, 6, view.y.unit)) {
      const at = Math.round(chart.yScale.place(value)) + 0.5;
      context.beginPath();
      context.moveTo(box.left, at);
      context.lineTo(box.right, at);
      context.stroke();
      context.fillText(shortNumber(value, view.y.unit), box.left - 6, at + 4);
    }
    context.fillStyle = pageColour('ink');
    context.textAlign = 'center';
    const title = (column, scale) => axisTitle(column) + (scale.isLog ? ' (logarithmic)' : '');
    const across = title(view.x, chart.xScale);
    context.fillText(view.xMore ? across + ': better →' : '← better: ' + across,
      (box.left + box.right) / 2, height - 6);
    context.textAlign = 'left';
    const up = (view.yMore ? '↑ better: ' : '↓ better: ') + title(view.y, chart.yScale);
    context.fillText(fitText(context, up, width - 16), 8, 14);
  }

  function drawDots(context, view, valued) {
    const colourOf = dotColours(view), size = valued.length > 20000 ? 2 : valued.length > 2000 ? 3 : 5;
    context.globalAlpha = valued.length > 2000 ? 0.6 : 0.85;
    chart.cells = new Map();
    let colour = '';
    for (const point of valued) {
      const x = chart.xScale.place(view.x.numbers[point]), y = chart.yScale.place(view.y.numbers[point]);
      const wanted = colourOf(point);
      if (wanted !== colour) context.fillStyle = colour = wanted;
      context.fillRect(x - size / 2, y - size / 2, size, size);
      const key = Math.floor(x / CELL) * 4096 + Math.floor(y / CELL), cell = chart.cells.get(key);
      if (cell) cell.push(point);
      else chart.cells.set(key, [point]);
    }
    context.globalAlpha = 1;
  }

  function drawFront(context, view) {
    context.strokeStyle = context.fillStyle = pageColour('front');
    context.lineWidth = 1.5;
    context.beginPath();
    chart.front.forEach((point, k) => {
      const x = chart.xScale.place(view.x.numbers[point]), y = chart.yScale.place(view.y.numbers[point]);
      if (k === 0) context.moveTo(x, y);
      else {
        context.lineTo(x, chart.yScale.place(view.y.numbers[chart.front[k - 1]]));
        context.lineTo(x, y);
      }
    });
    context.stroke();
    for (const point of chart.front) {
      context.beginPath();
      context.arc(chart.xScale.place(view.x.numbers[point]), chart.yScale.place(view.y.numbers[point]), 3.5, 0, 7);
      context.fill();
    }
  }

  function drawBands(context, view, box) {
    const shown = new Set(view.points);
    context.save();
    context.beginPath();
    context.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
    context.clip();
    context.strokeStyle = pageColour('faint');
    context.lineWidth = 1;
    const bar = (x0, y0, x1, y1) => {
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    };
    const at = point => [chart.xScale.place(view.x.numbers[point]), chart.yScale.place(view.y.numbers[point])];
    for (const [point, [low, high]] of view.x.band || [])
      if (shown.has(point)) bar(chart.xScale.place(low), at(point)[1], chart.xScale.place(high), at(point)[1]);
    for (const [point, [low, high]] of view.y.band || [])
      if (shown.has(point)) bar(at(point)[0], chart.yScale.place(low), at(point)[0], chart.yScale.place(high));
    context.restore();
  }

  function ring(context, view, point, colour) {
    if (point < 0 || Number.isNaN(view.x.numbers[point]) || Number.isNaN(view.y.numbers[point])) return;
    context.strokeStyle = colour;
    context.lineWidth = 2.5;
    context.beginPath();
    context.arc(chart.xScale.place(view.x.numbers[point]), chart.yScale.place(view.y.numbers[point]), 7, 0, 7);
    context.stroke();
  }

  // The range of a column, widened to the bands that are drawn.
  function rangeWithBands(column, points, withBands) {
    const range = rangeOf(column, points);
    if (range && withBands && column.band)
      for (const point of points) {
        const band = column.band.get(point);
        if (band) range[0] = Math.min(range[0], band[0]), range[1] = Math.max(range[1], band[1]);
      }
    return range;
  }

  chart.draw = function (view) {
    const {context, width, height} = startDrawing(canvas);
    const valued = Array.from(view.points).filter(i =>
      !Number.isNaN(view.x.numbers[i]) && !Number.isNaN(view.y.numbers[i]));
    const box = {left: 64, right: width - 14, top: 26, bottom: height - 40};
    chart.view = view;
    chart.base = null;
    chart.cells = new Map();
    chart.front = [];
    if (valued.length === 0) {
      context.fillStyle = pageColour('faint');
      context.fillText('None of the shown points has both values.', 20, 40);
      return;
    }
    pageDot = pageColour('dot');
    chart.xScale = makeScale(rangeWithBands(view.x, valued, view.withBands), box.left + 8, box.right - 8);
    chart.yScale = makeScale(rangeWithBands(view.y, valued, view.withBands), box.bottom - 8, box.top + 8);
    if (view.withFront)
      chart.front = paretoFront(valued.filter(view.isEligible), view.x, view.y, view.xMore, view.yMore);
    drawAxes(context, width, height, view, box);
    drawDots(context, view, valued);
    if (view.withBands) drawBands(context, view, box);
    if (view.withFront) drawFront(context, view);
    chart.base = keepDrawing(canvas);
  };

  // Rings around the point that is compared with, and the chosen one.
  chart.mark = function (chosen, reference) {
    if (!chart.base) return;
    const context = restoreDrawing(canvas, chart.base);
    ring(context, chart.view, reference, pageColour('faint'));
    ring(context, chart.view, chosen, pageColour('chosen'));
  };

  // The nearest point within 12 pixels; -1: none.
  chart.at = function (x, y) {
    let nearest = -1, least = 12 * 12;
    for (let column = Math.floor(x / CELL) - 1; column <= Math.floor(x / CELL) + 1; column++)
      for (let row = Math.floor(y / CELL) - 1; row <= Math.floor(y / CELL) + 1; row++)
        for (const point of chart.cells.get(column * 4096 + row) || []) {
          const dx = chart.xScale.place(chart.view.x.numbers[point]) - x;
          const dy = chart.yScale.place(chart.view.y.numbers[point]) - y;
          if (dx * dx + dy * dy < least) nearest = point, least = dx * dx + dy * dy;
        }
    return nearest;
  };

  canvas.addEventListener('mousemove', event => hover(chart.at(event.offsetX, event.offsetY), event));
  canvas.addEventListener('mouseleave', () => hover(-1, null));
  canvas.addEventListener('click', event => {
    const point = chart.at(event.offsetX, event.offsetY);
    if (point >= 0) choose(point);
  });
  canvas.addEventListener('keydown', event => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (!step || chart.front.length === 0) return;
    event.preventDefault();
    chart.walk = Math.max(0, Math.min(chart.front.length - 1, chart.walk + step));
    choose(chart.front[chart.walk]);
  });
  return chart;
}
