"""Keys."""

from actions import lands_on_another, state
from browser import until

# Which row has the focus.
CURRENT = "document.activeElement.closest('[data-row]')?.dataset.row"


def lists(browser):
    """Keys of a list of threads."""
    page = browser.page("/?all=1")
    rows = page.locator("[data-row]").evaluate_all("(rows) => rows.map((row) => row.dataset.row)")
    body = page.locator("body")

    def press(key, row=None):
        page.keyboard.press(key)
        if row is not None:
            assert page.evaluate(CURRENT) == row, f"{key}: {page.evaluate(CURRENT)} instead of {row}"

    press("j", rows[0])
    press("j", rows[1])
    press("k", rows[0])
    press("k", rows[0])
    press("]")
    press("[", rows[0])
    # Selected, and compared.
    press("x")
    press("d")
    assert "two rows" in page.inner_text("#notice")
    press("j", rows[1])
    press("x")
    assert "2 selected" in page.inner_text("#bulk")
    press("Escape")
    assert not page.locator("[data-selected]").count()
    for _ in range(2):
        press("x")
        press("k")
    press("d")
    page.wait_for_url(f"**/compare/{rows[0]}..{rows[1]}")
    # Opened, and back.
    for key in ["Enter", "o"]:
        page.goto("/?all=1")
        press("j", rows[0])
        press(key)
        page.wait_for_url(f"**/threads/{rows[0]}")
        press("Escape")
        page.wait_for_url("**/?all=1")
    # A field takes keys for itself, until it is left.
    press("/")
    assert page.evaluate("document.activeElement.type") == "search"
    page.keyboard.type("jx")
    assert page.locator("input[type=search]").input_value() == "jx" and page.evaluate(CURRENT) is None
    press("Escape")
    press("j", rows[0])
    # Other programs' keys are not ours.
    press("Control+j", rows[0])
    press("Alt+j", rows[0])
    for key, path in {"t": "/", "w": "/workflows", "c": "/cost", "d": "/doctor"}.items():
        press("g")
        press(key)
        page.wait_for_url(f"{browser.url}{path}")
        page.goto("/?all=1")
    for chip in page.locator("[data-key]").evaluate_all(
        "(links) => links.filter((it) => /^[1-9]$/.test(it.dataset.key)).map((it) => [it.dataset.key, it.href])"
    ):
        press(chip[0])
        page.wait_for_url(chip[1])
    body.press(".")
    assert page.inner_text("#live") == "off"


def a_thread(browser):
    """Keys of the page of a thread."""
    path = f"/threads/{browser.scenario['thread']}"
    context = browser.context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(path)
    steps = page.locator("[data-row]").evaluate_all("(rows) => rows.map((row) => row.dataset.row)")
    page.keyboard.press("y")
    assert page.evaluate("navigator.clipboard.readText()") == browser.scenario["thread"]
    page.keyboard.press("j")
    assert page.evaluate(CURRENT) == steps[0]
    page.keyboard.press("y")
    assert page.evaluate("navigator.clipboard.readText()") == steps[0]
    assert steps[0] in page.inner_text("#notice")
    opened = page.locator("[data-row] details[open]")
    page.keyboard.press("e")
    assert opened.count() == 1
    page.keyboard.press("e")
    assert opened.count() == 0
    page.keyboard.press("E")
    assert opened.count() == page.locator("[data-row] details").count() > 1
    page.keyboard.press("E")
    assert opened.count() == 0
    page.keyboard.press("w")
    page.wait_for_url(f"**/steps/{steps[0]}#why")
    page.goto(path)
    page.keyboard.press("d")
    page.wait_for_url("**/compare*")
    page.goto(path)
    page.keyboard.press("Shift+F")
    assert page.evaluate("document.activeElement.name") == "step"
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: "/threads/" in url and browser.scenario["thread"] not in url)


