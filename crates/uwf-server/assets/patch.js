// Makes a part of the page look like a fresh one, and leaves alone what a person is doing in it: focus, selection, typed
// values, open sections. Elements are the same if they have the same id, or none and the same place. The action of a form is as
// good as an id: a button must not become another one under somebody's hand.

/** What the page itself sets, and the server knows nothing of. */
const OWN = ['open', 'hidden', 'data-selected', 'tabindex'];

/** Attributes, and removal by the parent: in a form, a field named `id` or `remove` hides the property. @param {Node} node */
const idOf = (node) => (node instanceof Element && (node.getAttribute('id') || node.getAttribute('action'))) || '';

/** @param {Element} old @param {Element} fresh */
export function patch(old, fresh) {
  const focused = document.activeElement;
  element(old, fresh);
  // What was moved has lost it.
  if (focused instanceof HTMLElement && focused.isConnected && focused !== document.activeElement) {
    focused.focus({ preventScroll: true });
  }
}

/** @param {Element} old @param {Element} fresh */
function element(old, fresh) {
  if (old.isEqualNode(fresh) || old.hasAttribute('data-keep')) return;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !OWN.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !OWN.includes(name)) old.setAttribute(name, value);
  }
  children(old, fresh);
}

/** @param {Element} old @param {Element} fresh */
function children(old, fresh) {
  const known = new Map([...old.children].reverse().map((child) => [idOf(child), child]));
  const wanted = new Set([...fresh.children].map(idOf));
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    // Removed first, so that what follows need not be moved.
    while (at && idOf(at) && !wanted.has(idOf(at))) at = without(old, at);
    const id = idOf(child);
    const found = id ? known.get(id) : at && !idOf(at) ? at : null;
    known.delete(id);
    if (!found || found.nodeName !== child.nodeName) {
      old.insertBefore(child, at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else old.insertBefore(found, at);
    if (found instanceof Element && child instanceof Element) element(found, child);
    else if (found instanceof CharacterData && child instanceof CharacterData) text(found, child.data);
  }
  while (at) at = without(old, at);
}

/** @param {Element} parent @param {ChildNode} node */
function without(parent, node) {
  const next = node.nextSibling;
  parent.removeChild(node);
  return next;
}

/** @param {CharacterData} old @param {string} fresh */
function text(old, fresh) {
  // A selection in a text that grows stays.
  if (fresh.startsWith(old.data)) old.appendData(fresh.slice(old.data.length));
  else old.data = fresh;
}
