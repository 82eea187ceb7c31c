"""Chromium without a window, driven over a pipe: a page as a user sees it, and what went wrong in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
"""The browser, or None where there is none: `scripts/setup.sh` installs it."""

_OPTIONS = (
    "--headless",
    "--no-sandbox",  # of a page of our own; tests may run as root
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--window-size=1800,1000",
)


class Browser:
    """A page in a browser of its own, by the Chrome DevTools Protocol.

    - `problems`: exceptions, and what was written to the console.
    - `requests`: the addresses that were loaded.
    """

    def __init__(self, page: Path, profile: Path) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._buffer = b""
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        # The browser reads commands from descriptor 3, and writes to 4.
        command = 'exec "$0" "$@" 3<&"$TO" 4>&"$FROM"'
        assert PROGRAM is not None, "callers look first"
        self._process = subprocess.Popen(
            ["bash", "-c", command, PROGRAM, *_OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(to_browser, from_browser),
            env={**os.environ, "TO": str(to_browser), "FROM": str(from_browser)},
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._session = ""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=page.as_uri())
        while self.evaluate("document.readyState") != "complete":
            pass

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._to)
        os.close(self._from)
        self._process.terminate()
        self._process.wait()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command, and returns its result; notes what happens in between."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._read()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._from, 1 << 16)
            assert part, "the browser ended"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        if event["method"] in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.problems.append(json.dumps(event["params"]))
        elif event["method"] == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])

    def evaluate(self, expression: str) -> Any:
        """Returns the value of an expression of JavaScript."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def _point(self, element: str) -> dict[str, float]:
        """Scrolls to an element, and returns its place in the window."""
        return self.evaluate(
            f"(() => {{ const e = {element}; e.scrollIntoView({{block: 'center'}});"
            "const r = e.getBoundingClientRect(); return {x: r.left + 30, y: r.top + r.height / 2}; })()"
        )

    def hover(self, element: str) -> None:
        """Moves the mouse to what an expression of JavaScript finds."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **self._point(element))

    def click(self, element: str) -> None:
        """Moves the mouse to what an expression of JavaScript finds, and clicks."""
        point = self._point(element)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **point)
