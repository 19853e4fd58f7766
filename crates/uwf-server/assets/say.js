// Short messages above the page.

let timer = 0;

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
    notice.matches(':hover, :focus-within') ? (timer = setTimeout(end, 2000)) : notice.replaceChildren();
  clearTimeout(timer);
  timer = setTimeout(end, 8000);
}
