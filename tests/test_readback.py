"""The closed formulas, read back from the pages that print them and held against the code."""

import pytest
import sympy
import torch

import batches
import data
import idfiles
import ledger
import loaders
import packing
import sides
import storage
import windows
from literate import ties
from literate.latex import ReadbackError, read
from literate.readback import FORMULAS, compare
from scoring import Receipt

S, T, W, b, k, n = (sympy.Symbol(name, real=True) for name in "STWbkn")
T_next, b_k = (sympy.Symbol(name, real=True) for name in ("T_k+1", "b_k"))


def printed(name: str) -> str:
    return ties.read().equations[name].latex


def test_the_formulas_that_are_read_back_are_those_that_are_closed():
    assert list(FORMULAS) == [
        "cut",
        "window-count",
        "batches-per-epoch",
        "total-steps",
        "epoch-of-step",
        "batch-of-step",
        "eval-starts",
        "id-bytes",
        "file-bytes",
        "wrap",
        "batch-seed",
        "repeat-share",
        "epoch-seed",
        "mean-context",
        "least-context",
        "passes",
        "expected-documents",
        "fill",
        "least-rows",
        "dropped",
        "counts",
        "may-attend",
        "ledger",
        "mean-cross-entropy",
        "perplexity",
        "bits-per-byte",
    ]


@pytest.mark.parametrize("name", FORMULAS)
def test_the_page_prints_what_the_code_computes(name):
    compare(name, printed(name))


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("cut", "floor", "ceil", r"at .'N': 1, 'rho': 0.1. the page gives 1, the code 0"),
        ("cut", r"(1 - \rho)", r"\rho", "the page gives 0, the code 1"),
        ("cut", r"(1 - \rho)\, N", r"N - \rho", "the page gives -1, the code 0"),
        ("window-count", "ceil", "floor", "'N': 2, 'T': 1, 'k': 2. the page gives 0, the code 1"),
        ("window-count", "(T + 1)", "T", "the page gives 1, the code 0"),
        ("window-count", "(T + 1)", "T + 1", "the page gives 1, the code 0"),
        ("window-count", "1 + ", "2 + ", "the page gives 1, the code 0"),
        ("window-count", r"\max\left(0,", r"\max\left(1,", "the page gives 1, the code 0"),
        ("window-count", r"\frac{N - T}{k}", r"\frac{T - N}{k}", "the page gives -1, the code 1"),
        ("batches-per-epoch", "ceil", "floor", "'W': 1, 'B': 2. the page gives 0, the code 1"),
        ("batches-per-epoch", r"\frac{W}{B}", r"\frac{W + 1}{B}", "the page gives"),
        ("total-steps", r"E \left\lceil", r"\left\lceil E", "the page gives 1, the code 2"),
        ("eval-starts", r"\min", r"\max", "'w': 0, 's': 1, 'N': 3, 'T': 1. the page gives 1"),
        ("eval-starts", "- 1 -", "-", "the page gives 2, the code 1"),
        ("eval-starts", r"w\, s", "w + s", "the page gives"),
        ("id-bytes", r"V \le", "V <", "'V': 65536. the page gives 0, the code 2"),
        ("id-bytes", r"V > 65536", "V > 65535", "'V': 65536. the page gives 6, the code 2"),
        ("file-bytes", r"\cdot N", r"\cdot (N + 1)", "'N': 0, 'id bytes': 2. the page gives 2"),
        ("wrap", "{65536}", "{65535}", "'id': 65535. the page gives -1, the code 65535"),
        ("wrap", "floor", "ceil", "'id': 511. the page gives -65025, the code 511"),
        ("batch-seed", "1000003", "1000030", "the page gives 1000030, the code 1000003"),
        ("batch-seed", r"+ \text{step}", r"- \text{step}", "the page gives -1, the code 1"),
        ("repeat-share", "^{m}", "^{m - 1}", "'W': 2, 'm': 2. the page gives 1/2, the code 0.25"),
        ("repeat-share", "= 1 -", "= 2 -", "the page gives"),
        ("epoch-seed", "+ e", "- e", "the page gives -1, the code 1"),
        ("mean-context", "T + 1", "T", "'T': 1. the page gives 1/2, the code 1.0"),
        ("least-context", "- s + 1", "- s", "the page gives 0, the code 1"),
        ("passes", "N - 1", "N", "'W': 1, 'T': 1, 'N': 2. the page gives 1/2, the code 1.0"),
        ("expected-documents", "D", "(D - 1)", "'D': 1. the page gives 0, the code 0.1"),
        ("fill", "T + 1", "T", "the page gives 1, the code 0.5"),
        ("least-rows", "ceil", "floor", "'tokens': 1, 'T': 1. the page gives 0, the code 1"),
        ("least-rows", "T + 1", "T", "'tokens': 7, 'T': 1. the page gives 7, the code 4"),
        ("dropped", "- ", "+ ", "'read': 1, 'kept': 1. the page gives 2, the code 0"),
        ("counts", r"\ne 0", r"\ge 0", "the page gives 1, the code 0"),
        ("counts", "{t+1}", "t", "needs .'seg_t', 'seg_t.1'., the page has .'seg_t'."),
        ("counts", r"= \text{seg}_{t+1}", r"\ge \text{seg}_{t+1}", "'seg_t': 2, 'seg_t.1': 1"),
        ("may-attend", r"j \le i", "j < i", "'i': 0, 'j': 0, .* the page gives 0, the code 1"),
        ("may-attend", r"\text{seg}_i =", r"\text{seg}_i \ne", "the page gives 0, the code 1"),
        ("ledger", r"+ \text{masked}", r"- \text{masked}", "the page gives -726, the code 726"),
        ("mean-cross-entropy", r"\frac{S}{n}", r"\frac{S + 1}{n}", "the page gives"),
        ("mean-cross-entropy", r"-\ln", r"\ln", "'p_i': .0.5,., 'n': 1. the page gives -log"),
        ("mean-cross-entropy", "i=1", "i=2", "'n': 1. the page gives 0, the code 0.69"),
        ("perplexity", "{H}", "{2 H}", "the page gives"),
        ("bits-per-byte", r"\ln 2", r"\ln 3", "the page gives"),
        ("bits-per-byte", "{b ", "{(b + 1) ", "the page gives"),
    ],
)
def test_a_page_that_changes_alone_disagrees_with_the_code(name, old, new, message):
    changed = printed(name).replace(old, new)
    assert changed != printed(name)
    with pytest.raises(ReadbackError, match=f"^{name}: .*{message}"):
        compare(name, changed)


