// Actions on several selected rows at once, one request after the other.
import { say } from './say.js';

/** Name, action, and the question to confirm first. @type {[label: string, action: string, asks?: string][]} */
const ACTIONS = [
  ['Run', 'run'],
  ['Retry', 'retry'],
  ['Pause', 'pause'],
  ['Resume', 'resume'],
  ['Label', 'label'],
  ['Kill', 'kill', 'Kill these threads? Their steps are kept.'],
];

/** Selects a row, or no longer. @param {Element} row @param {boolean} [isOn] */
export function mark(row, isOn) {
  const isSelected = row.toggleAttribute('data-selected', isOn);
  const box = row.querySelector('.select');
  if (box instanceof HTMLInputElement) box.checked = isSelected;
}

/** Shows the actions for these rows, or removes them if there are none. @param {HTMLElement[]} rows */
export function offer(rows) {
  document.getElementById('bulk')?.remove();
  const main = document.getElementById('main');
  if (!main || !rows.length || main.dataset.readOnly || !rows.every((row) => row.dataset.head)) return;
  const bar = document.createElement('div');
  bar.id = 'bulk';
  bar.setAttribute('role', 'toolbar');
  bar.setAttribute('aria-live', 'polite');
  bar.ariaLabel = 'Selected threads';
  bar.append(`${rows.length} selected`);
  const isOver = rows.every((row) => row.querySelector('.state[data-state=completed], .state[data-state=killed]'));
  for (const [label, action, asks] of ACTIONS.filter(([, action]) => !isOver || action === 'label')) {
    const act = button(label, () => {
      const field = fieldOf(action, rows);
      if (field) ask(bar, rows, action, label, field);
      else if (!asks || confirm(asks)) send(rows, action, label);
    });
    if (asks) act.className = 'danger';
    bar.append(act);
  }
  if (rows.length === 2) bar.append(button('Compare', () => compare(rows)));
  const all = /** @type {HTMLElement[]} */ (Array.from(document.querySelectorAll('[data-row][data-head]')));
  if (all.length > rows.length) bar.append(button(`Select all ${all.length}`, () => (all.forEach((row) => mark(row, true)), offer(all))));
  bar.append(button('Clear', () => clear(rows)));
  document.body.append(bar);
}

/** @param {string} text @param {() => unknown} does */
function button(text, does) {
  const it = document.createElement('button');
  it.type = 'button';
  it.textContent = text;
  it.onclick = does;
  return it;
}

/** The field that an action needs, if it needs one. @param {string} action @param {HTMLElement[]} rows @returns {HTMLInputElement | HTMLSelectElement | undefined} */
function fieldOf(action, rows) {
  if (action === 'label') {
    const field = document.createElement('input');
    Object.assign(field, { name: 'set', required: true, placeholder: 'KEY=VALUE', ariaLabel: 'Label, KEY=VALUE', pattern: '[^=]+=.*' });
    field.setAttribute('list', 'labels');
    return field;
  }
  // Machines of a gateway have agents of their own.
  const isOwn = !rows.some((row) => row.dataset.prefix);
  const choice = isOwn && action === 'retry' && document.querySelector('#agents select');
  return choice ? Object.assign(/** @type {HTMLSelectElement} */ (choice.cloneNode(true)), { id: '', ariaLabel: 'Agent' }) : undefined;
}

/** Asks for the field of an action in the place of the actions. @param {Element} bar @param {HTMLElement[]} rows @param {string} action
 * @param {string} label @param {HTMLInputElement | HTMLSelectElement} field */
function ask(bar, rows, action, label, field) {
  const form = document.createElement('form');
  const go = document.createElement('button');
  go.className = 'primary';
  go.textContent = label;
  form.append(field, go, button('Cancel', () => offer(rows)));
  form.onsubmit = (event) => {
    event.preventDefault();
    send(rows, action, label, field.value ? { [field.name]: field.value } : {});
  };
  bar.replaceChildren(`${rows.length} selected`, form);
  field.focus();
}

/** @param {HTMLElement[]} rows */
export function clear(rows) {
  for (const row of rows) mark(row, false);
  offer([]);
}

/** Compares two rows. @param {HTMLElement[]} rows */
export function compare(rows) {
  const [a, b, c] = rows.map((row) => row.dataset);
  if (!a?.row || !b?.row || c) say('Select two rows');
  // A gateway has rows of several machines, each with the prefix of its pages.
  else if (a.prefix !== b.prefix) say("Two machines' threads cannot be compared here");
  else location.assign(`${a.prefix ?? document.documentElement.dataset.base ?? ''}/compare/${a.row}..${b.row}`);
}

/** @param {HTMLElement[]} rows @param {string} action @param {string} label @param {Record<string, string>} [fields] */
async function send(rows, action, label, fields) {
  const refused = [];
  let done = 0;
  for (const row of rows) {
    const { row: thread, head: expectedHead, prefix = document.documentElement.dataset.base ?? '' } = row.dataset;
    say(`${label}: ${done + refused.length} of ${rows.length}`);
    const wait = action === 'run' || action === 'retry' ? 0 : undefined;
    const body = JSON.stringify({ expectedHead, wait, ...fields });
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const answer = await fetch(`${prefix}/api/threads/${thread}/${action}`, { method: 'POST', headers, body }).catch(() => null);
    if (answer?.ok) {
      done += 1;
      mark(row, false);
    } else {
      const why = await answer?.json().catch(() => null);
      refused.push(`…${thread?.slice(-5)}: ${why?.error?.message ?? 'the server does not respond'}`);
    }
  }
  offer(rows.filter((row) => row.isConnected && row.hasAttribute('data-selected')));
  say([`${label}: ${done} of ${rows.length} done.`, ...refused.slice(0, 3)].join('\n'));
}
