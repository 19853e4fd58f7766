"""Pages as they are when they are opened."""

from browser import MODES, until


def look_right(browser):
    """All `pages`, each with a `name`, a `path`, a `status` and texts that it has to contain (`says`), in each mode."""
    scenario = browser.scenario
    for mode in MODES:
        context = browser.context(mode)
        # axe is a script itself, so it looks at pages that have none but its own.
        scriptless = browser.context("light") if mode == "noscript" else None
        if scriptless:
            scriptless.route("**/*.js", lambda route: route.fulfill(content_type="text/javascript", body=""))
        for wanted in scenario["pages"]:
            page = opened(context, wanted)
            for text in wanted["says"]:
                shown = page.inner_text("body")
                assert text in shown, f"{wanted['path']}, {mode}: nothing says {text!r}: {shown}"
            name = f"{wanted['name']}-{mode}"
            if scriptless:
                browser.picture(page, name)
                page.close()
                page = opened(scriptless, wanted)
            browser.check(page, name)
            page.close()
        context.close()
        if scriptless:
            scriptless.close()


def opened(context, wanted):
    if not wanted["logged_in"]:
        context.clear_cookies()
    page = context.new_page()
    answer = page.goto(wanted["path"])
    assert answer.status == wanted["status"], f"{wanted['path']}: {answer.status}\n{answer.text()}"
    return page


def prints(browser):
    """A page on paper has no buttons, and is dark on white also for those who like it dark."""
    page = browser.page(browser.scenario["path"], "dark")
    page.emulate_media(media="print", color_scheme="light")
    assert not page.locator("button:visible, form:visible, nav:visible").count(), "buttons are printed"
    pdf = page.pdf(path=browser.kept(f"{browser.scenario['name']}.pdf"))
    assert pdf.startswith(b"%PDF") and len(pdf) > 5000, f"{len(pdf)} bytes"


def draws_days_of_the_reader(browser):
    """Days of costs have the time zone of the browser. Without a script they have the zone of the server, and the page says so."""
    east = "Pacific/Kiritimati"
    page = browser.context("light", timezone_id=east).new_page()
    page.goto("/cost")
    said = page.locator("[data-zone]")
    until("the page has the zone of the browser", lambda: said.get_attribute("data-zone") == east)
    assert said.inner_text() == f"Days are in the time zone {east}, as in your browser."
    assert page.locator("th", has_text=f"Day ({east})").count() == 1
    # The server remembers nothing: the browser says it with each request.
    page.goto("/cost?since=30d")
    assert said.get_attribute("data-zone") == east
    plain = browser.context("noscript", timezone_id=east).new_page()
    plain.goto("/cost")
    assert plain.locator("[data-zone]").inner_text() == "Days are in the time zone UTC, as on the server."


def logs_in(browser):
    """The login page lets in whoever knows the secret, and leads to where they wanted to go."""
    context = browser.context()
    context.clear_cookies()
    page = context.new_page()
    page.goto("/?all=1")
    assert "/login" in page.url
    field = page.locator("input[type=password]")
    field.fill("wrong")
    field.press("Enter")
    page.locator("input[type=password]").fill(browser.scenario["secret"])
    page.locator("button").first.click()
    page.wait_for_url("**/?all=1")
    # The wrong one was refused, which a browser tells.
    browser.problems = [it for it in browser.problems if "401" not in it and "403" not in it]


def shows_hostile_texts(browser):
    """Nothing that an agent or a person wrote is markup, wherever it is shown."""
    for number, path in enumerate(browser.scenario["paths"]):
        page = browser.page(path)
        page.wait_for_timeout(300)
        assert not page.evaluate("window.hit"), f"{path}: a script ran"
        for selector in ["#injected", "main script", "main iframe", "main img", "main style", "main object", "main base"]:
            assert not page.locator(selector).count(), f"{path}: there is {selector}"
        found = page.evaluate(
            """() => [...document.querySelectorAll('*')].flatMap((it) => [...it.attributes])
            .filter(({ name, value }) => /^on/i.test(name) || (/^(href|src|action)$/i.test(name) && /^\\s*(javascript|data|vbscript):/i.test(value)))
            .map(({ name, value }) => `${name}=${value}`)"""
        )
        assert not found, f"{path}: {found}"
        assert "<script>" in page.inner_text("body"), f"{path}: the text itself is not shown"
        # Links that lead nowhere do nothing.
        for link in page.locator("main .text a").all()[:10]:
            if (link.get_attribute("href") or "").startswith("#"):
                link.dispatch_event("click")
        assert not page.evaluate("window.hit"), f"{path}: a link ran a script"
        browser.check(page, f"hostile-{number}")
        page.context.close()
