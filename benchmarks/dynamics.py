"""How learning goes with and without a tilt: variance, signal-to-noise and stages.

`python -m benchmarks.dynamics --minutes 4` trains Allen-Cahn (conditions in the loss)
and Burgers as Toscano et al. (2025) do, Adam and then self-scaled Broyden, but on a
tenth of their points, and writes the figures `docs/dynamics-NAME.png`, like figures 1
and 2 of that paper. The pages are in `runs/dynamics/NAME`. It goes on where it was
stopped.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

IS_LONG = True
ROOT = Path(__file__).parents[1]
ARMS = "uniform,vrba-sampling:quadratic,vrba-sampling:exponential"
CASES = {"allen-cahn": ["--param", "is_soft=True"], "burgers": []}
SCALE = ["--optimizer", "adam-ssbroyden", "--points", "2000", "--pool", "20000"]
SCALE += ["--width", "30", "--depth", "3"]


def main() -> None:
    """Trains, then copies the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "dynamics")
    asked = parser.parse_args()
    for name, settings in CASES.items():
        out = asked.out / name
        words = ["--resume", str(out)]
        if not (out / "comparison.json").exists():
            words = [name, *settings, *SCALE, "--policies", ARMS, "--out", str(out)]
            words += ["--minutes", f"{asked.minutes:g}", "--seeds", str(asked.seeds)]
        command = [sys.executable, "-m", "vrba", "compare", *words]
        subprocess.run(command, check=True)
        figure = out / "figures" / "dynamics.png"
        shutil.copyfile(figure, ROOT / "docs" / f"dynamics-{name}.png")


if __name__ == "__main__":
    main()
