"""A trained operator: a function of functions, its errors, and its files."""

import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..core import (
    InputError,
    as_floats,
    check_real,
    float_dtype,
    rebuild,
    use_precision,
)
from ..data import Pairs
from ..runs import (
    TRAIN,
    RunFolder,
    load_best,
    operator_sentence,
    save_complete,
    seed_array,
    stop_advice,
)
from .layout import DataLayout, layout_from
from .network import (
    initial_network,
    outputs_at,
    relative_errors,
    scaled_outputs,
    untrained_part,
)
from .recipe import OperatorRecipe, known_classes
from .samples import Samples


class Operator:
    """A trained operator: call it with functions in physical units.

    `params` is the iterate with the lowest validation error, `last_params` the last
    iterate, `record` the log, and `result` the accuracy and the cost.
    """

    def __init__(
        self,
        recipe: OperatorRecipe,
        layout: DataLayout,
        params: Any,
        last_params: Any,
        record: list[dict[str, Any]],
        result: dict[str, Any],
        run: Path | None = None,
    ):
        self.recipe, self.layout, self.run = recipe, layout, run
        self.params, self.last_params = params, last_params
        self.record, self.result = record, result

    @staticmethod
    def load(
        run: str | os.PathLike[str], recipe: OperatorRecipe | Any = None
    ) -> "Operator":
        """Read a run folder. It runs no code of the folder.

        Give the recipe if its model is your own, or if it holds functions.
        """
        folder = RunFolder(run)
        manifest = folder.read_manifest(TRAIN)
        if recipe is None:
            recipe = rebuild(manifest["recipe"], known_classes())
        with use_precision(recipe.dtype):
            dtype = float_dtype(recipe.dtype)
            layout = layout_from(manifest["layout"], dtype, recipe.split_axis)
            network = initial_network(recipe, layout, seed_array(manifest["seed"]))
            template = eqx.filter(network, eqx.is_inexact_array)
            (best, last), header = load_best(folder, template)
        result = header | {"manifest": manifest}
        record, path = folder.record(), folder.path
        return Operator(recipe, layout, best, last, record, result, path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a folder that `Operator.load` reads."""
        folder = RunFolder(path)
        iterates = (self.params, self.last_params)
        save_complete(folder, self.result, self.record, iterates)
        return folder.path

    def __repr__(self) -> str:
        return f"Operator({self.sentence()})"

    def network(self, params: Any = None) -> Any:
        """The trained network, in scaled units."""
        root = seed_array(self.result["manifest"]["seed"])
        rest = untrained_part(initial_network(self.recipe, self.layout, root))
        return eqx.combine(self.params if params is None else params, rest)

    def __call__(
        self,
        functions: Float[Array | np.ndarray, "funcs *in_grid_and_channels"],
        places: Float[Array | np.ndarray, "*grid dim"] | None = None,
    ) -> Float[np.ndarray, "funcs *grid channels"]:
        """The outputs at the places of the training data, or at others.

        Which other `places` are allowed depends on the network: any for `DeepONet`, a
        grid of another spacing with functions to match for `FNO`, one time for a
        network with a split axis.
        """
        layout, inputs = self.layout, np.asarray(functions)
        check_real(functions=inputs)
        *grid, num_channels = layout.in_shape
        if num_channels == 1 and inputs.ndim == len(layout.in_shape):
            inputs = inputs[..., None]
        shape = inputs.shape[1:]
        is_similar = len(shape) == len(layout.in_shape) and shape[-1] == num_channels
        if not is_similar or (places is None and shape != layout.in_shape):
            expected = ", ".join(map(str, ["funcs", *grid, num_channels]))
            raise InputError(
                f"`functions` must have shape [{expected}], got {np.shape(functions)}."
            )
        with use_precision(self.recipe.dtype):
            scaled = layout.scaling.inputs(inputs)
            if places is None:
                found = scaled_outputs(self.network(), layout, scaled)
            else:
                found = outputs_at(self.network(), scaled, self._scaled_places(places))
            return layout.scaling.unscaled_outputs(found)

    def _scaled_places(self, places: Any) -> Array:
        dim = self.layout.places.shape[-1]
        if np.ndim(places) < 2 or np.shape(places)[-1] != dim:
            raise InputError(
                f"`places` must have shape [..., {dim}], a row of coordinates for each "
                f"place, got {np.shape(places)}."
            )
        dtype = float_dtype(self.recipe.dtype)
        return self.layout.scaling.places(
            jnp.asarray(as_floats("places", places), dtype)
        )

    def errors(
        self, pairs: Pairs, part: str = "test", *, params: Any = None
    ) -> Float[np.ndarray, " funcs"]:
        """The relative L2 error of each function of a part, in scaled units.

        Scaled units have the mean of the training set subtracted, unless the recipe
        keeps it. `params` defaults to the selected iterate.
        """
        with use_precision(self.recipe.dtype):
            rows = Samples.from_pairs(pairs, part, self.layout)
            network, size = self.network(params), self.recipe.batch_size
            return np.asarray(relative_errors(network, rows, size))

    def summary(self) -> dict[str, Any]:
        """The result as plain values."""
        result, manifest = self.result, self.result["manifest"]
        keys = ("step", "seconds", "selected_step", "errors", "stop_reason", "status")
        kept = ("seed", "num_params", "weights_bytes", "data_file")
        return {
            "run": None if self.run is None else str(self.run),
            **{key: result.get(key) for key in keys},
            **{key: manifest[key] for key in kept},
            "message": stop_advice(result),
            "dtype": self.recipe.dtype,
        }

    def sentence(self) -> str:
        """The result in one sentence."""
        name = self.result["manifest"]["data"].get("name", "Operator")
        return operator_sentence(name.capitalize(), self.result)
