"""What a person does on a page."""

from browser import until


def state(page):
    """The state that the page of a thread shows."""
    return page.locator(".thread-head .state").inner_text()


def answers(browser):
    """A person answers on the first page, and the thread goes on."""
    thread = browser.told["thread"]
    page = browser.page("/")
    row = page.locator(f"#t-{thread}")
    row.locator("select").select_option("true")
    row.locator("form[action$='/answer'] button").click()
    until("it no longer waits", lambda: page.locator(f"#needs #t-{thread}").count() == 0)


def kills(browser):
    """Ending a thread is asked about first."""
    page = browser.page(f"/threads/{browser.told['thread']}")
    button = page.locator("form[action$='/kill'] button")
    browser.expected_dialogs = [False, True]
    button.click()
    page.wait_for_timeout(300)
    assert state(page) == "active"
    button.click()
    until("it is killed", lambda: state(page) == "killed")
    assert not browser.expected_dialogs
