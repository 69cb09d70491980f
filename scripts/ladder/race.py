"""Times of what PyTorch enqueues, as schedule.h and timer.cpp of the harness have them."""

import math
import time
from collections.abc import Callable

import torch

MIN_SAMPLES, MAX_SAMPLES = 20, 5000
USUAL_MS, LONGEST_MS = 500.0, 5000.0
BURST_MS, REST_S = 10.0, 0.01
WARMUP_S = 0.1
TURN_MS, MOST_LAUNCHES = 1.0, 1000  # of a graph, if there are no more operands


def rounds_of(round_ms: float, usual_ms: float) -> int:
    usual = min(max(usual_ms / round_ms, MIN_SAMPLES), MAX_SAMPLES)
    return int(min(max(usual, 1.0), max(1.0, LONGEST_MS / round_ms)))


def rounds_per_burst(round_ms: float) -> int:
    """0: each turn has its own rest."""
    return int(BURST_MS / max(round_ms, 1e-6))


class Turn:
    """Launches on one set of operands after another, as one graph."""

    def __init__(self, launches: list[Callable]):
        for launch in launches:
            launch()
        once = Events()
        once.around(launches[0])
        torch.cuda.synchronize()
        enough = math.ceil(TURN_MS / max(once.ms(), 1e-3))
        self.count = max(len(launches), min(enough, MOST_LAUNCHES))
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for i in range(self.count):
                launches[i % len(launches)]()


class Events:
    def __init__(self):
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def around(self, function: Callable) -> None:
        self.start.record()
        function()
        self.stop.record()

    def ms(self) -> float:
        return self.start.elapsed_time(self.stop)


def race(
    contenders: dict[str, list[Callable]], usual_ms: float = USUAL_MS, warmup_s: float = WARMUP_S
) -> dict[str, list[float]]:
    """ms a launch, of each turn. Of each contender: its launches, one a set of operands."""
    turns = {name: Turn(launches) for name, launches in contenders.items()}
    forwards = list(turns)
    begin, round_ms, number = time.monotonic(), 0.0, 0
    while number < 2 or time.monotonic() - begin < warmup_s:
        events = {name: Events() for name in turns}
        for name in forwards[:: -1 if number % 2 else 1]:
            events[name].around(turns[name].graph.replay)
        torch.cuda.synchronize()
        round_ms = sum(pair.ms() for pair in events.values())
        number += 1

    rounds, per_burst = rounds_of(round_ms, usual_ms), rounds_per_burst(round_ms)
    samples: dict[str, list[Events]] = {name: [] for name in turns}
    for number in range(rounds):
        order = forwards[:: -1 if number % 2 else 1]
        if per_burst and number % per_burst == 0:
            turns[order[-1]].graph.replay()  # into an idle stream: not timed
        for name in order:
            if not per_burst:
                time.sleep(REST_S)
            samples[name].append(Events())
            samples[name][-1].around(turns[name].graph.replay)
            if not per_burst:
                torch.cuda.synchronize()
        if per_burst and (number + 1) % per_burst == 0:
            torch.cuda.synchronize()
            time.sleep(REST_S)
    torch.cuda.synchronize()
    return {
        name: [pair.ms() / turns[name].count for pair in pairs] for name, pairs in samples.items()
    }
