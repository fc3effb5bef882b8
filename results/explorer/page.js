// page.js - what every report does: tables are sorted by the head that is clicked, and colours can be switched.

// What a row is sorted by: the database's own number where the cell has one, else the text.
function cellKey(row, at) {
  const value = row.cells[at].dataset.value;
  return value === undefined ? row.cells[at].textContent : value === '' ? NaN : +value;
}

function sortTable(head) {
  const at = head.cellIndex, body = head.closest('table').tBodies[0];
  const down = head.dataset.down !== '1';
  head.dataset.down = down ? '1' : '0';
  for (const other of head.parentElement.cells) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const rows = Array.from(body.rows);
  rows.sort((a, b) => {
    const x = cellKey(a, at), y = cellKey(b, at);
    return (x < y ? 1 : x > y ? -1 : 0) * (down ? 1 : -1);
  });
  for (const row of rows) body.appendChild(row);
}

function makeTablesSortable() {
  for (const head of document.querySelectorAll('table[id] th')) {
    head.tabIndex = 0;
    head.addEventListener('click', () => sortTable(head));
    head.addEventListener('keydown', event => {
      if (event.key === 'Enter' || event.key === ' ') {
        event.preventDefault();
        sortTable(head);
      }
    });
  }
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

// Switches between light and dark; a reader's choice lasts as long as the page is open.
function makeThemeButton() {
  const button = document.getElementById('theme');
  button.hidden = false;
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    document.dispatchEvent(new Event('themechange'));
  });
}

makeTablesSortable();
makeThemeButton();
