// Notifications of the browser when a thread begins to need its reader, while the inbox is in a hidden tab.

/** Whether the reader asked for them, and the browser allows them. */
export const notifies = () =>
  'Notification' in window && localStorage.notify === 'on' && Notification.permission === 'granted' && !!document.getElementById('notify');

/** The button that turns them on and off; hidden where the browser has none. */
export function notifyButton() {
  const button = document.getElementById('notify');
  if (!button || !('Notification' in window) || !isSecureContext || Notification.permission === 'denied') return;
  button.hidden = false;
  button.textContent = notifies() ? 'Notifications are on' : 'Notify me';
  button.onclick = async () => {
    const isOn = !notifies() && (await Notification.requestPermission()) === 'granted';
    localStorage.notify = isOn ? 'on' : 'off';
    notifyButton();
  };
}

/** @param {ParentNode} page */
const needs = (page) => new Map([...page.querySelectorAll('#needs [data-row]')].map((row) => [row.id, row]));

/** Tells of the threads that need the reader in the fresh page and did not before. @param {ParentNode} old @param {ParentNode} fresh */
export function tell(old, fresh) {
  if (!document.hidden || !notifies()) return;
  const known = needs(old);
  for (const [id, row] of needs(fresh)) {
    if (known.has(id)) continue;
    const [state, task] = ['.state', '.task'].map((name) => row.querySelector(name)?.textContent ?? '');
    const shown = new Notification(`uwf: ${state}`, { body: task, tag: id });
    shown.onclick = () => window.focus();
  }
}
