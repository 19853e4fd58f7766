"""What a person does on a page."""

from browser import until

# A form does its work without JavaScript, too.
FORMS = ["light", "noscript"]


def state(page):
    """The state that the page of a thread shows."""
    return page.locator(".thread-head .state").inner_text()


def becomes(page, mode, wanted):
    """Waits until the page of a thread shows a state. Without JavaScript it is loaded again for that."""
    until(f"{mode}: it is {wanted}", lambda: state(page) == wanted or (mode == "noscript" and page.reload() and False))


def thread_of(page):
    """Which thread the page is about."""
    return page.url.split("/threads/")[1].split("/")[0]


def lands_on_another(page, thread):
    """Waits for the page of another thread."""
    page.wait_for_url(lambda url: "/threads/" in url and "/steps/" not in url and thread not in url)


def answers(browser):
    """A person answers on the first page, the thread runs, and the page stays where it is, with the next row in focus."""
    thread = browser.scenario["thread"]
    page = browser.page("/")
    row = page.locator(f"#t-{thread}")
    after = row.evaluate("(it) => (it.nextElementSibling ?? it.previousElementSibling)?.id")
    row.locator("summary", has_text="Answer").click()
    decides = row.locator(".decides").inner_text()
    assert "Decide whether the post goes out." in decides and "reviewer" in decides, decides
    row.get_by_label("yes", exact=True).check()
    row.get_by_role("button", name="Answer and run").click()
    until("it no longer waits", lambda: page.locator(f"#needs #t-{thread}").count() == 0)
    until("it says so", lambda: "Answered." in page.inner_text("#notice"))
    assert page.url == f"{browser.url}/"
    if after:
        until("the next row has the focus", lambda: page.evaluate("document.activeElement.id") == after)
    until("it has run to its end", lambda: page.reload() and page.locator(f"#done #t-{thread}").count() == 1)


# Parts of the notice that a person cannot see or use, and controls that it covers.
COVERED = """() => {
  const notice = document.querySelector('#notice');
  const box = notice.getBoundingClientRect();
  const meets = (it) => it.width && it.height && it.left < box.right && it.right > box.left && it.top < box.bottom && it.bottom > box.top;
  return [...document.querySelectorAll('a, button, summary, input, select, textarea')]
    .filter((it) => !notice.contains(it) && meets(it.getBoundingClientRect())).map((it) => it.textContent.trim() || it.tagName);
}"""


def tells_on_a_phone(browser):
    """On a phone, a message is whole, readable, announced, over nothing that has the focus, and gone after its time."""
    thread = browser.scenario["thread"]
    page = browser.context("narrow").new_page()
    page.goto("/")
    notice = page.locator("#notice")
    assert (notice.get_attribute("role"), notice.get_attribute("aria-live")) == ("status", "polite")
    assert not notice.is_visible() and notice.inner_text() == "", "a screen reader announces what comes into an empty region"
    row = page.locator(f"#t-{thread}")
    row.locator("summary", has_text="Answer").click()
    row.get_by_label("yes", exact=True).check()
    row.get_by_role("button", name="Answer and run").click()
    until("it says so", lambda: "Answered." in notice.inner_text())
    said = page.evaluate("performance.now()")
    box = notice.bounding_box()
    assert box["x"] >= 8 and box["x"] + box["width"] <= 390 - 8, f"not whole: {box}"
    assert box["y"] >= 0 and box["y"] + box["height"] <= 844 - 8, f"not whole: {box}"
    cut = notice.evaluate("(it) => it.scrollWidth > it.clientWidth || it.scrollHeight > it.clientHeight")
    size = notice.evaluate("(it) => parseFloat(getComputedStyle(it).fontSize)")
    assert not cut and size >= 13, f"{size} pixels, cut off: {cut}"
    focused = page.evaluate("document.activeElement.closest('[data-row]')?.getBoundingClientRect().bottom ?? 0")
    assert 0 < focused <= box["y"], f"it is over the row with the focus: {focused}, {box}"
    # A person can read the rest of the page: at its end, nothing is below the message.
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert page.evaluate(COVERED) == [], "it is over what one needs"
    browser.check(page, "notice-narrow")
    until("it is gone", lambda: not notice.is_visible(), 15)
    assert page.evaluate("performance.now()") - said >= 4000, "it can be read before it goes"


