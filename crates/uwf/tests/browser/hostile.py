"""Pages and servers of someone who wants to get at a dashboard."""

import json
import os
import subprocess
import sys

# Listens at a free port, says which, and says the headers of every request. Its page leads to itself once more, and to the dashboard.
THIEF = """
import http.server, json, os, sys, threading
# Requests come in at the same time, each in a thread of its own.
turn = threading.Lock()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with turn:
            print(json.dumps({"path": self.path, "headers": dict(self.headers)}), flush=True)
        body = b"<script>for (const path of ['/', '/threads', '/login']) fetch(path, {credentials: 'include'})</script><a href=/again>x</a>"
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer((sys.argv[1], 0), Handler)
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
print(json.dumps({"port": server.server_address[1], "uid": os.getuid()}), flush=True)
server.serve_forever()
"""
# A user who is not the one of the dashboard.
OTHER_USER = 1001


def stays_on_its_machine(browser):
    """Nothing that a machine sends runs, leads the browser away, or asks for anything of another machine."""
    scenario = browser.scenario
    context = browser.context()
    asked = []
    context.on("request", lambda request: asked.append((request.method, request.url.removeprefix(browser.url))))
    for path in scenario["pages"]:
        page = context.new_page()
        page.goto(f"/m/evil{path}")
        page.wait_for_timeout(1000)
        assert page.url == f"{browser.url}/m/evil{path}", page.url
        assert page.locator("h1").inner_text() == "Look here"
        assert not page.evaluate("window.hit"), "a script ran"
        for selector in ["main script", "main iframe", "main img", "main object", "main meta", "main link", "main svg *"]:
            assert not page.locator(selector).count(), selector
        page.locator("#away").click()
        assert not page.evaluate("window.hit"), "a link ran"
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.locator("#press").click()
    # The response is there before the browser shows its page.
    page.wait_for_url(f"{browser.url}/m/evil/**")
    for path in scenario["merged"]:
        page = context.new_page()
        page.goto(path)
        page.wait_for_timeout(500)
        assert page.url == f"{browser.url}{path}", page.url
        assert "Row of evil" in page.inner_text("main"), page.inner_text("main")
        assert not page.evaluate("window.hit"), "a script of a row ran"
        assert page.locator("#main").count() == 1
        actions = page.locator("main form[action*='/api/']").evaluate_all("(all) => all.map((it) => it.getAttribute('action'))")
        of_evil = [it for it in actions if "/m/evil/" in it]
        assert of_evil == [f"{browser.url.removeprefix(browser.origin)}/m/evil/m/victim/api/threads"], actions
        page.close()
    asked = [it for it in asked if not it[1] in scenario["merged"] and "/api/gateway/events" not in it[1]]
    for path in scenario["raw"]:
        page = context.new_page()
        # A browser saves what it can't show.
        try:
            page.goto(f"/m/evil{path}")
        except Exception as error:
            assert "Download is starting" in str(error) or "ERR_ABORTED" in str(error), error
            continue
        assert not page.evaluate("window.hit"), path
    outside = [it for it in asked if not it[1].startswith("/m/evil/") and "/assets/" not in it[1]]
    assert not outside, outside
    assert browser.is_logged_in(context), "the cookie is gone"
    # The machine answers the button's request with 404, and has no events.
    browser.problems = [it for it in browser.problems if "404" not in it and "text/event-stream" not in it]


def keeps_its_cookie(browser):
    """A server of another user at another port of the same host never gets the cookie, wherever it leads the browser."""
    host = browser.origin.split("://")[1].rsplit(":", 1)[0]
    command = [sys.executable, "-c", THIEF, host, str(OTHER_USER)]
    thief = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        said = json.loads(thief.stdout.readline())
        # Without root the other user's server runs as this one; the browser can't tell.
        assert said["uid"] == (OTHER_USER if os.getuid() == 0 else os.getuid()), said
        port = said["port"]
        context = browser.context()
        kept = context.cookies()
        assert any(it["name"].startswith("uwf-") and it["httpOnly"] for it in kept), kept
        page = context.new_page()
        elsewhere = f"http://{host}:{port}"
        page.goto("/")
        for path in ["/", "/threads", "/login", "/~0/"]:
            # As a page of the web would lead it there, and by a link that was followed on a page of the thief itself.
            page.evaluate("(url) => { location = url }", elsewhere + path)
            page.wait_for_url(elsewhere + path)
            page.wait_for_timeout(200)
            page.locator("a").click()
            page.wait_for_load_state()
            # From here the dashboard is another origin, and its address says nothing.
            page.evaluate("(url) => { location = url }", f"{browser.origin}{path}")
            page.wait_for_timeout(300)
            # That page may lead on by itself, which would interrupt this one. It stays open, because Chromium sometimes forgets to close a
            # page that is about to show another one.
            page = context.new_page()
            page.goto("/")
        thief.kill()
        received = [json.loads(line) for line in thief.stdout.read().splitlines()]
        assert len(received) > 8, received
        secret = browser.url.removeprefix(browser.origin)[2:]
        for request in received:
            names = {name.lower() for name in request["headers"]}
            assert "cookie" not in names, request
            assert secret not in json.dumps(request), request
        assert browser.is_logged_in(context)
    finally:
        thief.kill()
        thief.wait()
    browser.problems = [it for it in browser.problems if f":{port}/" not in it and "404" not in it]
