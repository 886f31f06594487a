# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How `make docs` builds the site."""

project = 'boundary_env_ros'
copyright = 'The boundary_env_ros developers, Apache-2.0'  # noqa: A001
extensions = ['myst_parser']
root_doc = 'README'
html_theme = 'furo'
html_title = 'boundary_env_ros'
# Anchors as GitHub makes them, so that a link works in both places.
myst_heading_anchors = 4
# Words after a language that Pygments does not know are shown as they are.
highlight_language = 'none'
