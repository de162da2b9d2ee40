"""Steps of a DeepONet in torch, as many as each line of standard input asks for; their
seconds go to standard output. Run by `operator_cost` in an environment of its own."""

import sys
import time

import torch  # pyright: ignore[reportMissingImports]

NUM_SENSORS, NUM_TIMES, WIDTH, BATCH = 200, 500, 100, 50


def layers(num_inputs: int) -> torch.nn.Sequential:
    """Four hidden layers of GELU."""
    sizes = [num_inputs, *[WIDTH] * 4]
    parts: list[torch.nn.Module] = []
    for before, after in zip(sizes, sizes[1:], strict=False):
        parts += [torch.nn.Linear(before, after), torch.nn.GELU(approximate="tanh")]
    return torch.nn.Sequential(*parts, torch.nn.Linear(WIDTH, WIDTH))


def main() -> None:
    """Waits for work."""
    branch, trunk = layers(NUM_SENSORS), layers(1)
    params = [*branch.parameters(), *trunk.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-3)
    functions = torch.randn(1200, NUM_SENSORS)
    targets = torch.randn(1200, NUM_TIMES)
    times = torch.linspace(-1, 1, NUM_TIMES)[:, None]
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            ids = torch.randperm(1200)[:BATCH]
            optimizer.zero_grad()
            loss = torch.mean(
                (branch(functions[ids]) @ trunk(times).T - targets[ids]) ** 2
            )
            loss.backward()
            optimizer.step()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    count = sum(
        p.numel() for p in [*layers(NUM_SENSORS).parameters(), *layers(1).parameters()]
    )
    print(count, torch.__version__, torch.get_num_threads(), flush=True)
    main()
