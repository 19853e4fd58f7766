"""Pages as they follow what happens."""

import os
import signal
import statistics
import time

from browser import until

# Milliseconds within which a page shows a step.
SOON = 500

# Notes when something matching a selector appears.
APPEARS = """(selector) => {
  const look = () => {
    if (document.querySelector(selector)) window.appeared ??= Date.now();
  };
  window.appeared = undefined;
  new MutationObserver(look).observe(document.getElementById('main'), { subtree: true, childList: true, attributes: true });
}"""


def says(page):
    """What the button says of following. Not by `wait_for_function`, which would have the page compile a text."""
    return page.evaluate("document.querySelector('#live')?.textContent")


def is_live(page):
    until("it is live", lambda: says(page) == "live")
    # What it does at first is done.
    page.wait_for_timeout(700)


def follows(browser):
    """A page shows each step soon after its end, which is when the index was written."""
    scenario = browser.scenario
    index = os.path.join(scenario["root"], "threads.yaml")
    page = browser.page(scenario["path"])
    is_live(page)
    late = []
    for number in range(1, scenario["steps"] + 1):
        page.evaluate(APPEARS, scenario["selector"].replace("NUMBER", str(number)))
        assert browser.uwf("thread", "step", scenario["thread"]) in (0, 10)
        ended = os.stat(index).st_mtime * 1000
        until("the page shows it", lambda: page.evaluate("window.appeared"))
        late.append(page.evaluate("window.appeared") - ended)
        page.wait_for_timeout(600)
    print("milliseconds after the end of a step:", [round(it) for it in late])
    # One may meet a machine that has other things to do.
    assert statistics.median(late) <= SOON, late


def keeps_what_a_person_does(browser):
    """Focus, a selection, what was typed, open sections and the place in the page survive a change of what is around them."""
    scenario = browser.scenario
    page = browser.page(f"/threads/{scenario['thread']}")
    is_live(page)
    row = page.locator("[data-row]").first
    details = row.locator("details").first
    details.evaluate("(it) => (it.open = true)")
    row.focus()
    page.evaluate(
        """() => {
        const text = document.querySelector('[data-row] .excerpt, [data-row] summary').firstChild;
        getSelection().setBaseAndExtent(text, 0, text, 1);
    }"""
    )
    page.evaluate("scrollTo(0, 100)")
    before = page.evaluate(STANDS)
    steps = page.locator("[data-row]").count()
    assert browser.uwf("thread", "step", scenario["thread"]) == 0
    until("the next step is shown", lambda: page.locator("[data-row]").count() == steps + 1)
    after = page.evaluate(STANDS)
    assert before == after and before["open"] and before["row"] and before["selected"], f"{before} {after}"


STANDS = """() => ({
  row: document.activeElement.closest('[data-row]')?.id,
  open: document.querySelector('[data-row] details').open,
  selected: getSelection().toString(),
  top: scrollY,
})"""


def keeps_what_was_typed(browser):
    """While an answer is being written, nothing moves; what came meanwhile is shown once the field is left."""
    page = browser.page("/")
    is_live(page)
    page.locator("#needs .act > summary", has_text="Answer").first.click()
    field = page.locator("#needs .act[open] textarea").first
    field.fill("not quite re")
    field.focus()
    rows = page.locator("[data-row]").count()
    place = field.bounding_box()
    assert browser.uwf("thread", "start", browser.scenario["workflow"], "-p", "One more.") == 0
    page.wait_for_timeout(1500)
    page.keyboard.type("ady")
    assert field.input_value() == "not quite ready" and field.bounding_box() == place
    assert page.locator("[data-row]").count() == rows
    page.keyboard.press("Escape")
    until("the new thread is shown", lambda: page.locator("[data-row]").count() == rows + 1)
    assert field.input_value() == "not quite ready"


