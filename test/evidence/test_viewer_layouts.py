# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The layouts for Foxglove and PlotJuggler name topics and fields that a recorder writes."""

from __future__ import annotations

from collections.abc import Iterator
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from boundary_env_ros.core.contract.model import Contract
from boundary_env_ros.core.sources.inputs import sensor_topics
from boundary_env_ros.resources import share_file
from support.storage_wire import typestore

#: As `ros/recorded_topics.py` records them; a bag of the tests has them too.
OWN = {
    'transition': 'Transition',
    'gate_decision': 'GateDecision',
    'gate_status': 'GateStatus',
    'episode_status': 'EpisodeStatus',
}
PANELS = {'Plot', 'StateTransitions', 'Image', 'RawMessages'}
_ELEMENT = re.compile(r'(\w+)((?:\[[\d:]+\])?)((?:\{\w+==.+?\})?)')


@pytest.fixture(scope='module')
def topics(contract: Contract) -> dict[str, str]:
    """Return the type of each topic that a bag of the warehouse cart has."""
    found = {f'/{name}': kind for name, kind in sensor_topics(contract).items()}
    found.update({f'/{group.topic}': group.type for group in contract.action})
    found.update({f'/boundary/{n}': f'boundary_env_ros/msg/{kind}' for n, kind in OWN.items()})
    return found


@pytest.fixture(scope='module')
def foxglove() -> dict[str, Any]:
    layout: dict[str, Any] = json.loads(share_file('config/foxglove_layout.json').read_text())
    return layout


@pytest.fixture(scope='module')
def plotjuggler() -> ET.Element:
    return ET.fromstring(share_file('config/plotjuggler_layout.xml').read_bytes())


def leads_somewhere(kind: str, path: list[str]) -> bool:
    """Return whether a path of fields, with indices, leads through a type to its end."""
    for part in path:
        match = _ELEMENT.fullmatch(part)
        if match is None:
            return False
        fields = dict(typestore().get_msgdef(kind).fields)
        if match[1] not in fields:
            return False
        node, detail = fields[match[1]]
        is_list = int(node) in (3, 4)
        if bool(match[2]) != is_list:
            return False
        if is_list:
            node, detail = detail[0]
        kind = detail if isinstance(detail, str) else detail[0]
    return True


# Foxglove ----------------------------------------------------------------------------------------


def message_paths(value: Any) -> Iterator[str]:
    """Yield every message path of a layout; the Image panel names a topic alone."""
    if isinstance(value, list):
        for item in value:
            yield from message_paths(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ('value', 'topicPath', 'imageTopic') and isinstance(item, str):
                yield item
            else:
                yield from message_paths(item)


def panels_of(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
        return
    assert node.keys() == {'first', 'second', 'direction', 'splitPercentage'}
    assert node['direction'] in ('row', 'column')
    assert 0 < node['splitPercentage'] < 100
    yield from panels_of(node['first'])
    yield from panels_of(node['second'])


def test_every_path_of_the_foxglove_layout_is_recorded(
    foxglove: dict[str, Any], topics: dict[str, str]
) -> None:
    paths = list(message_paths(foxglove['configById']))
    assert len(paths) > 20
    for path in paths:
        topic, *fields = re.split(r'\.(?![^{]*\})', path)
        assert topic in topics, path
        assert leads_somewhere(topics[topic], fields), path


def test_foxglove_layout_filters_by_fields_of_the_contract(
    foxglove: dict[str, Any], contract: Contract
) -> None:
    named = set(re.findall(r'name=="(\w+)"', json.dumps(foxglove).replace('\\"', '"')))
    assert named
    assert named <= {spec.name for spec in contract.observation}


def test_foxglove_layout_shows_each_of_its_panels_once(foxglove: dict[str, Any]) -> None:
    assert foxglove.keys() >= {
        'configById', 'globalVariables', 'userNodes', 'playbackConfig', 'layout',
    }  # fmt: skip
    shown = list(panels_of(foxglove['layout']))
    assert sorted(shown) == sorted(foxglove['configById'])
    assert {panel.split('!')[0] for panel in shown} == PANELS


def test_action_is_shown_in_all_its_dimensions_and_stages(
    foxglove: dict[str, Any], plotjuggler: ET.Element, contract: Contract
) -> None:
    curves = {curve.attrib['name'] for curve in plotjuggler.iter('curve')}
    paths = set(message_paths(foxglove))
    for i in range(contract.command_size):
        for stage in ('requested', 'admitted', 'commanded', 'measured'):
            assert f'/boundary/transition.{stage}_action[{i}]' in paths
            assert f'/boundary/transition/{stage}_action[{i}]' in curves


# PlotJuggler -------------------------------------------------------------------------------------


def test_every_curve_of_the_plotjuggler_layout_is_recorded(
    plotjuggler: ET.Element, topics: dict[str, str]
) -> None:
    curves = [curve.attrib['name'] for curve in plotjuggler.iter('curve')]
    assert len(curves) > 20
    for name in curves:
        topic = next(t for t in sorted(topics, key=len, reverse=True) if name.startswith(f'{t}/'))
        assert leads_somewhere(topics[topic], name[len(topic) + 1 :].split('/')), name


def test_plotjuggler_layout_has_the_form_that_its_loader_walks(
    plotjuggler: ET.Element,
) -> None:
    assert plotjuggler.tag == 'root'
    (window,) = plotjuggler.findall('tabbed_widget')
    assert window.attrib == {'name': 'Main Window', 'parent': 'main_window'}
    tabs = window.findall('Tab')
    assert tabs
    for tab in tabs:
        assert [child.tag for child in tab] == ['Container']
        assert [child.tag for child in tab[0]] == ['DockSplitter']
    for splitter in plotjuggler.iter('DockSplitter'):
        assert splitter.attrib['orientation'] in ('-', '|')
        assert int(splitter.attrib['count']) == len(splitter)
        sizes = [float(size) for size in splitter.attrib['sizes'].split(';')]
        assert len(sizes) == len(splitter)
        assert {child.tag for child in splitter} <= {'DockArea', 'DockSplitter'}
    for area in plotjuggler.iter('DockArea'):
        (plot,) = area
        assert plot.attrib['mode'] == 'TimeSeries'
        assert plot.attrib['style'] in ('Lines', 'Steps')
