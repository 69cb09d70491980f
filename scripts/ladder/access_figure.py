"""What one warp's request costs, as the CPU device recorded it: its 32 lanes, and the 32-byte
sectors of global memory or the banks of shared memory that they touch. ladder.figures.access draws
it."""

LANES = BANKS = 32
WORD, SECTOR = 4, 32  # bytes


def lanes_by_word(line: dict, lanes: range) -> dict[int, list[int]]:
    """Which of the lanes ask for which word."""
    words: dict[int, list[int]] = {}
    for lane in lanes:
        offset = line["sample"][lane]
        if offset >= 0:
            for word in range(offset // WORD, (offset + line["bytes"] - 1) // WORD + 1):
                words.setdefault(word, []).append(lane)
    return words


def sectors(line: dict) -> list[int]:
    per_sector = SECTOR // WORD
    return sorted({word // per_sector for word in lanes_by_word(line, range(LANES))})


def wavefronts(line: dict) -> list[dict[int, list[int]]]:
    """For each wavefront its banks, and the lanes each of them serves. The rule is that of the
    CPU device (cpu_device/cost.cpp): a bank gives one word at a time, to any number of lanes;
    requests of 8 and 16 bytes go in halves and quarters of a warp, of which two merge when lanes l
    and l^1, or l and l^2, ask for the same."""
    sample, parts = line["sample"], {16: 4, 8: 2}.get(line["bytes"], 1)

    def paired(distance: int) -> bool:
        both = ((sample[lane], sample[lane ^ distance]) for lane in range(LANES))
        return all(a == b for a, b in both if a >= 0 and b >= 0)

    if parts > 1 and (paired(1) or paired(2)):
        parts //= 2
    result = []
    for first in range(0, LANES, LANES // parts):
        by_bank: dict[int, list[list[int]]] = {}
        served = range(first, first + LANES // parts)
        for word, lanes in lanes_by_word(line, served).items():
            by_bank.setdefault(word % BANKS, []).append(lanes)
        for turn in range(max((len(words) for words in by_bank.values()), default=0)):
            turns = {bank: words[turn] for bank, words in by_bank.items() if turn < len(words)}
            result.append(turns)
    return result


def cost(line: dict) -> tuple[int, str]:
    """What the request takes, as a number and its unit."""
    if line["space"] == "global":
        return len(sectors(line)), "sector"
    return len(wavefronts(line)), "wavefront"


def words(line: dict) -> str:
    count, unit = cost(line)
    return f"{count} {unit}{'s' if count != 1 else ''}"


def array_name(line: dict) -> str:
    return "shared memory" if line["array"] == "dynamic" else line["array"]
