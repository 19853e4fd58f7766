// Follows changes: the server says that something changed, the page is fetched again and patched. Of the visible tabs that show
// the same one listens and tells the others, as a browser opens six connections to a server at most. Hidden tabs do nothing.
import { patch } from './patch.js';

const EVENTS = ['threads', 'thread', 'attempt', 'turn', 'output', 'failed', 'step', 'state', 'end'];

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const button = document.getElementById('live');

let isOn = sessionStorage.getItem('live') !== 'off';
let tag = '';
let isBusy = false;
let isStale = false;
let listening = new AbortController();

export function live() {
  if (!button) return;
  button.onclick = toggle;
  document.addEventListener('visibilitychange', follow);
  follow();
}

export function toggle() {
  isOn = !isOn;
  sessionStorage.setItem('live', isOn ? 'on' : 'off');
  follow();
}

/** @param {string} state */
function show(state) {
  if (!button) return;
  button.textContent = button.dataset.state = state;
  button.hidden = !main.dataset.live;
}

function follow() {
  listening.abort();
  show(isOn ? 'live' : 'off');
  const path = main.dataset.live;
  if (!isOn || !path || document.hidden) return;
  const { signal } = (listening = new AbortController());
  const others = new BroadcastChannel(path);
  /** @param {string} news */
  const hear = (news) => (news === 'changed' ? refresh() : show(news));
  /** @param {string} news */
  const tell = (news) => {
    if (signal.aborted) return;
    others.postMessage(news);
    hear(news);
  };
  others.onmessage = ({ data }) => hear(data);
  signal.onabort = () => others.close();
  // Without TLS there are locks on loopback only.
  if (navigator.locks) navigator.locks.request(path, { signal }, () => listen(path, tell, signal)).catch(() => {});
  else listen(path, tell, signal);
  // What happened since the page was made.
  refresh();
}

/** Resolves once it is over. @param {string} path @param {(news: string) => void} tell @param {AbortSignal} signal */
function listen(path, tell, signal) {
  const source = new EventSource(path);
  for (const name of EVENTS) source.addEventListener(name, () => tell('changed'));
  source.addEventListener('end', () => source.close());
  source.onopen = () => tell('live');
  source.onerror = () => {
    tell('reconnecting');
    // A browser comes back by itself unless it got an answer that is none; then it is tried again in some seconds.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => signal.aborted || follow(), 3000);
  };
  return new Promise((over) => signal.addEventListener('abort', () => over(source.close())));
}

async function refresh() {
  isStale = true;
  if (isBusy) return;
  isBusy = true;
  while (isStale && isOn && !document.hidden) {
    isStale = false;
    await draw().catch(() => show('reconnecting'));
    // A page that changes all the time is fetched five times a second at most.
    await new Promise((over) => setTimeout(over, 200));
  }
  isBusy = false;
}

async function draw() {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
  const found = answer.headers.get('etag') ?? '';
  if (found && found === tag) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const wanted = fresh.getElementById('main');
  if (!wanted || !isOn) return;
  tag = found;
  document.title = fresh.title;
  patch(main, wanted);
  // A thread that has ended changes no more.
  if (!main.dataset.live) follow();
}