@pytest.mark.parametrize(
    ("name", "owner", "function", "wrong"),
    [
        # 90 ids at 0.3: binary floats give 62.99…
        ("cut", data, "split_ids", lambda ids, rho: (ids[: int((1 - rho) * len(ids))], None)),
        ("window-count", windows, "count_windows", lambda n, T, k: max(0, 1 + (n - T) // k)),
        ("window-count", windows, "count_windows", lambda n, T, k: 1 + (n - T - 1) // k),
        ("batches-per-epoch", windows, "count_batches", lambda n, size: n // size),
        # 2 epochs of 1 window in batches of 2 are 2 steps, not 1
        ("total-steps", windows, "count_steps", lambda n, size, e: -(-n * e // size)),
        ("eval-starts", windows, "eval_windows", lambda n, T, s: windows.sliding_windows(n, T, s)),
        ("id-bytes", idfiles, "id_dtype", lambda V: "uint16" if V < 65_536 else "uint32"),
        ("file-bytes", idfiles, "file_bytes", lambda n, dtype: 2 * n),
        ("wrap", storage, "wrapped", lambda number: min(number, 65_535)),
        ("batch-seed", batches, "batch_seed", lambda seed, step: seed + step),
        ("repeat-share", batches, "repeat_share", lambda n, m: m / (2 * n)),
        (
            "epoch-seed",
            loaders,
            "epoch_generator",
            lambda seed, e: torch.Generator().manual_seed(e),
        ),
        ("mean-context", windows, "mean_context", lambda table: table["length"].mean()),
        ("least-context", windows, "least_context", lambda seq_len, stride: seq_len - stride),
        ("passes", windows, "count_passes", lambda n_windows, seq_len, n: n_windows * seq_len / n),
        ("expected-documents", sides, "expected_documents", lambda d, rho: (rho * len(d) + 1, 0)),
        ("fill", packing, "fill", lambda stream: packing.count_tokens(stream) / (len(stream) - 1)),
        ("least-rows", packing, "least_rows", lambda tokens, seq_len: tokens // (seq_len + 1)),
        ("dropped", packing, "count_dropped", lambda source, laid: len(source) - len(laid)),
        ("ledger", ledger, "accounted", lambda frame: frame["trained"] + frame["dropped"]),
        ("counts", windows, "counts", lambda x, y, boundaries: x == y),
        ("may-attend", windows, "attention_mask", lambda seg: seg[:, None] == seg),
        ("mean-cross-entropy", Receipt, "nats_per_token", property(lambda r: r.sum_nats)),
        ("perplexity", Receipt, "perplexity", property(lambda r: 2**r.nats_per_token)),
        ("bits-per-byte", Receipt, "bits_per_byte", property(lambda r: r.sum_nats / r.text_bytes)),
    ],
)
def test_code_that_changes_alone_disagrees_with_the_page(name, owner, function, wrong, monkeypatch):
    monkeypatch.setattr(owner, function, wrong)
    with pytest.raises(ReadbackError, match=f"^{name}: at .* the page gives .* the code"):
        compare(name, printed(name))


def test_a_formula_without_its_second_form_is_refused():
    with pytest.raises(ReadbackError, match=r"window-count: needs 'W' and 2 form\(s\) of it"):
        compare("window-count", printed("window-count").rpartition("=")[0])


def test_a_formula_for_another_letter_or_of_other_letters_is_refused():
    with pytest.raises(ReadbackError, match=r"cut: needs 'cut' and 1 .*, got 'C' and 1"):
        compare("cut", r"C = \lfloor (1 - \rho)\, N \rfloor")
    with pytest.raises(ReadbackError, match=r"cut: needs \['N', 'rho'\], the page has \['M', 'rho"):
        compare("cut", r"\text{cut} = \lfloor (1 - \rho)\, M \rfloor")


def test_an_equation_that_stands_beside_another_must_be_expected():
    with pytest.raises(ReadbackError, match=r"cut: 2 equation\(s\) stand beside each other"):
        compare("cut", printed("cut") + r", \qquad N = 3")


@pytest.mark.parametrize(
    ("latex", "value"),
    [
        (r"x = -T + 1", 1 - T),
        (r"x = \min(T,\; W)", sympy.Min(T, W)),
        (r"x = T_{k + 1} - b_k", T_next - b_k),
        (r"x = \sum_{k=1}^{n} T k", sympy.Sum(T * k, (k, 1, n))),
        (r"x = \frac{S}{b \ln 2}", S / (b * sympy.log(2))),
        (r"x = W - (T + 1)", W - T - 1),
        (r"x = W - T - 1", W - T - 1),
        (r"x = 2 T \cdot 3", 6 * T),
        (r"x = \lceil \frac{W}{k} \rceil", sympy.ceiling(W / k)),
        (r"x = \left \lfloor \frac{W}{k} \right \rfloor", sympy.floor(W / k)),
        (r"x = \max(0, T)", sympy.Max(0, T)),
        (r"x = e^{n}", sympy.exp(n)),
        (r"x = 2 T^{n}", 2 * T**n),
        (r"x = \left(T - \frac{1}{W}\right)^{n + 1}", (T - 1 / W) ** (n + 1)),
    ],
)
def test_a_formula_is_read_as_it_is_meant(latex, value):
    assert read(latex)[1] == value


@pytest.mark.parametrize(
    "latex",
    [
        r"x = \sqrt{2}",
        r"x = T^2",
        r"x = T 2",
        r"x = \left\lfloor T \rfloor",
        r"x = \lfloor T \rceil",
        r"x = \max(T)",
        r"x = \lnT",
        r"x = T / k",
        r"x = \frac{T}",
        r"x = (T",
        r"x = T \qquad T > 0",
        r"x = \begin{cases} 1 & \text{otherwise} \\ 2 & \text{if } T > 0 \end{cases}",
        r"x = \begin{cases} 1 & T > 0 \end{cases}",
        r"x = T > 0",
        "T + 1",
        "",
    ],
)
def test_latex_that_is_not_known_is_an_error(latex):
    with pytest.raises(ReadbackError, match="this LaTeX cannot be read back"):
        read(latex)
