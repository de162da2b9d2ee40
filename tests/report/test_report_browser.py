"""Pages as a browser shows them: nothing missing, nothing too wide, light and dark."""

import html
import json
import re
import shutil
import subprocess

import pytest

from tests.report.run_cases import make_run
from vrba.report import write_run_report

pytestmark = pytest.mark.slow
NAMES = ("chromium", "chromium-browser", "google-chrome")
LIGHT, DARK = 1, 0
# Chromium's windows are never as narrow as a phone: a frame can be.
FRAME = """<!DOCTYPE html><html><body>
<iframe id="page" src="%s" style="width:360px;height:800px;border:0"></iframe>
<pre id="found"></pre>
<script>
window.onload = () => {
  const page = document.getElementById("page").contentDocument;
  const style = page.defaultView.getComputedStyle;
  const boxes = [...page.querySelectorAll("figure svg")].map(
    (one) => one.getBoundingClientRect());
  const tick = page.querySelector("figure svg text");
  document.getElementById("found").textContent = JSON.stringify({
    width: page.documentElement.scrollWidth,
    figures: [...page.querySelectorAll("figure")].map((one) => one.id),
    panels: boxes.map((box) => [box.left, box.right, box.height]),
    letters: tick.getBoundingClientRect().height,
    colors: [style(page.body).color, style(tick).fill],
    background: style(page.body).backgroundColor,
  });
};
</script></body></html>
"""


@pytest.fixture(scope="module")
def browser():
    found = [path for path in map(shutil.which, NAMES) if path]
    if not found:
        pytest.skip(f"no browser to look at pages with: none of {', '.join(NAMES)}")
    return found[0]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write_run_report(make_run(tmp_path_factory.mktemp("browser") / "run"))


def look(browser, report, folder, scheme):
    """What a page of a phone's width looks like, and what the browser complains of."""
    frame = folder / "frame.html"
    frame.write_text(FRAME % report.as_uri())
    words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu"]
    words += [f"--user-data-dir={folder / 'profile'}", "--no-first-run"]
    words += ["--disable-background-networking", "--disable-component-update"]
    words += ["--disable-sync", "--allow-file-access-from-files"]
    words += ["--enable-logging=stderr", "--v=0"]
    words += [f"--blink-settings=preferredColorScheme={scheme}", "--dump-dom"]
    done = subprocess.run(
        [*words, frame.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    text = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, flags=re.DOTALL)[1]
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(html.unescape(text)), complaints


def luminance(color):
    """As the guidelines for accessibility define it."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_page_on_a_phone(browser, report, tmp_path, scheme):
    found, complaints = look(browser, report, tmp_path, scheme)
    assert complaints == []
    names = ["solution", "curves", "dynamics", "residual", "weights", "drawn"]
    assert found["figures"] == [f"figure-{name}" for name in names]
    assert found["width"] <= 360
    assert len(found["panels"]) == 18
    for left, right, height in found["panels"]:
        assert 0 <= left < right <= 360
        assert right - left > 250 and height > 120  # large enough to be read
    assert found["letters"] > 9
    assert (luminance(found["background"]) > 0.5) == (scheme == LIGHT)
    for color in found["colors"]:
        assert contrast(color, found["background"]) > 7


def test_complaints_of_the_browser_are_heard(browser, report, tmp_path):
    page = tmp_path / "bad.html"
    wrong = '<p style="min-width:999px">x</p><script>gone()</script></body>'
    page.write_text(report.read_text().replace("</body>", wrong))
    found, complaints = look(browser, page, tmp_path, LIGHT)
    assert found["width"] > 360
    assert any("gone is not defined" in line for line in complaints)
