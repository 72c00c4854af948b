"""What the page on exercises claims."""

import pytest

PAGE = "exercises.md"
GIVEN: list[str] = []
CLAIMS = [
    ("gives the exit status 4", lambda: int(pytest.ExitCode.USAGE_ERROR), 4),
    (  # test_windows_of_a_million_ids_take_no_memory, for both frames
        "copies every window then takes a gigabyte",
        lambda: round(2 * 1_000_000 * 64 * 8 / 1e9),
        1,
    ),
]
