"""`vrba report` and `vrba watch`."""

from tests.cli.cases import call
from tests.report.run_cases import make_run
from vrba.runs import RunRecord


def test_report_prints_the_path_of_the_page(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30, diagnosed=False)
    code, out, _ = call("report", run)
    assert code == 0 and out == f"{run / 'report.html'}\n"
    assert (run / "report.html").exists()


def test_report_names_a_bad_folder(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30, diagnosed=False)
    (run / "checkpoint/best.npz").write_bytes(b"no zip")
    code, _, err = call("report", run)
    assert code == 2 and str(run) in err


def test_report_of_damaged_fields_is_written(tmp_path):
    run = make_run(tmp_path / "run", num_steps=30, diagnosed=False)
    fields = run / "fields.npz"
    fields.write_bytes(fields.read_bytes()[:-99])
    code, _, err = call("report", run)
    assert code == 0, err


def test_report_of_several_runs_needs_a_folder(tmp_path):
    runs = [
        make_run(tmp_path / f"seed-{k}", num_steps=30, seed=k, diagnosed=False)
        for k in (0, 1)
    ]
    code, _, err = call("report", *runs)
    assert code == 2 and "--out DIR" in err
    code, out, _ = call("report", *runs, "--out", tmp_path / "all")
    assert code == 0 and out == f"{tmp_path / 'all/report.html'}\n"
    assert (tmp_path / "all/report.html").exists()


def test_command_watches(tmp_path, monkeypatch):
    run = make_run(tmp_path / "run", num_steps=60)
    code, out, _ = call("watch", run, "--once")
    assert code == 0 and "Burgers: step 60" in out
    (run / "metrics.jsonl").unlink()
    assert "no log entries yet" in call("watch", run)[1]
    code, _, err = call("watch", tmp_path)
    assert code == 2 and "is no run folder" in err
    assert call("watch")[0] == 2

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunRecord, "read", interrupt)
    assert call("watch", run)[0] == 0
