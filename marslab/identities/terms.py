"""Terms: sympy expressions that pass through every rule, also where sympy cannot look inside.

Sums, products, quotients and whole powers are sympy's. Everything else (a sign, a root, a norm, a matrix product, a
comparison with a bound) becomes an unknown function of its arguments, which are reduced first: equal arguments give the
same symbol, and nothing else is assumed. What is zero so is zero for every sign, norm or orthogonalisation whatever.
"""

import sympy

from marslab.symbolic import exactly

__all__ = ["Book", "Term"]


class Book(dict):
    """The unknown values met so far: (function, arguments) -> symbol."""

    def term(self, value) -> "Term":
        """A number, a name or an expression as a term."""
        return Term(sympy.Symbol(value) if isinstance(value, str) else sympy.sympify(exactly(value)), self)

    def unknown(self, function: str, *arguments) -> "Term":
        """The value of a function that nobody looks into."""
        key = (function, *(sympy.cancel(plain(a)) if isinstance(a, Term | float) else a for a in arguments))
        return Term(self.setdefault(key, sympy.Symbol(f"{function}_{len(self) + 1}")), self)


class Term:
    """A sympy expression with the methods of a tensor that rules use; it says to be a matrix of 25 rows and 4 columns."""

    shape, ndim, dtype = (25, 4), 2, None

    def __init__(self, value: sympy.Expr, book: Book):
        self.value, self.book = value, book

    def __repr__(self):
        return sympy.sstr(self.value)

    def __add__(self, other):
        return Term(self.value + plain(other), self.book)

    def __mul__(self, other):
        return Term(self.value * plain(other), self.book)

    def __sub__(self, other):
        return self + -1 * other

    def __rsub__(self, other):
        return -1 * self + other

    def __neg__(self):
        return -1 * self

    def __truediv__(self, other):
        return Term(self.value / plain(other), self.book)

    def __rtruediv__(self, other):
        return Term(plain(other) / self.value, self.book)

    __radd__, __rmul__ = __add__, __mul__

    def __pow__(self, power):
        if isinstance(power, int):
            return Term(self.value**power, self.book)
        return self.book.unknown("power", self, power)

    def __rpow__(self, base):
        return self.book.unknown("power", base, self)

    def __matmul__(self, other):
        return self.book.unknown("product", self, other)

    @property
    def mT(self):
        """The transpose, an unknown function."""
        return self.book.unknown("transpose", self)

    def sign(self):
        """The sign, an unknown function."""
        return self.book.unknown("sign", self)

    def sqrt(self):
        """The root, an unknown function."""
        return self.book.unknown("sqrt", self)

    def exp(self):
        """The exponential, an unknown function."""
        return self.book.unknown("exp", self)

    def log(self):
        """The logarithm, an unknown function."""
        return self.book.unknown("log", self)

    def clamp(self, min=None, max=None):
        """A bound, an unknown function of the term and the bounds."""
        return self.book.unknown("clamp", self, min, max)

    def reciprocal(self):
        """One over the term."""
        return 1 / self

    def movedim(self, source, target):
        """The term itself: a matrix without lanes."""
        return self

    def reshape(self, *shape):
        """The term itself: a matrix without lanes."""
        return self

    def to(self, *_):
        """The term itself: it has no type."""
        return self

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        book = next(a.book for a in (*args, *kwargs.values()) if isinstance(a, Term))
        named = [part for name in sorted(kwargs) for part in (name, kwargs[name])]
        return book.unknown(function.__name__, *args, *named)


def plain(value):
    """The expression of a term, or a number as its digits say."""
    return value.value if isinstance(value, Term) else sympy.sympify(exactly(value))
