"""A small module, its batches and its training loop, for the tests of optimizers."""

import torch


def network(dropout=0.0):
    torch.manual_seed(0)
    layers = torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Dropout(dropout), torch.nn.Linear(6, 2)
    return torch.nn.Sequential(*layers).double()


def batch(t):
    generator = torch.Generator().manual_seed(t)
    return tuple(torch.randn(8, k, generator=generator, dtype=torch.float64) for k in (4, 2))


def loss_of(model, t):
    inputs, targets = batch(t)
    return (model(inputs) - targets).square().mean()


def closure_of(model, optimizer, t, set_to_none=True):
    def closure():
        optimizer.zero_grad(set_to_none=set_to_none)
        loss = loss_of(model, t)
        loss.backward()
        return loss

    return closure


def train(model, optimizer, steps, begin=1, **options):
    for t in range(begin, begin + steps):
        optimizer.step(closure_of(model, optimizer, t, **options))
    return weights(model)


def weights(model):
    return [p.detach().clone() for p in model.parameters()]


def same(found, wanted, tolerance=1e-12):
    for f, w in zip(found, wanted, strict=True):
        torch.testing.assert_close(f, w, rtol=tolerance, atol=tolerance)


@torch.no_grad()
def place(params, values):
    for p, value in zip(params, values, strict=True):
        p.copy_(value)
