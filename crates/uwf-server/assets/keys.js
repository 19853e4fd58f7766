// Keys. Rows are [data-row], opened by what is [data-open] in them. What has data-key="a" is pressed by the key a, in the current row first.
import { clear, compare, mark, offer } from './bulk.js';
import { toggle } from './live.js';
import { say } from './say.js';

/** What is done by no element. A line without keys is a heading. @type {[keys: string, what: string, act?: () => unknown][]} */
const KEYS = [
  ['', 'Lists and steps'],
  ['j', 'next row', () => move(1)],
  ['k', 'previous row', () => move(-1)],
  ['[', 'previous step', () => move(-1)],
  [']', 'next step, or older threads', () => move(1)],
  ['Enter', 'open', () => document.activeElement?.matches('a,button,summary') || open()],
  ['o', 'open', open],
  ['e', 'unfold', () => find('summary', current() ?? main)?.click()],
  ['E', 'unfold all', unfold],
  ['x', 'select, for actions on several', select],
  ['d', 'compare two selected', () => compare(selected())],
  ['', 'Actions'],
  ['a', 'answer'],
  ['s', 'step, or retry'],
  ['r', 'run'],
  ['p', 'pause'],
  ['F', 'fork'],
  ['w', 'why'],
  ['y', 'copy link', () => copy()],
  ['', 'Go to'],
  ['g t', 'threads', () => go('/')],
  ['g w', 'workflows', () => go('/workflows')],
  ['g c', 'cost', () => go('/cost')],
  ['g d', 'doctor', () => go('/doctor')],
  ['g m', 'machines', () => go('/machines', root)],
  ['1–9, 0', 'threads of a state, inbox'],
  ['/', 'search', () => find('[type=search]')?.focus()],
  ['Escape', 'back', back],
  ['', 'This page'],
  ['.', 'pause updates', toggle],
  ['?', 'keys', help],
];
if (!document.querySelector('a[href$="/machines"]')) KEYS.splice(KEYS.findIndex(([keys]) => keys === 'g m'), 1);

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
let first = '';
/** @type {HTMLInputElement | undefined} The box that was clicked last. */
let lastBox;

/** @param {string} selector @param {ParentNode} [inside] @returns {HTMLElement | null} */
const find = (selector, inside = document) => inside.querySelector(selector);
/** @param {string} selector @returns {HTMLElement[]} */
const every = (selector) => Array.from(document.querySelectorAll(selector));
/** @returns {HTMLElement | null | undefined} */
const current = () => document.activeElement?.closest('[data-row]');
const selected = () => every('[data-selected]');
const isOff = () => localStorage.keys === 'off';
/** What paths begin with here, and those of the gateway. */
const { base = '', root = '' } = document.documentElement.dataset;
/** @param {string} path @param {string} [at] */
const go = (path, at = base) => location.assign(at + path);

export function keys() {
  document.addEventListener('keydown', pressed);
  document.addEventListener('click', ({ target, shiftKey }) => {
    if (target instanceof HTMLInputElement && target.matches('.select')) check(target, shiftKey);
  });
  document.addEventListener('patched', boxes);
  boxes();
  for (const it of every('#keys-button,button[data-copy]')) {
    it.hidden = false;
    it.onclick = () => (it.dataset.copy ? copy(it) : help());
  }
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || find('dialog[open]')) return;
  if (target instanceof HTMLElement && target.matches('input:not([type=checkbox]),textarea,select')) {
    // The row that it is in stays the current one.
    if (key === 'Escape') current()?.focus() ?? target.blur();
    return;
  }
  if (isOff() && key.length === 1) return;
  const typed = first + key;
  first = key === 'g' ? 'g ' : '';
  const wanted = `[data-key="${CSS.escape(key)}"]`;
  // In a row only with the focus: a key must not start an agent that nobody chose.
  const row = current();
  const button = (row && find(wanted, row)) ?? every(wanted).find((it) => !it.closest('[data-row]'));
  const known = KEYS.find(([keys]) => keys === typed);
  const own = key === 'd' && selected().length ? null : typed === key && button;
  const ask = () => say('Choose a row first, with j or k');
  const act = own ? () => press(own) : (known?.[2] ?? (!row && find(`[data-row] ${wanted}`) && ask));
  if (act && act() !== true) event.preventDefault();
}

/** @param {HTMLElement} it */
function press(it) {
  if (it.matches('input,textarea,select')) return it.focus();
  it.click();
  if (it.matches('.act[open] > summary')) find('input:not([type=hidden]),textarea,select', it.parentElement ?? main)?.focus();
}

/** @param {number} by */
function move(by) {
  const [all, row] = [every('[data-row]'), current()];
  const next = all[row ? all.indexOf(row) + by : 0];
  if (!next) return;
  next.tabIndex = -1;
  next.focus();
}

function open() {
  find('[data-open]', current() ?? main)?.click();
}

function boxes() {
  for (const box of every('.select')) box.hidden = false;
}

/** Selects the row of a box, and with Shift those up to the box before it. @param {HTMLInputElement} box @param {boolean} isRange */
function check(box, isRange) {
  const all = every('.select');
  const [from, to] = [lastBox && isRange ? all.indexOf(lastBox) : -1, all.indexOf(box)];
  for (const it of from < 0 ? [box] : all.slice(Math.min(from, to), Math.max(from, to) + 1)) mark(it.closest('[data-row]') ?? it, box.checked);
  lastBox = box;
  select(null);
}

/** @param {Element | null | undefined} [row] */
function select(row = current()) {
  if (row) mark(row);
  offer(selected());
  // A bar says how many are selected, unless nothing can be done with them.
  if (!document.getElementById('bulk')) say(`${selected().length} selected`);
}

function unfold() {
  const isOpen = !find('main details:not([open])');
  for (const it of every('main details')) it.toggleAttribute('open', !isOpen);
}

async function copy(it = current() ?? main) {
  const text = it.dataset.copy ?? find('[data-copy]', it)?.dataset.copy;
  if (!text) return;
  const whole = text.startsWith('/') ? location.origin + base + text : text;
  // Without TLS it can be copied on loopback only, and by hand elsewhere.
  await navigator.clipboard?.writeText(whole);
  say(navigator.clipboard ? `Copied ${whole}` : whole);
}

function back() {
  const all = selected();
  clear(all);
  if (!all.length && location.pathname !== base + '/') history.length > 1 ? history.back() : go('/');
}

/** @template {keyof HTMLElementTagNameMap} Name @param {Name} name @param {(Node | string)[]} inside */
function make(name, ...inside) {
  const it = document.createElement(name);
  it.append(...inside);
  return it;
}

function help() {
  find('#keys')?.remove();
  const on = make('input');
  on.type = 'checkbox';
  on.checked = !isOff();
  on.onchange = () => (localStorage.keys = on.checked ? 'on' : 'off');
  const groups = make('div');
  groups.className = 'groups';
  for (const [keys, what] of KEYS) {
    if (!keys) groups.append(make('section', make('h3', what), make('dl')));
    else groups.lastElementChild?.lastElementChild?.append(make('dt', make('kbd', keys)), make('dd', what));
  }
  const close = make('button', 'Close');
  const dialog = make('dialog', make('h2', 'Keys'), groups, make('label', on, ' Keys are on'), close);
  close.onclick = () => dialog.close();
  dialog.id = 'keys';
  dialog.ariaLabel = 'Keys';
  document.body.append(dialog);
  dialog.showModal();
}
