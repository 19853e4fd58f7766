"""Rules of layout, at every width from a phone to a large screen."""

WIDTHS = [390, 641, 720, 900, 1100, 1440, 1920]

# Text that is drawn smaller than this, in pixels, is not readable.
SMALLEST = 11
# Pixels of the smallest side of what one clicks, WCAG 2.2 AA.
TARGET = 24
# Rows of one line that an inbox shows in a window of 900 pixels.
ROWS = 14

# Elements whose own text is drawn too small, with its size. A drawing may be scaled, so its matrix counts.
SMALL = """(smallest) => [...document.querySelectorAll('body *')].flatMap((it) => {
  const own = [...it.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const box = it.getBoundingClientRect();
  if (!own || box.width < 2 || box.height < 2 || it.closest('.hidden')) return [];
  const scale = it instanceof SVGGraphicsElement ? it.getScreenCTM().a : 1;
  const size = parseFloat(getComputedStyle(it).fontSize) * scale;
  return size < smallest - 0.01 ? [`${it.tagName}.${it.className.baseVal ?? it.className} "${it.textContent.trim().slice(0, 30)}" ${size}`] : [];
})"""

# Controls whose target is too small. A link in a line of text may be as low as its line.
TIGHT = """(least) => [...document.querySelectorAll('button, summary, select, input:not([type=hidden]), .button, .row .task, .step > .open')].flatMap((it) => {
  const box = it.getBoundingClientRect();
  if (!box.width || !box.height || it.matches('input[type=checkbox]')) return [];
  return box.height < least - 0.5 || box.width < least - 0.5 ? [`${it.tagName}.${it.className} "${it.textContent.trim().slice(0, 30)}" ${box.width}x${box.height}`] : [];
})"""

# Where the tracks of bars begin and how wide they are.
TRACKS = """(selector) => [...document.querySelectorAll(selector)].map((it) => it.getBoundingClientRect()).filter((it) => it.width)
  .map((it) => [Math.round(it.x), Math.round(it.width)])"""


# Room that rows leave empty although titles are cut off: a column of facts that no row has, or a part of the line.
WASTED = """() => {
  const rows = [...document.querySelectorAll('.row')].filter((it) => it.querySelector('.task') && it.querySelector('.facts:not(.plain)'));
  return rows.filter((it) => it.querySelector('.task').scrollWidth > it.querySelector('.task').clientWidth + 1).flatMap((it) => {
    const what = it.querySelector('.what').getBoundingClientRect();
    const last = [...it.querySelectorAll('.what > *')].at(-1).getBoundingClientRect();
    const facts = getComputedStyle(it.querySelector('.facts'));
    const columns = facts.display === 'grid' ? facts.gridTemplateColumns.split(' ') : [];
    const empty = ['.workflow', '.steps', '.cost', 'time', '.id'].filter((name, at) => parseFloat(columns[at]) > 1 && !document.querySelector(`.row .facts ${name}`));
    const slack = what.right - last.right;
    return empty.length || slack > 16 ? [`"${it.querySelector('.task').textContent.slice(0, 20)}": ${slack} pixels, empty: ${empty}`] : [];
  });
}"""


def holds(browser):
    """Nothing overflows, nothing is too small to read or to click, and bars have one scale."""
    scenario = browser.scenario
    problems = []
    for width in WIDTHS:
        context = browser.context("light", viewport={"width": width, "height": 900})
        page = context.new_page()
        for name, path in scenario["pages"].items():
            page.goto(path)
            where = f"{name} at {width}"
            wanted = scenario["shows"].get(name)
            if wanted and not page.locator(wanted).count():
                problems.append(f"{where}: nothing is {wanted}")
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if over > 0:
                problems.append(f"{where}: {over} pixels wider than the window")
            problems += [f"{where}: too small to read: {it}" for it in page.evaluate(SMALL, SMALLEST)]
            problems += [f"{where}: too small to click: {it}" for it in page.evaluate(TIGHT, TARGET)]
            problems += [f"{where}: a title is cut off beside empty room: {it}" for it in page.evaluate(WASTED)]
            tracks = page.evaluate(TRACKS, "ol.steps .bar-of-time:not(.branches .bar-of-time)")
            if len({tuple(it) for it in tracks}) > 1:
                problems.append(f"{where}: bars with several scales: {tracks}")
            titles = page.evaluate("[...document.querySelectorAll('.row .task')].map((it) => it.getBoundingClientRect().width)")
            if titles and min(titles) < 40:
                problems.append(f"{where}: a title of {min(titles)} pixels")
        context.close()
    assert not problems, "\n".join(problems[:60])


def shows_many_rows(browser):
    """Rows are one line high at the width of a laptop."""
    page = browser.context("light", viewport={"width": 1440, "height": 900}).new_page()
    page.goto("/")
    rows = page.locator("[data-row]")
    seen = [it for it in rows.evaluate_all("(rows) => rows.map((it) => it.getBoundingClientRect().bottom)") if it <= 900]
    assert len(seen) >= ROWS, f"{len(seen)} rows in 900 pixels"
    # One form is open at a time.
    for act in page.locator(".act > summary").all()[:3]:
        act.click()
    assert page.locator(".act[open]").count() == 1


def stays_while_typing(browser):
    """Nothing moves while a person types, whatever happens meanwhile."""
    page = browser.page("/")
    page.wait_for_function("document.querySelector('#live')?.textContent === 'live'")
    page.locator(".act > summary", has_text="Answer").first.click()
    page.locator(".act[open] textarea").first.focus()
    page.evaluate("""() => {
      window.shift = 0;
      new PerformanceObserver((list) => { for (const it of list.getEntries()) window.shift += it.value; })
        .observe({ type: 'layout-shift', buffered: false });
    }""")
    for number in range(3):
        assert browser.uwf("thread", "start", browser.scenario["workflow"], "-p", f"One more, {number}.") == 0
        page.keyboard.type("a word ")
    page.wait_for_timeout(1000)
    assert page.evaluate("window.shift") <= 0.05