def forgets_answers_to_old_questions(browser):
    """What was typed for one question is not there when the thread asks the next one."""
    thread = browser.scenario["thread"]
    page = browser.page("/")
    is_live(page)
    row = page.locator(f"#t-{thread}")
    row.locator(".act > summary").click()
    row.locator("textarea").fill("words for the first question")
    page.keyboard.press("Escape")
    before = row.locator(".act").get_attribute("id")
    assert browser.uwf("thread", "answer", thread, "--data", '{"out": false}') == 0
    assert browser.uwf("run", thread) == 20
    until("it asks again", lambda: row.locator(".act").count() and row.locator(".act").get_attribute("id") != before)
    row.locator(".act > summary").click()
    assert row.locator("textarea").input_value() == ""


def notices_a_dead_server(browser):
    """A server that is stopped without closing its connections is noticed."""
    page = browser.context().new_page()
    page.clock.install()
    page.goto("/")
    page.clock.resume()
    until("it is live", lambda: says(page) == "live")
    os.kill(browser.scenario["server"], signal.SIGSTOP)
    try:
        page.clock.fast_forward(60_000)
        until("it says so", lambda: says(page) == "reconnecting", 20)
    finally:
        os.kill(browser.scenario["server"], signal.SIGCONT)
    page.clock.fast_forward(5_000)
    until("it is back", lambda: says(page) == "live", 20)


def one_tab_listens_for_all(browser):
    """Two tabs follow with one connection; when the one that listens is closed, the other takes over."""
    scenario = browser.scenario
    context = browser.context()
    streams = []
    context.on("request", lambda request: streams.append(request.url) if "/events" in request.url else None)
    pages = [context.new_page() for _ in range(2)]
    for page in pages:
        page.goto("/")
        is_live(page)
    assert len(streams) == 1, streams

    def follow(pages):
        number = pages[0].locator("[data-row]").count()
        assert browser.uwf("thread", "start", scenario["workflow"], "-p", "One more.") == 0
        for page in pages:
            until("every tab shows it", lambda page=page: page.locator("[data-row]").count() == number + 1)

    follow(pages)
    pages[0].close()
    until("the other tab listens", lambda: len(streams) == 2 or pages[1].wait_for_timeout(50))
    is_live(pages[1])
    follow(pages[1:])


def can_be_switched_off(browser):
    """By the button and by its key; switched on again, the page catches up."""
    page = browser.page("/")
    is_live(page)
    button = page.locator("#live")
    button.click()
    assert button.inner_text() == "off"
    rows = page.locator("[data-row]").count()
    assert browser.uwf("thread", "start", browser.scenario["workflow"], "-p", "One more.") == 0
    page.wait_for_timeout(1000)
    assert page.locator("[data-row]").count() == rows, "it is off"
    page.locator("body").press(".")
    until("it catches up", lambda: page.locator("[data-row]").count() == rows + 1)
    assert button.inner_text() == "live"


def comes_back(browser):
    """A page says that its line is broken while the server is gone, and goes on by itself once it is back."""
    scenario = browser.scenario
    page = browser.page("/")
    is_live(page)
    # The server goes while the browser listens.
    page.context.set_offline(True)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until("it says so", lambda: says(page) == "reconnecting")
    rows = page.locator("[data-row]").count()
    assert browser.uwf("thread", "start", scenario["workflow"], "-p", "One more.") == 0
    page.context.set_offline(False)
    until("it goes on", lambda: page.locator("[data-row]").count() == rows + 1, 20)
    until("it says so", lambda: says(page) == "live")
    browser.problems = [it for it in browser.problems if "ERR_INTERNET_DISCONNECTED" not in it]


def says_how_long(browser):
    """Times count on by themselves."""
    page = browser.page("/")
    span = page.locator("[data-since]").first
    before = span.inner_text()
    began = time.monotonic()
    until("it counts", lambda: span.inner_text() != before, 5)
    assert time.monotonic() - began < 3
