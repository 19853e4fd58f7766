// What pages do in a browser with JavaScript. All of them work without.
import { editor } from './editor.js';
import { forms } from './forms.js';
import { keys } from './keys.js';
import { live } from './live.js';
import { notifyButton } from './notify.js';

const { root } = document.documentElement.dataset;

/** Milliseconds since what an attribute says. @param {Element} it @param {string} name */
const since = (it, name) => Math.max(0, Date.now() - Number(it.getAttribute(name)));

/** Renews how long something has been running. `parts.rs` has the same words. */
function durations() {
  for (const span of document.querySelectorAll('[data-since]')) {
    const s = since(span, 'data-since') / 1000;
    const [whole, part, unit] = s < 3600 ? [s / 60, s % 60, 'min'] : [s / 3600, (s / 60) % 60, 'h'];
    const long = `${Math.floor(whole)}:${String(Math.floor(part)).padStart(2, '0')} ${unit}`;
    span.textContent = s < 10 ? `${s.toFixed(1)} s` : s < 60 ? `${Math.floor(s)} s` : long;
  }
}

/** Renews how long ago something was. */
function times() {
  for (const time of document.querySelectorAll('time[data-ms][title]')) {
    const m = Math.floor(since(time, 'data-ms') / 60_000);
    const [count, unit] = m < 60 ? [m, 'min'] : m < 1440 ? [m / 60, 'h'] : [m / 1440, 'd'];
    time.textContent = m ? `${Math.floor(count)} ${unit} ago` : 'just now';
  }
}

/** Points in time in the reader's own time zone. */
function ownTimes() {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  for (const time of document.querySelectorAll('time[datetime]:not([title])')) {
    const own = format.format(new Date(time.getAttribute('datetime') ?? 0));
    if (time.textContent !== own) time.textContent = own;
  }
}

/** Leads a browser that comes without the server's own path, by an old link say, to where it is logged in. */
async function comeBack() {
  const known = localStorage.root;
  if (root) localStorage.root = root;
  else if (known && location.pathname === '/login' && (await fetch(known + '/login')).ok)
    location.replace(known + (new URLSearchParams(location.search).get('next') ?? '/'));
}

/** Names the reader's time zone to the server if the page has days of another one, and loads it again. */
function zone() {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const pair = `uwf-zone=${timeZone}`;
  if (!document.querySelector(`[data-zone]:not([data-zone="${timeZone}"])`) || document.cookie.includes(pair)) return;
  document.cookie = `${pair}; path=${root}/`;
  // A browser without cookies would load it for ever.
  if (document.cookie.includes(pair)) location.reload();
}

/** Shows what the page behind a link has about files, once its section is unfolded. @param {Event} event */
async function load({ target }) {
  if (!(target instanceof HTMLDetailsElement) || !target.open || !('load' in target.dataset)) return;
  const link = target.querySelector('a');
  const answer = link && (await fetch(link.href, { headers: { accept: 'text/html' } }));
  if (!answer?.ok) return;
  delete target.dataset.load;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const found = [...(page.getElementById('files')?.children ?? [])].filter((it) => !it.matches('h2,summary'));
  target.append(...(found.length ? found : ['No changed files are recorded.']));
}

document.addEventListener('toggle', load, true);
document.addEventListener('patched', ownTimes);
document.addEventListener('patched', notifyButton);
setInterval(durations, 1000);
setInterval(times, 60_000);
ownTimes();
notifyButton();
comeBack();
editor();
forms();
live();
keys();
zone();
