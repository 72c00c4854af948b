"""The figure of the page about many devices: whose each row of a batch is."""

from literate.figures import _box, _svg, _text
from ranks import Group

FULL, SHORT = 8, 3
PITCH, LEFT = 34, 118
INKS = ("i", "o", "", "n")


def shares() -> str:
    """A full batch and a short one, shared out among one, two and four processes."""
    y, parts, told = 0, [], []
    for rows, name in ((FULL, "a full batch"), (SHORT, "the last batch of an epoch")):
        parts.append(_text(0, y + 14, f"{name}: {rows} rows", "b"))
        y += 24
        for world_size in (1, 2, 4):
            word = "process" if world_size == 1 else "processes"
            parts.append(_text(0, y + 17, f"{world_size} {word}", "s"))
            for rank in range(world_size):
                own = Group(rank, world_size).share(range(rows))
                told.append(f"{rows} rows, {world_size} {word}, rank {rank}: {list(own)}")
                for row in own:
                    parts += [
                        _box(LEFT + PITCH * row, y, PITCH - 3, 24, INKS[rank]),
                        _text(LEFT + PITCH * (row + 0.5) - 1.5, y + 17, rank, "c"),
                    ]
            y += 30
        y += 12
    return _svg("shares", y, "Whose each row of a batch is", ". ".join(told) + ".", parts)
