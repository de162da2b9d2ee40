"""A trained operator."""

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
    operator_sentence,
    rebuild,
    use_precision,
)
from ..data import Pairs
from ._base import as_root
from .about import known_classes
from .frame import Frame, frame_from
from .operator_network import (
    network_of,
    outputs_at,
    relative_errors,
    scaled_outputs,
    skeleton_of,
)
from .operator_recipe import OperatorRecipe
from .run_folder import RunFolder
from .samples import Samples


class Operator:
    """A trained operator: call it with functions, in their own units. `params` are
    those of the selected iterate."""

    def __init__(
        self,
        recipe: OperatorRecipe,
        frame: Frame,
        params: Any,
        last_params: Any,
        record: list[dict[str, Any]],
        result: dict[str, Any],
        run: Path | None = None,
    ):
        self.recipe, self.frame, self.run = recipe, frame, run
        self.params, self.last_params = params, last_params
        self.record, self.result = record, result

    @staticmethod
    def load(
        run: str | os.PathLike[str], recipe: OperatorRecipe | Any = None
    ) -> "Operator":
        """From the folder of a run, of which no code is run. A recipe with a model of
        your own, or with functions in it, must be given again."""
        folder = RunFolder(run)
        about = folder.about_operator()
        if "frame" not in about:
            raise InputError(
                f"`{run}` was made by another version of vrba: train again."
            )
        recipe = (
            rebuild(about["operator"], known_classes()) if recipe is None else recipe
        )
        with use_precision(recipe.dtype):
            dtype = float_dtype(recipe.dtype)
            frame = frame_from(about["frame"], dtype, recipe.splits)
            network = network_of(recipe, frame, as_root(about["seed"]))
            like = eqx.filter(network, eqx.is_inexact_array)
            (best, last), header = folder.load_best(like)
        result = header | {"about": about}
        record, path = folder.record(), folder.path
        return Operator(recipe, frame, best, last, record, result, path)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes a folder that `Operator.load` reads."""
        folder = RunFolder(path)
        both = (self.params, self.last_params)
        folder.save_whole(self.result, self.record, both)
        return folder.path

    def __repr__(self) -> str:
        return f"Operator({self.sentence()})"

    def network(self, params: Any = None) -> Any:
        """The trained network, which sees and gives scaled functions."""
        root = as_root(self.result["about"]["seed"])
        skeleton = skeleton_of(network_of(self.recipe, self.frame, root))
        return eqx.combine(self.params if params is None else params, skeleton)

    def __call__(
        self,
        functions: Float[Array | np.ndarray, "funcs *in_grid_and_channels"],
        places: Float[Array | np.ndarray, "*grid dim"] | None = None,
    ) -> Float[np.ndarray, "funcs *grid channels"]:
        """The outputs at the places it was trained on, or at others, also in their own
        units: anywhere for a network such as `DeepONet`, on a grid of another spacing,
        with functions to match, for one such as `FNO`, at one time for one that splits
        times."""
        frame, inputs = self.frame, np.asarray(functions)
        check_real(functions=inputs)
        *grid, num_channels = frame.in_shape
        if num_channels == 1 and inputs.ndim == len(frame.in_shape):
            inputs = inputs[..., None]
        shape = inputs.shape[1:]
        is_alike = len(shape) == len(frame.in_shape) and shape[-1] == num_channels
        if not is_alike or (places is None and shape != frame.in_shape):
            told = ", ".join(map(str, ["funcs", *grid, num_channels]))
            raise InputError(
                f"`functions` must have shape [{told}], got {np.shape(functions)}."
            )
        with use_precision(self.recipe.dtype):
            scaled = frame.scaling.inputs(inputs)
            if places is None:
                found = scaled_outputs(self.network(), frame, scaled)
            else:
                found = outputs_at(self.network(), scaled, self._scaled(places))
            return frame.scaling.back(found)

    def _scaled(self, places: Any) -> Array:
        """Places as the network sees them."""
        dim = self.frame.places.shape[-1]
        if np.ndim(places) < 2 or np.shape(places)[-1] != dim:
            raise InputError(
                f"`places` must have shape [..., {dim}], a row of coordinates for each "
                f"place, got {np.shape(places)}."
            )
        dtype = float_dtype(self.recipe.dtype)
        return self.frame.scaling.places(
            jnp.asarray(as_floats("places", places), dtype)
        )

    def errors(self, pairs: Pairs, part: str = "test") -> Float[np.ndarray, " funcs"]:
        """The relative L2 error of each function of a part over all places and times,
        as the network sees it: without the mean of the training set, if the recipe
        takes it out."""
        return self._errors(pairs, part, self.params)

    def last_errors(
        self, pairs: Pairs, part: str = "test"
    ) -> Float[np.ndarray, " funcs"]:
        """The same of the last iterate."""
        return self._errors(pairs, part, self.last_params)

    def _errors(self, pairs: Pairs, part: str, params: Any) -> np.ndarray:
        with use_precision(self.recipe.dtype):
            rows = Samples.of(pairs, part, self.frame)
            size = self.recipe.batch_size
            return np.asarray(relative_errors(self.network(params), rows, size))

    def sentence(self) -> str:
        """The result in one sentence."""
        name = self.result["about"]["data"].get("name", "Operator")
        return operator_sentence(name.capitalize(), self.result)
