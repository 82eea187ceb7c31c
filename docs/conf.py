"""The site: the pages of this folder, made into HTML by `ninja -C build site`.

Pages are written once and read in three places: here, in an editor, and where the repository is browsed. What only the
site needs is in `site`: titles for the generated reference, colours for the `tl` dialect, and the reference of the
language, which is made of docstrings. Nothing is fetched when a page is looked at.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "site"), str(HERE.parent / "python")]

project = "TL"
copyright = "the authors of TL"
html_title = "TL"
extensions = ["myst_parser", "generated_pages", "language_page", "tl_dialect"]
exclude_patterns = ["site", "CMakeLists.txt"]
nitpicky = True

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# Programs of C++ leave parts out with an ellipsis.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_js_files = ["names.js"]
html_copy_source = False
html_show_sphinx = False
# The theme names its own site and nothing else: what is followed by hand may lead anywhere.
html_theme_options = {"navigation_with_keys": True}