def answers_with_keys(browser):
    """The form of a row opens by a key, and Ctrl+Enter sends it."""
    thread = browser.scenario["thread"]
    page = browser.page("/")
    page.locator(f"#t-{thread}").focus()
    page.keyboard.press("a")
    page.keyboard.press("Space")
    page.keyboard.press("Control+Enter")
    until("it no longer waits", lambda: page.locator(f"#needs #t-{thread}").count() == 0)


def refuses_a_stale_answer(browser):
    """An answer to a thread that has moved on is refused where it was typed, and what was typed is shown."""
    thread = browser.scenario["thread"]
    page = browser.page("/", "light")
    row = page.locator(f"#t-{thread}")
    row.locator("summary", has_text="Answer").click()
    row.get_by_label("no", exact=True).check()
    row.locator("textarea").fill("Too late.")
    assert browser.uwf("thread", "answer", thread, "--data", '{"out": false}') == 0
    row.get_by_role("button", name="Answer without running").click()
    until("it is refused", lambda: page.locator("textarea[readonly]").count())
    # A live update may replace the form between the two looks.
    until("the typed text is shown", lambda: "Too late." in page.locator("textarea").evaluate_all("(all) => all.map((it) => it.value)"))
    browser.problems = [it for it in browser.problems if "409" not in it]


def answers_on_its_page(browser):
    """A person answers on the page of the thread, which has not to be live for that."""
    page = browser.page(f"/threads/{browser.scenario['thread']}", "noscript")
    form = page.locator("#needs form[action$='/answer']")
    form.get_by_label("no", exact=True).check()
    form.locator("textarea").fill("It says nothing of *limits*.")
    form.get_by_role("button", name="Answer without running").click()
    until("it does not wait", lambda: state(page) != "waiting")
    assert thread_of(page) == browser.scenario["thread"]
    page.locator("[data-row] > details:not(.reason) > summary", has_text="editor").click()
    assert "It says nothing of *limits*." in page.inner_text("#steps")


def unfolds_changed_files(browser):
    """A person unfolds the changed files of an approval in the list of threads. Without JavaScript, a link leads to them."""
    page = browser.page("/")
    page.locator("summary", has_text="Answer").click()
    files = page.locator(".decides details", has_text="Files changed")
    files.locator("summary").click()
    until("the file is shown", lambda: any("post.md" in text for text in files.locator("table").all_inner_texts()))
    assert "+two" in files.locator("pre.patch").inner_text()
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_timeout(1000)
    assert files.locator("pre.patch").count() == 1, "a live update keeps them"
    page = browser.page("/", "noscript")
    page.locator("summary", has_text="Answer").click()
    page.locator("summary", has_text="Files changed").click()
    page.get_by_role("link", name="Steps and changed files").click()
    assert "+two" in page.locator("#files pre.patch").inner_text()


def answers_a_labelled_thread(browser):
    """The page follows an answer to its end. The forms that remove labels have a field named `remove`, which hides the method of the form."""
    page = browser.page(f"/threads/{browser.scenario['thread']}")
    form = page.locator("#needs form[action$='/answer']")
    form.get_by_label("yes", exact=True).check()
    form.get_by_role("button", name="Answer and run").click()
    until("it says so", lambda: page.inner_text("#notice") == "Answered.")
    until("it has ended", lambda: state(page) == "completed")
    until("nothing asks any more", lambda: page.locator("#needs").count() == 0)
    assert page.get_by_role("button", name="Kill").count() == 0


def presses_keys_without_a_row(browser):
    """Keys of rows do nothing while no row has the focus, and say what is missing."""
    page = browser.page("/")
    for key in "srp":
        page.keyboard.press(key)
        until(f"{key} asks for a row", lambda: "Choose a row first" in page.inner_text("#notice"))
        page.evaluate("document.getElementById('notice').replaceChildren()")
    page.wait_for_timeout(500)


def starts(browser):
    """A thread is started with a form, which leads to its page, and runs if that is wanted."""
    for mode in FORMS:
        for button, wanted in [("Start and run", "waiting"), ("Start", "active")]:
            page = browser.page(f"/workflows/{browser.scenario['workflow']}/start", mode)
            page.get_by_label("Task", exact=True).fill(f"Write of forms, {mode}.\n\nAnd of *buttons*.")
            page.get_by_role("button", name=button, exact=True).click()
            page.wait_for_url("**/threads/*")
            assert page.locator("h1").inner_text() == f"Write of forms, {mode}."
            becomes(page, mode, wanted)
            steps = page.locator("[data-row]").count()
            assert steps == (4 if wanted == "waiting" else 0), f"{mode}, {button}: {steps} steps"
            page.context.close()


