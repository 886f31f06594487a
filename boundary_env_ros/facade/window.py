# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A window on the screen, with pygame as in Gymnasium's own environments."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from boundary_env_ros.errors import BoundaryError, MissingDependency

#: A smaller picture is enlarged, by a whole number, until it is as wide as this; pixels.
_WIDTH = 480


class Window:
    """
    A window that shows one picture after the other.

    pygame has one window in a process, so a second one is refused until the first is closed.

    Parameters
    ----------
    title
        What stands above it.
    rate
        Pictures a second at most: :meth:`show` waits for the next one's turn. None: it never
        waits.

    Raises
    ------
    MissingDependency
        If pygame is not installed.
    BoundaryError
        If there is a window of this process already, or no screen.

    """

    _open: ClassVar[Window | None] = None

    def __init__(self, title: str, rate: float | None) -> None:
        try:
            import pygame
        except ImportError as error:
            raise MissingDependency(
                f'A window needs pygame: {error}. Install it with `pip install Pillow pygame`.'
            ) from error
        if Window._open is not None:
            raise BoundaryError(
                "Another environment of this process has a window (render_mode='human'). "
                "Close that one, or use 'rgb_array'."
            )
        self._pygame: Any = pygame
        self._rate = rate
        self._clock = pygame.time.Clock()
        self._screen: Any = None
        try:
            pygame.display.init()
        except pygame.error as error:
            raise BoundaryError(
                f"render_mode='human' needs a screen: {error}. Use 'rgb_array', or "
                'set SDL_VIDEODRIVER=dummy.'
            ) from error
        pygame.display.set_caption(title)
        Window._open = self

    def show(self, picture: npt.NDArray[np.uint8]) -> None:
        """Show a picture, shape (height, width, 3), RGB."""
        pygame = self._pygame
        height, width = picture.shape[:2]
        times = max(1, -(-_WIDTH // width))
        size = (width * times, height * times)
        if self._screen is None or self._screen.get_size() != size:
            self._screen = pygame.display.set_mode(size)
        surface = pygame.surfarray.make_surface(np.swapaxes(picture, 0, 1))
        self._screen.blit(pygame.transform.scale(surface, size), (0, 0))
        # Else the system takes the window for one that hangs.
        pygame.event.pump()
        pygame.display.flip()
        if self._rate is not None:
            self._clock.tick(self._rate)

    def close(self) -> None:
        """Close the window; may be called again."""
        if Window._open is self:
            Window._open = None
            self._pygame.display.quit()
