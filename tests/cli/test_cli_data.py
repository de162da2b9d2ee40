"""`vrba data`."""

import json

import numpy as np
import pytest

from tests.cli.cases import call
from vrba import data


def test_command_generates_and_describes_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = call("data", "make", "bubble", "--scale", "tiny")
    assert code == 0 and "Making bubble-tiny" in err
    assert (tmp_path / "data" / "bubble-tiny.h5").exists()
    code, told, _ = call("data", "info", "data/bubble-tiny.h5", "--json")
    found = json.loads(told)
    assert code == 0 and found["inputs"] == [30, 40, 1] and found["train"] == 20
    maker = data.Bubble(**data.Bubble.scales["tiny"])
    parts = zip(*maker.chunks(0), strict=True)
    inputs, outputs = (np.concatenate(columns) for columns in parts)
    assert found["mean of training inputs"] == pytest.approx(np.mean(inputs[:20]))
    assert found["std of training outputs"] == pytest.approx(np.std(outputs[:20]))
    assert found["settings"]["seed"] == 15


def test_command_reports_mistakes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call("data", "make", "bubbel")
    assert code == 2 and "Did you mean `bubble`?" in err
    code, _, err = call("data", "make", "bubble", "--scale", "huge")
    assert code == 2 and "laptop, paper, tiny" in err
    code, _, err = call("data", "info", "missing.h5")
    assert code != 0 and "There is no file `missing.h5`" in err
    np.savez("own.npz", inputs=np.zeros((3, 2)))
    code, _, err = call("data", "info", "own.npz")
    assert (
        code == 2
        and "there is no array `outputs`" in err
        and data.files.FILE_FORMAT in err
    )
    code, _, err = call("data", "make", "wave", "--scale", "tiny", "--out", "w.npz")
    assert code == 2 and "must end in .h5" in err
    code, _, err = call("data", "make", "wave", "--param", "num_times=3")
    assert code == 2 and "`--out FILE`" in err
