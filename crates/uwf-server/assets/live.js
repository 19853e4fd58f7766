// Follows changes: the server says that something changed, the page is fetched again and patched. Of the visible tabs that show
// the same one listens and tells the others, as a browser opens six connections to a server at most. Hidden tabs do nothing.
import { notifies, tell as notify } from './notify.js';
import { patch } from './patch.js';

// Milliseconds without a sign of the server after which the connection counts as lost; it sends one every 15 seconds.
const SILENCE = 40_000;
const EVENTS = ['threads', 'thread', 'attempt', 'turn', 'output', 'failed', 'step', 'state', 'end'];

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const button = document.getElementById('live');

let isOn = sessionStorage.getItem('live') !== 'off';
let tag = '';
let isBusy = false;
let isStale = false;
let isHeld = false;
let heard = 0;
let drawn = 0;
let listening = new AbortController();
let isListening = false;

export function live() {
  if (!button) return;
  button.onclick = toggle;
  document.addEventListener('visibilitychange', follow);
  addEventListener('online', follow);
  // A thread that has ended changes no more, and neither does what a refused form shows.
  document.addEventListener('patched', () => main.dataset.live || follow());
  // Shows the changes that came while somebody was typing, but not under a click that leaves the field.
  main.addEventListener('focusout', () => setTimeout(() => isHeld && !isTyping() && refresh(), 400));
  boxes().forEach(toEnd);
  follow();
}

/** Drops what is being fetched: the page shows something newer. */
export const overtake = () => (drawn += 1);

/** Boxes that show the end of what grows, unless somebody has scrolled up. @param {Element} box */
const isAtEnd = (box) => box.scrollHeight - box.scrollTop - box.clientHeight < 40;
const boxes = () => [...main.querySelectorAll('[data-follow]')];
const toEnd = (/** @type {Element} */ box) => (box.scrollTop = box.scrollHeight);

/** Whether somebody types in the page, which must not move under their hands. */
function isTyping() {
  const it = document.activeElement;
  return main.contains(it) && !!it?.matches('textarea,select,input:not([type=checkbox])');
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
  const path = main.dataset.live;
  // Nothing is known of the server before it was heard.
  if (!isOn || !path) show('off');
  else if (button?.dataset.state !== 'reconnecting') show('connecting');
  if (!isOn || !path || (document.hidden && !notifies())) return;
  const { signal } = (listening = new AbortController());
  const others = new BroadcastChannel(path);
  /** @param {string} news */
  const hear = (news) => {
    if (news === 'changed') refresh();
    else if (news !== 'who?') show(news);
  };
  /** @param {string} news */
  const tell = (news) => {
    if (signal.aborted) return;
    others.postMessage(news);
    hear(news);
  };
  others.onmessage = ({ data }) => {
    // Another tab has just begun to follow.
    if (data === 'who?' && isListening) others.postMessage(button?.dataset.state);
    hear(data);
  };
  others.postMessage('who?');
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
  isListening = true;
  heard = Date.now();
  for (const name of EVENTS) source.addEventListener(name, () => tell('changed'));
  for (const name of [...EVENTS, 'alive']) source.addEventListener(name, () => (heard = Date.now()));
  const watchdog = setInterval(() => {
    if (signal.aborted || source.readyState === EventSource.CLOSED) return clearInterval(watchdog);
    if (Date.now() - heard < SILENCE) return;
    clearInterval(watchdog);
    tell('reconnecting');
    source.close();
    setTimeout(() => signal.aborted || follow(), 1000);
  }, 5000);
  source.addEventListener('end', () => source.close());
  source.onopen = () => ((heard = Date.now()), tell('live'));
  source.onerror = () => {
    tell('reconnecting');
    // A browser comes back by itself unless it got an answer that is none; then it is tried again in some seconds.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => signal.aborted || follow(), 3000);
  };
  return new Promise((over) =>
    signal.addEventListener('abort', () => {
      isListening = false;
      over(source.close());
    }),
  );
}

async function refresh() {
  isStale = true;
  isHeld = isTyping();
  if (isHeld && button) button.title = 'Changes are shown once you have left the field';
  if (isBusy || isHeld) return;
  isBusy = true;
  while (isStale && isOn && (!document.hidden || notifies()) && !isTyping()) {
    isStale = false;
    await draw().catch(() => show('reconnecting'));
    // A page that changes all the time is fetched five times a second at most.
    await new Promise((over) => setTimeout(over, 200));
  }
  isBusy = false;
  isHeld = isStale;
}

async function draw() {
  const before = drawn;
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
  const found = answer.headers.get('etag') ?? '';
  if (found && found === tag) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const wanted = fresh.getElementById('main');
  if (!wanted || !isOn || before !== drawn) return;
  // Somebody began to type meanwhile.
  if (isTyping()) return void (isStale = true);
  tag = found;
  document.title = fresh.title;
  notify(main, wanted);
  const scrolledUp = boxes().filter((box) => !isAtEnd(box));
  patch(main, wanted);
  boxes().filter((box) => !scrolledUp.includes(box)).forEach(toEnd);
  document.dispatchEvent(new Event('patched'));
}
