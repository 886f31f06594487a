# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What every HTML page of the evidence is: one file that needs no network and no other file.

Whatever comes from a record may be hostile. Text is escaped, and the page forbids every style and
script but its own, by hash, and everything that is not in it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
import hashlib
import html
from importlib.resources import files


def page(title: str, style: str, body: Iterable[str], script: str = '') -> Iterator[str]:
    """
    Yield a page, piece by piece.

    Parameters
    ----------
    title
        Plain text.
    style, script
        What the page adds to the style of all pages, and the only script that will work there.
    body
        Markup; what is text in it went through :func:`text`.

    """
    style = (files(__package__) / 'web_page.css').read_text(encoding='utf-8') + style
    allowed = f"script-src '{_hash(script)}'; " if script else ''
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; {allowed}"
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f'<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n'
    )
    yield from body
    yield f'<script>{script}</script>\n' if script else ''
    yield '</body>\n</html>\n'


def text(value: object) -> str:
    """Return text that can stand in markup and in its attributes."""
    return html.escape(str(value))


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode('utf-8')).digest()
    return f'sha256-{base64.b64encode(digest).decode("ascii")}'
