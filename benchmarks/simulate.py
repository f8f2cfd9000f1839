"""What a simulation costs: events per CPU second, for fleets of several sizes.

The fleets are the shipped one (examples/fleet-sim) with a share of its agents within the same share of the
time, so that the load stays. An event is a start or an end of an attempt. Times are CPU times of this
process, medians of the rounds, sizes interleaved.

    python benchmarks/simulate.py [ROUNDS]
"""

import statistics
import sys
import time
from pathlib import Path

from dsec.core.simulated import Scene
from dsec.core.simulation import simulate
from dsec_cli.commands.outlook import outlook
from dsec_cli.simulation.faults import faults_of
from dsec_cli.simulation.scenes import of_fleet

FLEET = Path(__file__).resolve().parents[1] / "examples/fleet-sim/fleet.yaml"
SHARES = (10, 4, 2, 1)


def part_of(fleet, share):
    """One agent of `share`, coming as densely."""
    agents = tuple(
        one._replace(many=one.many // share, arrival=one.arrival._replace(ms=one.arrival.ms // share))
        for one in fleet.agents
    )
    return fleet._replace(agents=agents)


def scene_of(fleet, share):
    """The scene with the fleet's fault."""
    some = part_of(fleet, share)
    scene = of_fleet(some)
    return scene._replace(faults=faults_of(some.faults, scene.work, some.machines))


def measured(scene: Scene):
    """Events, and CPU seconds for them."""
    before = time.process_time()
    history = simulate(scene)
    return 2 * len(history.pieces), time.process_time() - before


def main():
    """Measure and print the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    fleet = outlook(str(FLEET), None)
    scenes = {share: scene_of(fleet, share) for share in SHARES}
    taken = {share: [] for share in SHARES}
    events = {}
    for _ in range(rounds):
        for share, scene in scenes.items():
            events[share], seconds = measured(scene)
            taken[share].append(seconds)
    print(f"{'agents':>8} {'events':>8} {'CPU s':>7} {'events per CPU s':>17}")
    for share in SHARES:
        seconds = statistics.median(taken[share])
        print(f"{2000 // share:>8} {events[share]:>8} {seconds:>7.2f} {events[share] / seconds:>17.0f}")


if __name__ == "__main__":
    main()
