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
  for (const [label, action, asks] of ACTIONS) {
    const button = document.createElement('button');
    button.textContent = label;
    if (asks) button.className = 'danger';
    button.onclick = () => {
      const set = action === 'label' ? prompt('A label for these threads, KEY=VALUE') : undefined;
      if (set !== null && (!asks || confirm(asks))) act(rows, action, label, set);
    };
    bar.append(button);
  }
  const more = document.createElement('button');
  more.textContent = rows.length === 2 ? 'Compare' : 'Clear';
  more.onclick = () => (rows.length === 2 ? compare(rows) : clear(rows));
  bar.append(more);
  document.body.append(bar);
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

/** @param {HTMLElement[]} rows @param {string} action @param {string} label @param {string} [set] label of the threads */
async function act(rows, action, label, set) {
  const refused = [];
  let done = 0;
  for (const row of rows) {
    const { row: thread, head: expectedHead, prefix = document.documentElement.dataset.base ?? '' } = row.dataset;
    say(`${label}: ${done + refused.length} of ${rows.length}`);
    const wait = action === 'run' || action === 'retry' ? 0 : undefined;
    const body = JSON.stringify({ expectedHead, wait, set });
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
