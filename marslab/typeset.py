"""Plain text as HTML, with its formulas set: powers, indices, Greek letters."""

import html
import re

__all__ = ["paragraphs", "text", "typeset"]

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "eps": "ε", "epsilon": "ε", "eta": "η", "kappa": "κ", "lambda": "λ",
    "mu": "μ", "nu": "ν", "xi": "ξ", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "Delta": "Δ", "Sigma": "Σ", "grad": "∇",
    "Phi": "Φ", "Psi": "Ψ", "Theta": "Θ",
}  # fmt: skip
# a word by itself, or before one index: gamma, eta_t, beta1, but not gamma_star
GREEK_WORD = re.compile(rf"(?<![\w.])(?<!\w-)({'|'.join(GREEK)})(?=_\w(?!\w)|_\{{|[12](?!\w)|[^\w/.-]|[.-](?!\w)|/|$)")
# x_t, x_{t+1}, beta1
INDEX_OF = re.compile(r"(?<=[\w;)|])_(?:\{([^{}]*)\}|(\w)(?!\w))|(?<=[α-ω])([12])(?!\w)")
POWER = re.compile(r"\^(?:\(([^()]*)\)|\{([^{}]*)\}|(-?\w+))")
SIGNS = {"&lt;=": "≤", "&gt;=": "≥", "∇ F": "∇F", "-&gt;": "→", " - ": " − "}


def text(value: object) -> str:
    """Escaped text."""
    return html.escape(str(value))


def typeset(value: object) -> str:
    """Escaped text as a formula would be set: powers raised, indices lowered, Greek letters and signs by themselves."""
    words = GREEK_WORD.sub(lambda found: GREEK[found[1]], text(value))
    lowered = INDEX_OF.sub(r"<sub>\1\2\3</sub>", words)
    raised = POWER.sub(lambda found: f"<sup>{found[1] or found[2] or found[3]}</sup>", lowered)
    for written, sign in SIGNS.items():
        raised = raised.replace(written, sign)
    return re.sub(r"(<su[bp]>)-", r"\1−", raised)


def paragraphs(value: str) -> str:
    """Typeset text: lines of a paragraph run on, indented ones (formulas) stand by themselves."""
    blocks = re.split(r"\n\s*\n", value)
    return "".join(formula(block) if block.startswith((" ", "\t")) else f"<p>{typeset(joined(block))}</p>" for block in blocks)


def formula(block: str) -> str:
    """Indented lines, each on its own."""
    return "<p class='formula'>" + "<br>".join(typeset(line.strip()) for line in block.split("\n")) + "</p>"


def joined(block: str) -> str:
    """A paragraph's lines in one, but for those of a list."""
    return re.sub(r"\s*\n\s*(?![*\d-]+[.)]? )", " ", block)
