"""What the model predicts beside what was measured."""

from ladder.docs.text import table


def model(*variant: str) -> str:
    """Of a variant, or the errors of all."""
    from ladder import model as predictions  # which asks for the CPU device's reports

    if not variant:
        return table(*predictions.errors())
    rows = [[*row] for row in predictions.page_rows(*variant)]
    return table(["4096^3", "predicted", "measured", "why different"], rows)
