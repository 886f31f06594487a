"""A game for two as a plugin: turns, legal moves, pictures, events, and a game to go on with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boundary_env_ros.core.vectors import Vector
from boundary_env_ros.errors import InvalidAction
from boundary_env_ros.facade.multi_agent import env
from boundary_env_ros.simulation.plugin import (
    Affordance,
    Baseline,
    EnvironmentPlugin,
    PluginSpace,
    Update,
)
from boundary_env_ros.simulation.plugin_robot import PluginRobot
from boundary_env_ros.storage.contract_file import load

CONTRACT = Path(__file__).with_name('tic_tac_toe.yaml')
SQUARES = ('a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2', 'c3')
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
MARK = {'x': 1, 'o': -1}


class TicTacToe(EnvironmentPlugin):
    """The board; nobody but the agents plays on it."""

    def start(
        self, seed: int, target: Mapping[str, Vector], options: Mapping[str, Any]
    ) -> Baseline:
        """Clear the board, or take up a game where it was left."""
        self.board: list[int] = list(options.get('state', {}).get('board', [0] * 9))
        return Baseline(
            sensors=tuple(
                PluginSpace(name=f'{agent}/board', values=SQUARES, low=(-1,) * 9, high=(1,) * 9)
                for agent in MARK
            ),
            actuators=tuple(
                PluginSpace(name=f'{agent}/move', values=('square',), low=(-1,), high=(8,))
                for agent in MARK
            ),
            readings=self.readings(),
            time_step=1.0,
            rewards=('x/won', 'o/won'),
            info={agent: {'free': self.free()} for agent in MARK},
            static_model={'squares': SQUARES, 'lines': LINES},
        )

    def update(self, setpoints: Mapping[str, Vector], seconds: float) -> Update:
        """Make the move of whose turn it is."""
        agent = self.turn()
        square = int(setpoints[f'{agent}/move'][0])
        if square >= 0 and not self.board[square]:
            self.board[square] = MARK[agent]
            self.push('moved', {'square': SQUARES[square]}, reason=f'{agent} moved')
        won = any(all(self.board[i] == MARK[agent] for i in line) for line in LINES)
        other = 'o' if agent == 'x' else 'x'
        return Update(
            readings=self.readings(),
            rewards={f'{agent}/won': 1.0, f'{other}/won': -1.0} if won else {},
            done=won or not self.free(),
            success=[agent] if won else [],
            info={each: {'free': self.free()} for each in MARK},
        )

    def check(self, agent: str, setpoints: Mapping[str, Vector]) -> str:
        """Return why a move is against the rules."""
        square = int(setpoints[f'{agent}/move'][0])
        if agent != self.turn():
            return f'it is the turn of {self.turn()}'
        return f'{SQUARES[square]} is taken' if self.board[square] else ''

    def affordances(self, agent: str) -> Sequence[Affordance]:
        """Return every square, and whether it is free."""
        return [
            Affordance(
                name=f'play {name}',
                available=not self.board[i] and agent == self.turn(),
                reason='it is taken'
                if self.board[i]
                else f'it is free, and the turn of {self.turn()}',
                parameters={'action': i},
            )
            for i, name in enumerate(SQUARES)
        ]

    def plan(self, agent: str, query: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the square that wins at once, if there is one."""
        for line in LINES:
            marks = [self.board[i] for i in line]
            if sum(marks) == 2 * MARK[agent] and 0 in marks:
                return {'action': line[marks.index(0)]}
        return {}

    def render(self, agent: str, mode: str) -> np.ndarray | str:
        """Draw the board, a square a pixel, or write it."""
        board = np.array(self.board).reshape(3, 3)
        if mode == 'ansi':
            return '\n'.join(''.join('o.x'[mark + 1] for mark in row) for row in board)
        colours = np.array([[200, 0, 0], [255, 255, 255], [0, 0, 200]], np.uint8)
        return colours[board + 1]

    def save(self) -> Mapping[str, Any]:
        """Return what a later game goes on from."""
        return {'board': self.board}

    def turn(self) -> str:
        """Return whose turn it is."""
        return 'x' if sum(self.board) == 0 else 'o'

    def free(self) -> list[str]:
        """Return the squares that are free."""
        return [name for name, mark in zip(SQUARES, self.board, strict=True) if not mark]

    def readings(self) -> dict[str, Vector]:
        """Return what the players see."""
        return {f'{agent}/board': tuple(map(float, self.board)) for agent in MARK}


def main() -> None:
    """Play a game behind contract, gates and record."""
    robot = PluginRobot(load(CONTRACT).contract, plugin=TicTacToe)
    game = env(CONTRACT, world='embedded', robot=robot)
    game.reset(seed=1)
    for square in (4, 4, 0, 1, 3, 7):
        try:
            game.step(square)
        except InvalidAction as error:
            print(error)
    print(*(game.infos[agent]['ending'] for agent in 'ox'), sep='\n')
    game.close()


if __name__ == '__main__':
    main()
