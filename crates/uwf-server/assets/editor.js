// The editor of a workflow: checks the text while a person types. Without this script the button Check does it.
import { patch } from './patch.js';
import { say } from './say.js';

/** Milliseconds without typing before a check. */
const PAUSE = 400;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
/** @type {AbortController | undefined} */
let asked;
let isChanged = false;

export function editor() {
  const text = document.querySelector('form.editor textarea');
  if (!(text instanceof HTMLTextAreaElement) || !text.form) return;
  const form = text.form;
  text.addEventListener('input', () => {
    isChanged = true;
    clearTimeout(timer);
    timer = setTimeout(() => check(form), PAUSE);
  });
  const lines = document.getElementById('lines');
  /** Numbers the lines, and keeps the numbers beside them. */
  const number = () => {
    if (!lines) return;
    lines.textContent = text.value.split('\n').map((_, at) => at + 1).join('\n') + '\n';
    lines.scrollTop = text.scrollTop;
  };
  text.addEventListener('input', number);
  text.addEventListener('scroll', number);
  number();
  text.addEventListener('keydown', (event) => indented(text, event));
  form.addEventListener('submit', () => (isChanged = false));
  form.addEventListener('click', (event) => goTo(text, event));
  addEventListener('beforeunload', (event) => isChanged && event.preventDefault());
}

/** Shows the problems and the graph of the text as it is now. @param {HTMLFormElement} form */
async function check(form) {
  asked?.abort();
  asked = new AbortController();
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
  try {
    const answer = await fetch(form.action, { method: 'POST', body, signal: asked.signal, headers: { accept: 'text/html' } });
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('checked');
    const shown = document.getElementById('checked');
    if (!fresh || !shown) return;
    const graph = shown.querySelector('svg');
    // A text with errors has no graph. The last one stays, so that the page does not jump.
    if (graph && !fresh.querySelector('svg')) {
      const last = /** @type {Element} */ (graph.cloneNode(true));
      last.classList.add('stale');
      fresh.append(last);
    }
    patch(shown, fresh);
  } catch (error) {
    if (!(error instanceof DOMException)) say('The server does not respond. Your text is still here.');
  }
}

/** A new line begins below the one before. @param {HTMLTextAreaElement} text @param {KeyboardEvent} event */
function indented(text, event) {
  if (event.key !== 'Enter' || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const line = text.value.slice(text.value.lastIndexOf('\n', text.selectionStart - 1) + 1, text.selectionStart);
  const indent = /^ */.exec(line)?.[0];
  if (!indent) return;
  event.preventDefault();
  // Unlike setRangeText, this can be undone.
  document.execCommand('insertText', false, `\n${indent}`);
}

/** Moves to the place of a problem. @param {HTMLTextAreaElement} text @param {MouseEvent} event */
function goTo(text, event) {
  const link = event.target instanceof Element && event.target.closest('[data-line]');
  if (!(link instanceof HTMLElement)) return;
  event.preventDefault();
  const { line, column } = link.dataset;
  const before = text.value.split('\n').slice(0, Number(line) - 1);
  const at = before.reduce((sum, { length }) => sum + length + 1, 0) + Number(column) - 1;
  text.focus();
  text.setSelectionRange(at, at);
}
