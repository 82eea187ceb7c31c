"""The site of the documentation: it builds without a warning, and a page loads nothing but what lies beside it."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import tilec

ROOT = Path(__file__).parents[2]

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "embed": "src", "object": "data"}
"""The attributes that name what a browser fetches by itself, by tag; of `link` it depends on the kind."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "-d", folder / "read"]
    done = subprocess.run([*command, ROOT / "docs", folder / "html"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Resources(HTMLParser):
    """Collects what a page loads, and where its links lead."""

    def __init__(self, text):
        super().__init__()
        self.loaded, self.links = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in LOADED and found.get(LOADED[tag]):
            self.loaded.append(found[LOADED[tag]])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload", "preconnect", "dns-prefetch"):
            self.loaded.append(found["href"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])


def test_pages_load_nothing_from_elsewhere(site):
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        for url in Resources(page.read_text()).loaded:
            parts = urlsplit(url)
            assert not parts.scheme, (page.name, url)
            assert not parts.netloc, (page.name, url)
            assert (page.parent / parts.path).is_file(), (page.name, url)
    for sheet in site.rglob("*.css"):
        named = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", sheet.read_text())
        assert not [url for pair in named for url in pair if re.match(r"(\w+:)?//", url)], sheet.name


def test_links_lead_to_files_of_the_site(site):
    for page in site.rglob("*.html"):
        for url in Resources(page.read_text()).links:
            parts = urlsplit(url)
            if not parts.scheme and not parts.netloc and parts.path:
                assert (page.parent / parts.path).is_file(), (page.name, url)


def test_every_page_of_the_documentation_is_there(site):
    pages = {p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md")}
    assert {p.relative_to(site).with_suffix("") for p in site.rglob("*.html")} >= pages


def test_it_can_be_searched_without_a_server(site):
    """The index is a script, which pages that are opened as files may load."""
    index = (site / "searchindex.js").read_text()
    assert index.startswith("Search.setIndex(")
    for word in ("mbarrier", "semantics"):
        assert word in index


def test_every_name_of_the_language_is_two_clicks_away(site):
    """Each page's navigation leads to the page of names, whose first part leads to each; so does `T.copy` in a text."""
    from tilec.contents import public_names

    reference = (site / "language" / "reference.html").read_text()
    assert "language/reference.html" in Resources((site / "index.html").read_text()).links
    anchors = set(re.findall(r'\bid="(T\.\w+)"', reference))
    names = {f"T.{name}" for name in public_names(tilec.language.__doc__)}
    assert names <= anchors
    assert {f"#{name}" for name in names} <= set(Resources(reference).links)
    pages = [p for p in site.rglob("*.html") if p.name not in ("genindex.html", "search.html")]
    leading = [url for p in pages for url in Resources(p.read_text()).links if "reference.html#T." in url]
    assert len(leading) > 100
    assert {url.partition("#")[2] for url in leading} <= anchors
