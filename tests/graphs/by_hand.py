"""The workloads' DAGs a second time: dicts and loops over single entries, from the mathematics.

Slow on purpose, and without a line of the package under test.
"""

from itertools import product


class ByHand:
    """Vertices by name: an operation and the names of its operands, in slot order."""

    def __init__(self, tree=False):
        self.vertices = {}
        self.second_names = {}
        self.outputs = []
        self.tree = tree

    def real(self, name):
        while name in self.second_names:
            name = self.second_names[name]
        return name

    def given(self, tensor, *shape):
        for index in product(*map(range, shape)):
            self.vertices[at(tensor, *index)] = ("input", ())

    def make(self, name, operation, *operands):
        assert name not in self.vertices
        # Predecessors are a set: x * x has one.
        self.vertices[name] = (operation, tuple(dict.fromkeys(map(self.real, operands))))

    def sum(self, tensor, index, terms, operation="add"):
        """A sum of named terms: a chain, or neighbours paired level by level."""
        name = at(tensor, *index)
        if len(terms) == 1:
            self.second_names[name] = terms[0]
            return
        made, total = 0, len(terms)

        def add(left, right):
            nonlocal made
            made += 1
            last = made == total - 1
            node = name if last else at(f"{tensor}.sum", *index, made)
            self.make(node, operation, left, right)
            return node

        if not self.tree:
            so_far = terms[0]
            for term in terms[1:]:
                so_far = add(so_far, term)
            return
        while len(terms) > 1:
            pairs = [terms[x : x + 2] for x in range(0, len(terms), 2)]
            terms = [add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]

    def contract(self, tensor, shape, size, factors):
        """The entries sum_t x_t y_t; ``factors(*index, t)`` names x_t and y_t."""
        for index in product(*map(range, shape)):
            terms = []
            for t in range(size):
                terms.append(at(f"{tensor}.prod", *index, t))
                self.make(terms[-1], "mul", *factors(*index, t))
            self.sum(tensor, index, terms)

    def each(self, tensor, shape, operation, operands):
        for index in product(*map(range, shape)):
            self.make(at(tensor, *index), operation, *operands(*index))

    def wants(self, tensor, *shape):
        self.outputs += [self.real(at(tensor, *x)) for x in product(*map(range, shape))]


def at(tensor, *index):
    return f"{tensor}[{','.join(map(str, index))}]"


def matmul(m, n, k, **options):
    g = ByHand(**options)
    g.given("A", m, k)
    g.given("B", k, n)
    g.contract("C", (m, n), k, lambda i, j, t: (at("A", i, t), at("B", t, j)))
    g.wants("C", m, n)
    return g


def bilinear(n, d, **options):
    g = ByHand(**options)
    _bilinear(g, n, d)
    g.wants("S", n, n)
    return g


def _bilinear(g, n, d):
    g.given("A1", n, d)
    g.given("X", d, d)
    g.given("A2", n, d)
    g.contract("T", (n, d), d, lambda i, m, t: (at("A1", i, t), at("X", t, m)))
    g.contract("S", (n, n), d, lambda i, j, t: (at("T", i, t), at("A2", j, t)))


def _softmax(g, n, scores="S"):
    g.each("A", (n, n), "exp", lambda i, j: [at(scores, i, j)])
    for i in range(n):
        g.sum("l", (i,), [at("A", i, j) for j in range(n)])


def _forward(g, n, d, softmax):
    for name in "QKV":
        g.given(name, n, d)
    g.contract("S", (n, n), d, lambda i, j, t: (at("Q", i, t), at("K", j, t)))
    if softmax == "safe":
        for i in range(n):
            g.sum("m", (i,), [at("S", i, j) for j in range(n)], "max")
        g.each("Sm", (n, n), "sub", lambda i, j: (at("S", i, j), at("m", i)))
    _softmax(g, n, "Sm" if softmax == "safe" else "S")
    if softmax == "early":
        g.each("P", (n, n), "div", lambda i, j: (at("A", i, j), at("l", i)))
        g.contract("O", (n, d), n, lambda i, k, j: (at("P", i, j), at("V", j, k)))
    else:
        g.contract("U", (n, d), n, lambda i, k, j: (at("A", i, j), at("V", j, k)))
        g.each("O", (n, d), "div", lambda i, k: (at("U", i, k), at("l", i)))


