// canvas.js - what both charts share: a canvas as sharp as the screen, the page's colours, scales and round ticks.

// Sizes the canvas to its element; returns a context in CSS pixels, cleared.
function startDrawing(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '12px system-ui, sans-serif';
  return {context, width, height};
}

// A copy of what is drawn, to which marks can be added again and again without drawing all points anew.
function keepDrawing(canvas) {
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  copy.getContext('2d').drawImage(canvas, 0, 0);
  return copy;
}

// Puts the copy back; returns a context in CSS pixels.
function restoreDrawing(canvas, copy) {
  const context = canvas.getContext('2d'), ratio = window.devicePixelRatio || 1;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.drawImage(copy, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

// Colours that print and colour-blind readers keep apart (after Okabe and Ito 2008), as in gnuplot's plots.
const palette = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#b3a400', '#7f7f7f'];

// From blue over green to yellow: t is 0 to 1.
function shade(t) {
  return `hsl(${Math.round(230 - 180 * t)} 75% ${Math.round(38 + 14 * t)}%)`;
}

// Maps [least, most] onto [from, to]; by logarithm where the range spans more than two powers of ten.
function makeScale(range, from, to) {
  let [least, most] = range;
  const isLog = least > 0 && most / least > 100;
  if (least === most) {
    const room = Math.abs(least) * 0.05 || 1;
    least -= room;
    most += room;
  }
  const f = isLog ? Math.log10 : value => value;
  const low = f(least), span = f(most) - low;
  return {
    isLog, least, most,
    place: value => from + (f(value) - low) / span * (to - from),
    value: at => {
      const inner = low + (at - from) / (to - from) * span;
      return isLog ? 10 ** inner : inner;
    },
  };
}

// About `n` round values within a scale: 1, 2 or 5 times a power of ten; of sizes, of Mi, Gi or Ti.
function ticks(scale, n, unit) {
  const values = [];
  if (unit === 'B' && !scale.isLog) {
    const size = Math.max(Math.abs(scale.least), Math.abs(scale.most));
    const power = size >= 2 ** 40 ? 2 ** 40 : size >= 2 ** 30 ? 2 ** 30 : size >= 2 ** 20 ? 2 ** 20 : 1;
    return ticks({least: scale.least / power, most: scale.most / power}, n).map(value => value * power);
  }
  if (scale.isLog) {
    const many = Math.log10(scale.most / scale.least) > n;
    for (let power = Math.floor(Math.log10(scale.least)); power <= Math.log10(scale.most); power++)
      for (const digit of many ? [1] : [1, 2, 5]) {
        const value = digit * 10 ** power;
        if (value >= scale.least && value <= scale.most) values.push(value);
      }
    return values;
  }
  const rough = (scale.most - scale.least) / n, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(digit => digit * power >= rough) * power;
  for (let k = Math.ceil(scale.least / step); k * step <= scale.most + step * 1e-9; k++) values.push(k * step);
  return values;
}

// The text cut to a width, with an ellipsis.
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let kept = text;
  while (kept.length > 1 && context.measureText(kept + '…').width > width) kept = kept.slice(0, -1);
  return kept + '…';
}
