// grid.js - the table of points. Only the rows in view are in the document, so that 100,000 scroll like ten: two empty
// rows stand for those above and below. Up, down, page and home move the chosen row; a head sorts; below it is a
// filter.

const ROW_HEIGHT = 26, EXTRA_ROWS = 8, PRINTED_ROWS = 60;

function makeGrid(place, actions) {
  const grid = {columns: [], points: [], chosen: -1, inputs: new Map()};
  const scroller = document.createElement('div');
  scroller.className = 'grid';
  scroller.tabIndex = 0;
  scroller.setAttribute('role', 'region');
  scroller.setAttribute('aria-label', 'Points: arrow keys move, Enter copies the settings');
  const table = document.createElement('table');
  const head = table.createTHead(), body = table.createTBody();
  scroller.append(table);
  place.append(scroller);

  function widthOf(column) {
    let longest = Math.max(column.label.length + 3, 6);
    const step = Math.max(1, Math.floor(grid.points.length / 300));
    for (let k = 0; k < grid.points.length; k += step)
      longest = Math.max(longest, bandText(column, grid.points[k]).length);
    return Math.min(44, longest) * 7.4 + 18;
  }

  function makeHead(column, sort) {
    const cell = document.createElement('th'), button = document.createElement('button');
    cell.scope = 'col';
    cell.style.width = Math.round(widthOf(column)) + 'px';
    if (column.isNumber) cell.className = 'n';
    const isSorted = sort.column === column;
    cell.setAttribute('aria-sort', !isSorted ? 'none' : sort.isDown ? 'descending' : 'ascending');
    button.textContent = column.label + (isSorted ? sort.isDown ? ' ▼' : ' ▲' : '');
    button.title = [column.path && `Axis ${column.path}.`, column.sentence, column.unit && `Unit: ${column.unit}.`]
      .filter(text => text).join(' ');
    button.dataset.column = column.name;
    button.addEventListener('click', () => actions.sort(column));
    cell.append(button);
    return cell;
  }

  function makeFilter(column) {
    const cell = document.createElement('td');
    let input = grid.inputs.get(column);
    if (!input) {
      input = document.createElement('input');
      input.placeholder = column.isNumber ? '> 8, 2..8' : 'text';
      input.setAttribute('aria-label', 'Filter ' + column.label);
      input.dataset.column = column.name;
      input.addEventListener('input', () => actions.filter(column, input.value));
      grid.inputs.set(column, input);
    }
    cell.append(input);
    return cell;
  }

  // Sets the columns, and their heads and filters anew.
  grid.setColumns = function (columns, sort) {
    const active = document.activeElement, focused = active && active.dataset ? active.dataset.column : '';
    const wasButton = active && active.tagName === 'BUTTON';
    grid.columns = columns;
    head.replaceChildren();
    const names = head.insertRow(), filters = head.insertRow();
    filters.className = 'filters';
    for (const column of columns) {
      names.append(makeHead(column, sort));
      filters.append(makeFilter(column));
    }
    if (focused && wasButton) {
      const again = names.querySelector(`button[data-column="${CSS.escape(focused)}"]`);
      if (again) again.focus();
    }
  };

  function emptyRow(height) {
    const row = document.createElement('tr'), cell = document.createElement('td');
    row.className = 'gap';
    row.setAttribute('aria-hidden', 'true');
    cell.colSpan = Math.max(1, grid.columns.length);
    cell.style.height = Math.max(0, height) + 'px';
    row.append(cell);
    return row;
  }

  function pointRow(at) {
    const point = grid.points[at], row = document.createElement('tr');
    row.dataset.point = point;
    row.setAttribute('aria-rowindex', at + 1);
    if (point === grid.chosen) row.className = 'chosen';
    for (const column of grid.columns) {
      const cell = document.createElement('td');
      cell.textContent = bandText(column, point);
      cell.title = cell.textContent;
      if (column.isNumber) {
        cell.className = 'n';
        cell.dataset.value = Number.isNaN(column.numbers[point]) ? '' : column.numbers[point];
      }
      row.append(cell);
    }
    return row;
  }

  function draw(from, to) {
    const rows = document.createDocumentFragment();
    rows.append(emptyRow(from * ROW_HEIGHT));
    for (let at = from; at < to; at++) rows.append(pointRow(at));
    rows.append(emptyRow((grid.points.length - to) * ROW_HEIGHT));
    body.replaceChildren(rows);
  }

  grid.draw = function () {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW_HEIGHT) - EXTRA_ROWS);
    const shown = Math.ceil(scroller.clientHeight / ROW_HEIGHT) + 2 * EXTRA_ROWS;
    const last = Math.min(grid.points.length, first + shown);
    draw(Math.min(first, last), last);
    table.setAttribute('aria-rowcount', grid.points.length);
  };

  grid.setPoints = function (points) {
    grid.points = points;
    scroller.scrollTop = 0;
    grid.draw();
  };

  // Marks a point, and scrolls to it where it is out of view.
  grid.choose = function (point) {
    grid.chosen = point;
    const at = grid.points.indexOf(point);
    if (at >= 0) {
      const top = at * ROW_HEIGHT, room = scroller.clientHeight - head.offsetHeight - ROW_HEIGHT;
      if (top < scroller.scrollTop) scroller.scrollTop = top;
      else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
    }
    grid.draw();
  };

  scroller.addEventListener('scroll', () => requestAnimationFrame(grid.draw));
  body.addEventListener('click', event => {
    const row = event.target.closest('tr[data-point]');
    if (row) actions.choose(Number(row.dataset.point));
  });
  scroller.addEventListener('keydown', event => {
    if (event.target !== scroller) return;
    const page = Math.max(1, Math.floor(scroller.clientHeight / ROW_HEIGHT) - 3);
    const all = grid.points.length;
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -all, End: all};
    if (event.key === 'Enter') actions.copy();
    if (!(event.key in steps) || grid.points.length === 0) return;
    event.preventDefault();
    const now = grid.points.indexOf(grid.chosen);
    const next = now < 0 ? 0 : Math.max(0, Math.min(grid.points.length - 1, now + steps[event.key]));
    actions.choose(grid.points[next]);
  });
  window.addEventListener('beforeprint', () => draw(0, Math.min(grid.points.length, PRINTED_ROWS)));
  window.addEventListener('afterprint', grid.draw);
  return grid;
}