def _backward(g, n, d):
    g.given("dO", n, d)
    g.each("P", (n, n), "div", lambda i, j: (at("A", i, j), at("l", i)))
    g.contract("dP", (n, n), d, lambda i, j, k: (at("dO", i, k), at("V", j, k)))
    g.contract("D", (n,), d, lambda i, k: (at("dO", i, k), at("O", i, k)))
    g.each("Z", (n, n), "sub", lambda i, j: (at("dP", i, j), at("D", i)))
    g.each("dS", (n, n), "mul", lambda i, j: (at("P", i, j), at("Z", i, j)))
    g.contract("dV", (n, d), n, lambda j, k, i: (at("P", i, j), at("dO", i, k)))
    g.contract("dQ", (n, d), n, lambda i, k, j: (at("dS", i, j), at("K", j, k)))
    g.contract("dK", (n, d), n, lambda j, k, i: (at("dS", i, j), at("Q", i, k)))


def forward(n, d, softmax="late", **options):
    g = ByHand(**options)
    _forward(g, n, d, softmax)
    g.wants("O", n, d)
    return g


def training(n, d, **options):
    g = ByHand(**options)
    _forward(g, n, d, "late")
    _backward(g, n, d)
    for name in ("O", "dQ", "dK", "dV"):
        g.wants(name, n, d)
    return g


def backward(n, d, **options):
    g = ByHand(**options)
    for name in ("Q", "K", "V", "O"):
        g.given(name, n, d)
    g.given("l", n)
    g.contract("S", (n, n), d, lambda i, j, t: (at("Q", i, t), at("K", j, t)))
    g.each("A", (n, n), "exp", lambda i, j: [at("S", i, j)])
    _backward(g, n, d)
    for name in ("dQ", "dK", "dV"):
        g.wants(name, n, d)
    return g


def gradient(n, d, given="E", form="li24", **options):
    g = ByHand(**options)
    _bilinear(g, n, d)
    g.given("A3", n, d)
    g.given("Y", d, d)
    g.given(given, n, d)
    c = "c" if given == "E" else "dO"
    _softmax(g, n)
    g.contract("h", (n, d), d, lambda j, m, t: (at("A3", j, t), at("Y", t, m)))
    g.each("f", (n, n), "div", lambda i, j: (at("A", i, j), at("l", i)))
    if form == "li24":
        g.contract("U", (n, d), n, lambda i, m, j: (at("A", i, j), at("h", j, m)))
        g.each("O", (n, d), "div", lambda i, m: (at("U", i, m), at("l", i)))
    elif given == "E":
        g.contract("O", (n, d), n, lambda i, m, j: (at("f", i, j), at("h", j, m)))
    if given == "E":
        g.each("c", (n, d), "sub", lambda i, m: (at("O", i, m), at("E", i, m)))
    g.contract("q", (n, n), d, lambda i, j, m: (at(c, i, m), at("h", j, m)))
    if form == "li24":
        g.contract("r", (n,), d, lambda i, m: (at(c, i, m), at("O", i, m)))
        g.each("s", (n, n), "sub", lambda i, j: (at("q", i, j), at("r", i)))
        g.each("p", (n, n), "mul", lambda i, j: (at("f", i, j), at("s", i, j)))
    else:
        g.each("w", (n, n), "mul", lambda i, j: (at("f", i, j), at("q", i, j)))
        for i in range(n):
            g.sum("r", (i,), [at("w", i, j) for j in range(n)])
        g.each("s", (n, n), "mul", lambda i, j: (at("r", i), at("f", i, j)))
        g.each("p", (n, n), "sub", lambda i, j: (at("w", i, j), at("s", i, j)))
    g.contract("G", (n, d), n, lambda i, m, j: (at("p", i, j), at("A2", j, m)))
    g.contract("dX", (d, d), n, lambda k, m, i: (at("A1", i, k), at("G", i, m)))
    g.wants("dX", d, d)
    return g