def gives_inputs(browser):
    """The form has a field for each input. A value that does not fit is named, and the others stay as typed."""
    for mode in FORMS:
        page = browser.page(f"/workflows/{browser.scenario['workflow']}/start", mode)
        page.get_by_label("Task", exact=True).fill("Release it.")
        page.locator("[name='input.version']").fill("1.10")
        page.locator("select[name='input.level']").select_option("high")
        page.locator("input[type=checkbox][name='input.dry']").uncheck()
        page.locator("[name='input.copies']").fill("0")
        page.locator("[name='input.tags']").fill("- a\n- b\n")
        page.get_by_role("button", name="Start", exact=True).click()
        assert "copies" in page.get_by_role("alert").inner_text()
        assert page.locator("[name='input.version']").input_value() == "1.10"
        assert page.locator("select[name='input.level']").input_value() == "high"
        assert not page.locator("input[type=checkbox][name='input.dry']").is_checked()
        if mode == FORMS[0]:
            browser.check(page, "start-inputs-light")
        page.locator("[name='input.copies']").fill("3")
        page.get_by_role("button", name="Start", exact=True).click()
        page.wait_for_url("**/threads/*")
        assert "1.10" in page.locator("#input").text_content()
        page.context.close()
    browser.problems = [it for it in browser.problems if "400" not in it and "422" not in it]


def starts_nothing(browser):
    """What starts no thread leaves the form as it was filled in, and says why."""
    page = browser.page(f"/workflows/{browser.scenario['workflow']}/start")
    page.get_by_label("Task", exact=True).fill("Write of places.")
    page.get_by_label("Directory").fill("/nowhere")
    page.get_by_role("button", name="Start", exact=True).click()
    assert "/nowhere" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Task", exact=True).input_value() == "Write of places."
    browser.check(page, "start-refused-light")
    # The form comes with the status of what was wrong, which a browser tells.
    browser.problems = [it for it in browser.problems if "400" not in it and "422" not in it]


def forks(browser):
    """A fork of a thread, and one of a step, lead to the page of the new thread."""
    scenario = browser.scenario
    for mode in FORMS:
        page = browser.page(f"/threads/{scenario['thread']}", mode)
        page.locator("#fork > summary").click()
        page.locator("#fork-step").select_option(scenario["step"])
        page.get_by_role("button", name="Fork without running", exact=True).click()
        forked(browser, page, mode)
        page = browser.page(f"/threads/{scenario['thread']}/steps/{scenario['step']}", mode)
        page.get_by_role("button", name="Fork from here", exact=True).click()
        forked(browser, page, mode)


def forked(browser, page, mode):
    lands_on_another(page, browser.scenario["thread"])
    assert "3 steps" in page.inner_text(".thread-head"), mode
    assert page.locator("[data-row]").count() == 3
    page.context.close()


def starts_again(browser):
    """A thread is started again with another task, and runs."""
    scenario = browser.scenario
    page = browser.page(f"/threads/{scenario['thread']}")
    page.locator("#fork > summary").click()
    task = page.get_by_label("Task", exact=True)
    assert task.input_value()
    task.fill("Write of *second* tries.")
    page.get_by_role("button", name="Start and run", exact=True).click()
    lands_on_another(page, scenario["thread"])
    assert page.locator("h1").inner_text() == "Write of second tries."
    becomes(page, "light", "waiting")


def compares(browser):
    """Two rows are selected and compared; whoever has no keys names the other thread in a form."""
    one, other = browser.scenario["threads"]
    page = browser.page("/?all=1")
    for row in [one, other]:
        page.locator(f"#t-{row}").focus()
        page.keyboard.press("x")
    page.keyboard.press("d")
    page.wait_for_url("**/compare/*..*")
    assert set(page.url.split("/compare/")[1].split("..")) == {one, other}
    page = browser.page(f"/threads/{one}", "noscript")
    page.get_by_role("link", name="Compare").click()
    page.get_by_label("Right").fill(other)
    page.locator("#pick button").click()
    page.wait_for_url(f"**/compare/{one}..{other}")
    for row in [one, other]:
        assert page.locator(f"main a[href$='/threads/{row}']").count(), f"no link to {row}"


