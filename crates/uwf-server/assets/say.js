// Short messages above the page.

let timer = 0;

/** Removes the message. */
const clear = () => document.getElementById('notice')?.replaceChildren();

// A message must not cover the field that somebody is about to fill in.
document.getElementById('main')?.addEventListener('focusin', ({ target }) => {
  if (target instanceof Element && target.matches('textarea,select,input')) clear();
});

/** @param {string} text @param {[href: string, text: string]} [link] */
export function say(text, link) {
  const notice = document.getElementById('notice');
  if (!notice) return;
  const parts = /** @type {(Node | string)[]} */ ([text]);
  if (link) {
    const it = document.createElement('a');
    [it.href, it.textContent] = link;
    parts.push(' ', it);
  }
  notice.replaceChildren(...parts);
  // Its link stays as long as somebody is about to use it.
  const end = () =>
    notice.matches(':hover, :focus-within') ? (timer = setTimeout(end, 2000)) : clear();
  clearTimeout(timer);
  timer = setTimeout(end, 8000);
}
