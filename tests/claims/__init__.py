"""What a page claims: a module a page, named like it, with `PAGE`, `GIVEN` and `CLAIMS`.

`GIVEN` are the words of tasks and tables whose numbers are hand-picked. A claim is the words as
they stand on the page, a function that computes their number, and the number.
"""
