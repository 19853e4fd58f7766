"""Pages of a machine behind a gateway."""

import os
import signal

from actions import becomes, lands_on_another, state
from browser import until
from live import is_live, says


def works_below_a_prefix(browser):
    """Links, styles, scripts, forms and keys of a machine's pages stay with the machine."""
    scenario = browser.scenario
    prefix = scenario["prefix"]
    context = browser.context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    asked = []
    context.on("request", lambda request: asked.append(request.url.removeprefix(browser.url)))
    page = context.new_page()
    page.goto(f"{prefix}/?all=1")
    is_live(page)
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')"), "no styles"
    rows = page.locator("[data-row]").evaluate_all("(rows) => rows.map((row) => row.dataset.row)")
    # Keys.
    for key in ["j", "x", "j", "x", "d"]:
        page.keyboard.press(key)
    page.wait_for_url(f"**{prefix}/compare/{rows[0]}..{rows[1]}")
    for key, path in {"t": "/", "w": "/workflows", "c": "/cost"}.items():
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"{browser.url}{prefix}{path}")
    page.goto(f"{prefix}/cas/{scenario['node']}")
    page.keyboard.press("y")
    link = f"{browser.url}{prefix}/cas/{scenario['node']}"
    until("the link is copied", lambda: page.inner_text("#notice") == f"Copied {link}")
    page.goto(link)
    # Forms.
    active = f"{prefix}/threads/{scenario['active']}"
    page.goto(active)
    page.get_by_role("button", name="Pause", exact=True).click()
    becomes(page, "light", "paused")
    page.keyboard.press("p")
    becomes(page, "light", "active")
    assert page.url == f"{browser.url}{active}"
    page.keyboard.press("Shift+F")
    page.keyboard.press("Control+Enter")
    lands_on_another(page, scenario["active"])
    assert f"{prefix}/threads/" in page.url
    page.goto(f"{prefix}/")
    row = page.locator(f"#t-{scenario['waiting']}")
    row.locator("summary", has_text="Answer").click()
    row.get_by_label("yes", exact=True).check()
    row.get_by_role("button", name="Answer without running").click()
    until("it no longer waits", lambda: page.locator(f"#needs #t-{scenario['waiting']}").count() == 0)
    assert page.url == f"{browser.url}{prefix}/"
    page.goto(f"{prefix}/workflows/{scenario['workflow']}/start")
    page.get_by_label("Task", exact=True).fill("Write of machines.")
    page.get_by_role("button", name="Start and run").click()
    page.wait_for_url(f"**{prefix}/threads/*")
    becomes(page, "light", "waiting")
    outside = [path for path in asked if not path.startswith(f"{prefix}/") and not path.startswith("/login")]
    assert outside in ([], ["/"]), outside
    # The machines are the gateway's.
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_url(f"{browser.url}/machines")
    assert page.locator("h1").inner_text() == "Machines"


def changes_machines(browser):
    """The menu leads from machine to machine, and says which are away."""
    page = browser.page("/m/laptop/workflows")
    menu = page.locator("details.machines")
    menu.locator("summary").click()
    assert "desk" in menu.inner_text() and "not connected" not in menu.inner_text()
    browser.check(page, "gateway-menu-light")
    menu.get_by_role("link", name="desk").click()
    page.wait_for_url(f"{browser.url}/m/desk/")
    os.kill(browser.scenario["pid"], signal.SIGKILL)
    gateway = browser.page("/", "dark")
    menu = gateway.locator("details.machines")

    def is_away():
        gateway.reload()
        return "desk not connected" in menu.locator("li", has_text="desk").text_content()

    until("the menu says so", is_away)
    menu.locator("summary").click()
    browser.check(gateway, "gateway-menu-dark")
    # The page of the machine noticed, too, and said so.
    browser.problems = [it for it in browser.problems if "502" not in it and "ERR_" not in it]


