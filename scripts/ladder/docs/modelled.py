"""What the model predicts beside what was measured."""

from ladder.docs.text import number, table


def model(*variant: str) -> str:
    """Of a variant, or one of the model's tables, or the errors of all."""
    from ladder import model as predictions  # which asks for the CPU device's reports

    if not variant:
        return error_table(predictions.errors())
    if variant[0] in predictions.TABLES:
        return table(*predictions.TABLES[variant[0]]())
    rows = [[*row] for row in predictions.page_rows(*variant)]
    return table(["4096^3", "predicted", "measured", "why different"], rows)


def error_table(errors: list) -> str:
    """Of ladder.model.Error, a row a variant; its times are seconds."""
    rows: dict[str, dict[int, list[str]]] = {}
    for error in errors:
        ms = (number(1e3 * seconds) for seconds in (error.predicted, error.measured))
        note = " calibration" if error.calibrated else " missed" if error.missed else ""
        cells = [*ms, f"{100 * error.relative:+.1f}{note}"]
        rows.setdefault(error.variant, {})[error.size] = cells
    sizes = sorted({error.size for error in errors})
    head = [
        f"{size}: {what}" for size in sizes for what in ("predicted, ms", "measured", "error, %")
    ]
    filled = [
        [f"`{name}`", *(cell for size in sizes for cell in cells.get(size, [""] * 3))]
        for name, cells in rows.items()
    ]
    return table(["variant", *head], filled)
