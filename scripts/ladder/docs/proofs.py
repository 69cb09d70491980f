"""What ./ladder prove has said, as it is recorded."""

from ladder import manifest, proved
from ladder.docs.text import table


def proofs() -> str:
    """How many stages, which not, and what is assumed of which."""
    stages, recorded = manifest.of_one_gpu(), proved.read()
    states = {name: proved.state(name) for name in stages}
    shapes = sum(recorded[name]["shapes"] for name in stages if states[name] == "yes")
    said = (
        f"{[*states.values()].count('yes')} of the {len(stages)} stages that one GPU runs are"
        f" proved, at {shapes} shapes."
    )
    rows = [[f"**{name}**", state] for name, state in states.items() if state != "yes"]
    others = table(["stage", "proved"], rows) + "\n\n" if rows else ""
    labels = {name: stage.label for name, stage in stages.items()}
    of = {assumed: [] for assumed in proved.ASSUMED.values()}
    for name in stages:
        for assumed in proved.special(name):
            of[assumed].append(labels[name])
    rows = [[assumed, ", ".join(names)] for assumed, names in of.items() if names]
    return f"{said}\n\n{others}{table(['assumed of some', 'stages'], rows)}"