def compares_rows(browser):
    """On the gateway's own pages two threads of a machine are compared there, and those of two machines are not."""
    for path in ["/", "/machines"]:
        page = browser.page(path)
        rows = {machine: page.locator(f"li[data-prefix$='/m/{machine}']") for machine in ["laptop", "desk"]}

        def select(machine, at, rows=rows, page=page):
            row = rows[machine].nth(at)
            row.evaluate("(row) => row.focus()")
            page.keyboard.press("x")
            return row.get_attribute("data-row")

        select("laptop", 0)
        select("desk", 0)
        page.keyboard.press("d")
        assert page.inner_text("#notice") == "Two machines' threads cannot be compared here"
        page.keyboard.press("Escape")
        chosen = [select("laptop", at) for at in range(2)]
        page.keyboard.press("d")
        page.wait_for_url(f"{browser.url}/m/laptop/compare/{chosen[0]}..{chosen[1]}")
        assert page.locator("h1").inner_text().startswith("Compare"), page.locator("h1").inner_text()
    # A machine is no thread.
    page = browser.page("/machines")
    for machine in ["laptop", "desk"]:
        page.locator(f"#machine-{machine}").evaluate("(row) => row.focus()")
        page.keyboard.press("x")
    page.keyboard.press("d")
    assert page.inner_text("#notice") == "Select two rows"


def shows_machines_come_and_go(browser):
    """The pages of the gateway itself show what changes on its machines, and which are away."""
    scenario = browser.scenario
    context = browser.context()
    pages = [context.new_page() for _ in range(2)]
    for page, path in zip(pages, ["/", "/machines"]):
        page.goto(path)
        is_live(page)
    rows = [page.locator(f"li[data-row='{scenario['thread']}']") for page in pages]

    def show(what, text):
        for row in rows:
            until(what, lambda row=row: text in row.inner_text())

    show("it waits", "waiting")
    assert browser.uwf("thread", "answer", scenario["thread"], "--data", '{"out": false}') in (0, 10)
    show("it goes on", "active")
    os.kill(scenario["pid"], signal.SIGKILL)
    show("its machine is away", "not connected")
    until("the list says so", lambda: pages[1].locator("#machine-desk .state").first.inner_text() == "away")


def follows(browser):
    """A page of a machine shows a step by itself; it says so when the machine is frozen, and goes on once it is back."""
    scenario = browser.scenario
    page = browser.page(scenario["path"])
    is_live(page)
    steps = page.locator("[data-row]").count()
    assert browser.uwf("thread", "answer", scenario["thread"], "--data", '{"out": false}') in (0, 10)
    until("the step is shown", lambda: page.locator("[data-row]").count() == steps + 1)
    os.kill(scenario["pid"], signal.SIGSTOP)
    until("it says that it does not follow", lambda: says(page) == "reconnecting", 40)
    os.kill(scenario["pid"], signal.SIGCONT)
    before = state(page)
    assert browser.uwf("thread", "pause", scenario["thread"]) == 0
    until("it goes on", lambda: state(page) == "paused", 40)
    until("it says so", lambda: says(page) == "live")
    assert before == "active"
    # A machine that is away answers 502, which a browser tells.
    browser.problems = [it for it in browser.problems if "502" not in it and "ERR_" not in it]


def answers_from_one_inbox(browser):
    """A thread of a machine is answered on the gateway's first page, which stays where it is."""
    thread = browser.scenario["thread"]
    page = browser.page("/")
    row = page.locator(f"#desk-{thread}")
    assert "desk" in row.locator(".machine").inner_text()
    counted = page.locator("#needs h2 .number").inner_text()
    row.locator("summary", has_text="Answer").click()
    row.get_by_label("yes", exact=True).check()
    row.get_by_role("button", name="Answer and run").click()
    until("it no longer waits", lambda: page.locator(f"#needs #desk-{thread}").count() == 0)
    until("it says so", lambda: "Answered." in page.inner_text("#notice"))
    assert page.url == f"{browser.url}/", page.url
    until("one less waits", lambda: page.locator("#needs h2 .number").inner_text() == str(int(counted) - 1))
    until("it has run to its end", lambda: page.reload() and page.locator(f"#done #desk-{thread}").count() == 1)
    page.locator(f"#desk-{thread} a.task").click()
    page.wait_for_url(f"**/m/desk/threads/{thread}")