def answering(browser):
    """The key a leads to the first field of an answer: that of the current row, or else of the page."""
    thread = browser.scenario["thread"]
    focused = "document.activeElement.closest('form')?.action.includes(document.documentElement.dataset.base + '/api/threads/THREAD/answer')"
    focused = focused.replace("THREAD", thread)
    for path in [f"/threads/{thread}", "/"]:
        page = browser.page(path)
        if path == "/":
            page.locator(f"#t-{thread}").focus()
        page.keyboard.press("a")
        assert page.evaluate(focused) and page.evaluate("document.activeElement.name") == "output.out", path
        # Letters are typed there, until the field is left.
        page.keyboard.press("k")
        assert page.evaluate(focused)
        page.keyboard.press("Escape")
        # In a list, its row stays the current one.
        left = "document.activeElement === document.body" if path != "/" else f"document.activeElement.id === 't-{thread}'"
        assert page.evaluate(left), path
    # Another row that waits has its own.
    page.locator(f"#t-{browser.scenario['other']}").focus()
    page.keyboard.press("a")
    assert page.evaluate("document.activeElement.closest('[data-row]').dataset.row") == browser.scenario["other"]


def a_step(browser):
    """Keys of the page of a step."""
    scenario = browser.scenario
    step = [f"/threads/{scenario['thread']}/steps/{step}" for step in scenario["steps"]]
    context = browser.context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(step[1])
    for key, path in [("]", step[2]), ("[", step[1]), ("w", f"{step[1]}#why")]:
        page.keyboard.press(key)
        page.wait_for_url(f"{browser.url}{path}")
    page.keyboard.press("y")
    link = f"{browser.url}/cas/{scenario['steps'][1]}"
    until("the link is copied", lambda: page.inner_text("#notice") == f"Copied {link}")
    assert page.evaluate("navigator.clipboard.readText()") == link
    # The writer's second visit.
    page.goto(step[2])
    page.keyboard.press("d")
    page.wait_for_url(f"**/compare/{scenario['steps'][0]}..{scenario['steps'][2]}")
    page.keyboard.press("Escape")
    page.wait_for_url(f"**{step[2]}")
    page.keyboard.press("Shift+F")
    lands_on_another(page, scenario["thread"])
    assert "3 steps" in page.inner_text(".thread-head")


def a_workflow(browser):
    """Keys of the pages of a workflow."""
    path = f"/workflows/{browser.scenario['workflow']}"
    page = browser.page(path)
    page.keyboard.press("s")
    page.wait_for_url(f"**{path}/start")
    # The task has the focus, and is left first.
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.wait_for_url(f"**{path}")
    page.keyboard.press("Escape")
    page.wait_for_url("**/workflows")


def help(browser):
    """`?` lists the keys, and can switch them off for good."""
    page = browser.page("/?all=1")
    page.keyboard.press("?")
    dialog = page.locator("dialog#keys")
    assert dialog.is_visible() and "compare" in dialog.inner_text()
    browser.check(page, "keys-light")
    page.keyboard.press("j")
    assert page.evaluate(CURRENT) is None, "keys do nothing behind the list"
    dialog.locator("input").uncheck()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.reload()
    page.keyboard.press("j")
    page.keyboard.press("?")
    assert page.evaluate(CURRENT) is None and not dialog.is_visible(), "they are off"
    page.locator("#keys-button").click()
    dialog.locator("input").check()
    dialog.locator("button").click()
    page.keyboard.press("j")
    assert page.evaluate(CURRENT)


def act(browser):
    """Keys that change something press the buttons of the current row, or of the page."""
    scenario = browser.scenario
    page = browser.page(f"/threads/{scenario['thread']}")
    page.keyboard.press("p")
    until("it is paused", lambda: state(page) == "paused")
    page.keyboard.press("p")
    until("it goes on", lambda: state(page) == "active")
    page.keyboard.press("s")
    until("a step is done", lambda: page.locator("[data-row]").count() == 1)
    page.keyboard.press("r")
    until("it has run to its end", lambda: state(page) == "completed")
