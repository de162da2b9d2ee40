"""`vrba list`."""

import json

import vrba
from tests.cli.cases import call
from tests.rooms import concrete
from vrba.cli.list import catalogue, first_sentence


def test_list_shows_every_exported_class():
    _, out, _ = call("list", "--json")
    listed = {
        name for kind in json.loads(out).values() for e in kind for name in e["names"]
    }
    bases = {
        "vrba.adapt": (vrba.adapt.AbstractPolicy, vrba.adapt.AbstractPotential),
        "vrba.optim": (vrba.optim.AbstractOptimizer,),
        "vrba.problems": (vrba.Problem, vrba.problems.AbstractCondition),
        "vrba.models": (
            vrba.models.AbstractArchitecture,
            vrba.models.AbstractOperatorArchitecture,
        ),
        "vrba.domains": (vrba.domains.AbstractDomain,),
    }
    plain = {name.split(".")[-1].replace("-", "").lower() for name in listed}
    for room, kinds in bases.items():
        for cls in (cls for base in kinds for cls in concrete(room, base)):
            assert cls.__name__.lower() in plain


def test_list_gives_a_line_each_with_a_sentence():
    code, out, _ = call("list", "potentials")
    lines = out.splitlines()
    assert code == 0 and len(lines) == len(catalogue()["potentials"])
    about = first_sentence(vrba.adapt.Cosh)
    assert f"cosh               {about}" in lines and about.endswith(".")
    both = call("list")[1]
    assert "problems:\nadvection" in both and "levenberg-marquardt, lm  " in both


def test_first_sentence_ends_where_it_ends():
    def method():
        """Known from Toscano et al. (2025), in
        two lines. And more.

        A paragraph.
        """

    assert first_sentence(method) == "Known from Toscano et al. (2025), in two lines."


def test_list_refuses_an_unknown_word():
    code, out, err = call("list", "potential")
    assert code == 2 and out == "" and "Did you mean `potentials`?" in err
