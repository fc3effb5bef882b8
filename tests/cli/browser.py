"""browser.py - a headless Chromium, driven over its debugging pipe: pages are opened, clicked and typed into as a reader
does. Only Python's own library; `find` returns None where no browser is installed."""

import json
import os
import shutil
import subprocess


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    """Messages are JSON, each ended by a zero byte: the browser reads descriptor 3 and writes descriptor 4."""

    def __init__(self, path, profile, width=1300, height=1000):
        read_3, self.to = os.pipe()
        self.came, write_4 = os.pipe()
        os.set_inheritable(read_3, True)
        os.set_inheritable(write_4, True)
        line = f'exec 3<&{read_3} 4>&{write_4}; exec "$@"'
        self.process = subprocess.Popen(
            ["sh", "-c", line, "sh", path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"],
            pass_fds=(read_3, write_4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_3)
        os.close(write_4)
        self.rest, self.number, self.errors, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.came, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        one = json.loads(text)
        if one.get("method") == "Runtime.exceptionThrown" or (
                one.get("method") == "Log.entryAdded" and one["params"]["entry"]["level"] == "error"):
            self.errors.append(json.dumps(one["params"])[:400])
        return one

    def call(self, method, **params):
        self.number += 1
        order = {"id": self.number, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.to, json.dumps(order).encode() + b"\0")
        while True:
            one = self.message()
            if one.get("id") == self.number:
                if "error" in one:
                    raise RuntimeError(f"{method}: {one['error']}")
                return one["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def ask(self, code):
        answer = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:400])
        return answer["result"].get("value")

    def frame(self):
        """Waits until what was asked for is drawn."""
        self.ask("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def place(self, selector):
        """Left, top, width and height of an element, which is scrolled into view."""
        return self.ask("(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'center', inline: 'center'});"
                        " const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
                        % json.dumps(selector))

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left",
                  buttons=0 if kind == "mouseMoved" else 1, clickCount=0 if kind == "mouseMoved" else 1)

    def click(self, selector):
        left, top, width, height = self.place(selector)
        x, y = left + width / 2, top + height / 2
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)
        self.frame()

    def drag(self, x, y, to_x, to_y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=to_x, y=to_y, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y)
        self.frame()

    def type(self, selector, text):
        self.ask(f"document.querySelector({json.dumps(selector)}).select()")
        self.call("Input.insertText", text=text)
        self.frame()

    def key(self, name, code):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)
        self.frame()

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (EOFError, OSError):
            pass
        self.process.wait(timeout=20)
