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
  clearTimeout(timer);
  timer = setTimeout(() => notice.replaceChildren(), 8000);
}
