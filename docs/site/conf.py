"""Sphinx's settings for the site. tools/make_site.py calls it, with the address and the pages it has prepared."""

import html

from docutils.nodes import SkipNode

project = "Build the Vision Transformer, layer by layer"
author = "the contributors"
copyright = "the contributors, MIT licence"
html_title = "ViT, layer by layer"
extensions = ["myst_nb"]
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
root_doc = "index"

nb_execution_mode = "off"  # the outputs are those that are committed
nb_merge_streams = True
nb_code_prompt_show = "Show the set-up cell"  # the one cell that tools/make_site.py folds up
nb_code_prompt_hide = "Hide the set-up cell"
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
pygments_dark_style = "monokai"
html_static_path = ["static"]
html_favicon = "static/favicon.svg"
html_css_files = ["katex/katex.min.css", "site.css"]
html_js_files = [("katex/katex.min.js", {"defer": "defer"}), ("site.js", {"defer": "defer"})]
html_theme_options = {"navigation_with_keys": True, "footer_icons": []}
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_use_index = False
html_math_renderer = "katex"


def inline_math(writer, node) -> None:
    writer.body.append(f'<span class="tex">{html.escape(node.astext())}</span>')
    raise SkipNode


def block_math(writer, node) -> None:
    writer.body.append(f'<div class="tex">{html.escape(node.astext())}</div>\n')
    raise SkipNode


def load_lazily(app, pagename, templatename, context, doctree) -> None:
    """Pictures further down are fetched when the reader comes near them."""
    if "body" in context:
        context["body"] = context["body"].replace("<img ", '<img loading="lazy" ')


def setup(app) -> None:
    app.add_html_math_renderer("katex", (inline_math, None), (block_math, None))
    app.connect("html-page-context", load_lazily)
