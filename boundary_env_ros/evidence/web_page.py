# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What every HTML page of the evidence is: one file that needs no network and no other file.

Whatever comes from a record may be hostile. Text is escaped, and the page forbids every style and
script but its own, by hash, and everything that is not in it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_FOLDER = Path(__file__).parent


def page(
    folder: str, title: str, functions: Mapping[str, Callable[..., object]], **values: object
) -> Iterator[str]:
    """
    Yield a page, piece by piece.

    Parameters
    ----------
    folder
        Where its ``page.html`` is, with the ``page.css`` that it adds to the style of all pages,
        and maybe ``page.js``, the only script that will work there.
    title
        Plain text.
    functions
        Filters of its template.
    values
        What its template shows. Text is escaped, and so is what is embedded as JSON.

    """
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(functions)
    environment.policies['json.dumps_kwargs'] = {'allow_nan': False, 'separators': (',', ':')}
    style = _text('web_page.css') + _text(f'{folder}/page.css')
    script = _text(f'{folder}/page.js') if (_FOLDER / folder / 'page.js').is_file() else ''
    allowed = f"script-src '{_hash(script)}'; " if script else ''
    yield from environment.get_template(f'{folder}/page.html').generate(
        title=title,
        style=style,
        script=script,
        policy=f"default-src 'none'; style-src '{_hash(style)}'; {allowed}"
        "img-src data:; base-uri 'none'; form-action 'none'",
        **values,
    )


def _text(name: str) -> str:
    return (_FOLDER / name).read_text(encoding='utf-8')


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode('utf-8')).digest()
    return f'sha256-{base64.b64encode(digest).decode("ascii")}'