def kills(browser):
    """Ending a thread is asked about first."""
    page = browser.page(f"/threads/{browser.scenario['thread']}")
    button = page.locator("form[action$='/kill'] button")
    browser.expected_dialogs = [False, True]
    button.click()
    page.wait_for_timeout(300)
    assert state(page) == "active"
    button.click()
    until("it is killed", lambda: state(page) == "killed")
    assert not browser.expected_dialogs
    assert not page.locator("form[action$='/kill']").count(), "it can be killed only once"


def retries(browser):
    """A stuck thread goes on when another agent tries."""
    page = browser.page(f"/threads/{browser.scenario['thread']}")
    assert state(page) == "stuck"
    form = page.locator("#needs form[action$='/retry']")
    form.locator("select").select_option("mock")
    form.get_by_role("button", name="Retry without running").click()
    becomes(page, "light", "active")
    assert page.locator("[data-row]").count() == 2


def retries_and_runs(browser):
    """A stuck thread runs on when another agent tries, with one click in the list."""
    thread = browser.scenario["thread"]
    page = browser.page("/")
    row = page.locator(f"#t-{thread}")
    row.locator("summary", has_text="Retry").click()
    row.locator("select").select_option("mock")
    row.get_by_role("button", name="Retry and run").click()
    until("it waits for the editor", lambda: page.locator(f"#t-{thread} .state").inner_text() == "waiting")


def lifts_a_limit(browser):
    """The form lifts the limit that was reached and no other, and the thread runs."""
    scenario = browser.scenario
    page = browser.page("/")
    row = page.locator(f"#t-{scenario['thread']}")
    row.locator("summary", has_text="Raise").click()
    assert row.locator("input[name=steps]").input_value() == "3"
    assert row.locator("input[name=tokens]").input_value() == ""
    row.locator("input[name=steps]").fill("9")
    row.get_by_role("button", name="Raise and run").click()
    until("it waits for the editor", lambda: page.locator(f"#t-{scenario['thread']} .state").inner_text() == "waiting")


def pauses(browser):
    """A thread is paused and goes on, from its page."""
    for mode in FORMS:
        page = browser.page(f"/threads/{browser.scenario['thread']}", mode)
        for button, wanted in [("Pause", "paused"), ("Resume", "active")]:
            page.get_by_role("button", name=button, exact=True).click()
            becomes(page, mode, wanted)
        page.context.close()


def acts_on_several(browser):
    """Selected rows are paused together, and one that refuses is named."""
    scenario = browser.scenario
    page = browser.page("/?all=1")
    page.locator(f"#t-{scenario['active']}").focus()
    page.keyboard.press("x")
    box = page.locator(f"#t-{scenario['done']} .select")
    box.check()
    bar = page.locator("#bulk")
    assert "2 selected" in bar.inner_text()
    box.uncheck()
    assert "1 selected" in bar.inner_text()
    box.check()
    assert page.locator(f"#t-{scenario['active']} .select").is_checked(), "a key checks the box, too"
    bar.get_by_role("button", name="Pause").click()
    until("it says what was done", lambda: "1 of 2 done" in page.inner_text("#notice"))
    assert scenario["done"][-5:] in page.inner_text("#notice")
    assert "1 selected" in bar.inner_text(), "the refused one stays selected"
    bar.get_by_role("button", name="Clear").click()
    assert not bar.count() and not page.locator(".select:checked").count()
    # Shift selects the rows between two.
    boxes = page.locator(".select")
    boxes.nth(0).click()
    boxes.nth(2).click(modifiers=["Shift"])
    assert "3 selected" in bar.inner_text() and boxes.nth(1).is_checked()
    bar.get_by_role("button", name="Select all").click()
    assert f"{boxes.count()} selected" in bar.inner_text()
    assert not bar.get_by_role("button", name="Select all").count()
    # The browser reports the refusal of the thread that has ended.
    browser.problems = [it for it in browser.problems if "40" not in it]


def retries_with_another_agent(browser):
    """A selected thread that is stuck is tried again with an agent that its reader chooses."""
    stuck = browser.scenario["stuck"]
    page = browser.page("/?all=1")
    page.locator(f"#t-{stuck} .select").check()
    bar = page.locator("#bulk")
    bar.get_by_role("button", name="Retry").click()
    assert bar.get_by_label("Agent").input_value() == "", "the same agent as before, unless another is chosen"
    bar.get_by_role("button", name="Cancel").click()
    bar.get_by_role("button", name="Retry").click()
    bar.get_by_label("Agent").select_option("mock")
    bar.get_by_role("button", name="Retry").click()
    until("it was tried", lambda: "1 of 1 done" in page.inner_text("#notice"))
    page.goto(f"/threads/{stuck}")
    until("the other agent has played the role", lambda: page.reload() and state(page) != "stuck")


