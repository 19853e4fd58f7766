// Forms for changes. The page stays where it is: a form is sent in the background, its answer is patched in, and the next row has the focus.
// Without this script a form leads to a new page.
import { overtake } from './live.js';
import { patch } from './patch.js';
import { say } from './say.js';

const main = /** @type {HTMLElement} */ (document.getElementById('main'));

export function forms() {
  document.addEventListener('submit', sent);
  document.addEventListener('keydown', ({ key, ctrlKey, metaKey, target }) => {
    if (key !== 'Enter' || !(ctrlKey || metaKey) || !(target instanceof HTMLElement)) return;
    const form = target.closest('form');
    const [button, another] = form?.querySelectorAll('button.primary') ?? [];
    // None of several is meant.
    if (!another) form?.requestSubmit(/** @type {HTMLElement | undefined} */ (button) ?? form.querySelector('button'));
  });
}

/** @param {SubmitEvent} event */
function sent(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement)) return;
  const asks = form.dataset.confirm;
  if (asks && !confirm(asks)) event.preventDefault();
  else if (form.dataset.done) {
    event.preventDefault();
    send(form, /** @type {HTMLButtonElement | null} */ (event.submitter));
  }
}

/** @param {HTMLFormElement} form @param {HTMLButtonElement | null} button */
async function send(form, button) {
  const row = form.closest('[data-row]');
  const next = row?.nextElementSibling ?? row?.previousElementSibling;
  const body = new URLSearchParams(/** @type {any} */ (new FormData(form, button)));
  if (button) button.disabled = true;
  const slow = setTimeout(() => say('Working…'), 400);
  overtake();
  try {
    const answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'text/html' } });
    clearTimeout(slow);
    const path = new URL(answer.url).pathname;
    // A form of a machine leads to the first page of that machine, and a gateway shows its own instead.
    const isFar = row instanceof HTMLElement && path === `${row.dataset.prefix}/`;
    // A refusal is a page of its own, with what was typed.
    if (answer.ok && path !== location.pathname && !isFar) return location.assign(answer.url);
    const page = answer.ok && isFar ? await fetch(location.href, { headers: { accept: 'text/html' } }) : answer;
    const fresh = new DOMParser().parseFromString(await page.text(), 'text/html');
    const wanted = fresh.getElementById('main');
    if (!wanted) return location.reload();
    overtake();
    document.activeElement instanceof HTMLElement && document.activeElement.blur();
    patch(main, wanted);
    document.title = fresh.title;
    document.dispatchEvent(new Event('patched'));
    if (!answer.ok) return say('');
    const thread = form.getAttribute('action')?.replace('/api/', '/').replace(/\/[^/]*$/, '');
    say(`${form.dataset.done}.`, thread && row ? [thread, 'Open the thread'] : undefined);
    if (next instanceof HTMLElement && next.isConnected) next.focus();
  } catch {
    say('The server does not respond. Nothing is lost: send it again.');
  } finally {
    clearTimeout(slow);
    if (button) button.disabled = false;
  }
}