def labels_several(browser):
    """Selected rows get a label, which finds them, and the list becomes a saved view."""
    scenario = browser.scenario
    page = browser.page("/?all=1")
    for row in [scenario["active"], scenario["done"]]:
        page.locator(f"#t-{row}").focus()
        page.keyboard.press("x")
    bar = page.locator("#bulk")
    bar.get_by_role("button", name="Label").click()
    bar.get_by_label("Label, KEY=VALUE").fill("team=web")
    page.keyboard.press("Enter")
    until("both are labelled", lambda: "2 of 2 done" in page.inner_text("#notice"))
    page.goto(f"/threads/{scenario['done']}")
    page.get_by_role("link", name="team=web").click()
    until("the label finds both", lambda: page.locator("#found > li").count() == 2)
    page.get_by_text("Save as a view").click()
    page.get_by_label("Name of the view").fill("The web & more")
    page.get_by_role("button", name="Save this view").click()
    view = page.get_by_role("link", name="The web & more")
    until("it is a view", lambda: view.get_attribute("aria-current") == "page")
    page.goto("/")
    view.click()
    until("it is one click away", lambda: page.locator("#found > li").count() == 2)
    page.get_by_role("button", name="Remove the view The web & more").click()
    until("it is removed", lambda: not view.count())


def notifies(browser):
    """A thread that begins to need its reader is announced while the tab is hidden, if they asked for that."""
    context = browser.context()
    context.grant_permissions(["notifications"])
    page = context.new_page()
    page.add_init_script(
        """window.shown = [];
        const known = window.Notification;
        window.Notification = class { constructor(title, { body }) { window.shown.push(`${title}: ${body}`); } };
        window.Notification.permission = 'granted';
        window.Notification.requestPermission = async () => 'granted';"""
    )
    page.goto("/")
    page.locator("#notify").click()
    until("they are on", lambda: page.inner_text("#notify") == "Notifications are on")
    page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert browser.uwf("run", browser.scenario["workflow"], "-p", "Announce this one.") == 20
    until("it is announced", lambda: page.evaluate("window.shown").count("uwf: waiting: Announce this one."))


def edits(browser):
    """A workflow is checked while it is typed, and saved as a new version. Without JavaScript a button checks it."""
    for mode in FORMS:
        page = browser.page("/workflows/publish-post", mode)
        page.get_by_role("link", name="Edit", exact=True).click()
        text = page.locator("textarea")
        whole = text.input_value()
        broken = whole.replace("role: editor", "role: edtior", 1)
        assert broken != whole
        text.fill(broken)
        if mode == "noscript":
            page.get_by_role("button", name="Check").click()
        page.locator("#checked li[data-severity=error]", has_text="edtior").first.wait_for()
        assert "error" in page.locator("#verdict").inner_text()
        text = page.locator("textarea")
        if mode != "noscript":
            assert page.locator("#checked svg.stale").is_visible(), "the last graph stays"
            numbers = page.locator("#lines").inner_text().split()
            assert len(numbers) == broken.count("\n") + 1 and numbers[-1] == str(len(numbers)), numbers
            line = int(page.locator("#checked [data-line]").first.get_attribute("data-line"))
            page.locator("#checked [data-line]").first.click()
            at = text.evaluate("(it) => it.value.slice(0, it.selectionStart).split('\\n').length")
            assert at == line, f"the caret is in line {at}, not {line}"
            text.evaluate("(it) => it.setSelectionRange(it.value.indexOf('\\n', it.value.indexOf('roles:') + 7), it.value.length)")
            page.keyboard.press("Enter")
            added = text.evaluate("(it) => it.value.slice(it.value.lastIndexOf('\\n') + 1)")
            assert added.strip() == "" and added, "a new line is indented as the one before"
        text.fill(whole.replace("description:", f"description: {mode}", 1))
        page.get_by_role("button", name="Save as a new version").click()
        page.wait_for_url("**/workflows/publish-post")
        assert mode in page.inner_text(".flow-head"), page.inner_text(".flow-head")
        page.context.close()
