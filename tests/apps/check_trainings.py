"""Runs the four trainings of the command whole: check_trainings.py COMMAND FOLDER [NAME...]

Each three times with one seed: on one thread, on two, and on two but killed twice and resumed. The weights, curves
and reports must have the same bytes; and the reports must show what docs/learning.md says. Takes about a quarter of
an hour on two cores.
"""

import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def train(command, name, folder, threads, kills=0):
    """Runs a training to its end, killing it `kills` times on the way. Returns the seconds of the last process."""
    arguments = [command, "train", name, "--out", str(folder), "--threads", str(threads)]
    chance = random.Random(name)
    for attempt in range(kills):
        process = subprocess.Popen(arguments + (["--resume"] if attempt else []),
                                   stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(11, 17))  # checkpoints come every 10 s
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(f"{name}: had ended with {process.returncode} before it was killed")
    start = time.monotonic()
    subprocess.run(arguments + (["--resume"] if kills else []), check=True,
                   stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def hashes(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.iterdir())}


def claims_points(report):
    runs = {run["name"]: run["accuracy"] for run in report["compared_with"]}
    special = [run for run in report["runs"] if run["specialised"]]
    others = [run for run in report["runs"] if not run["specialised"]]
    yield "6 or more of 10 seeds specialise", len(special) >= 6
    yield "they are right", all(run["accuracy"] > 0.99 for run in special)
    yield "a run that does not specialise is worse", all(run["accuracy"] < 0.6 for run in others)
    yield "either head cut out is missed", all(head["accuracy_without_it"] < 0.6
                                               for run in special for head in run["heads"])
    yield "one kind of head alone, or the mean, is worse", all(runs[name] < 0.6 for name in runs)
    yield "unseen layouts", all(run["accuracy_ring"] > 0.85 and run["accuracy_clusters"] > 0.8
                                for run in special)


def claims_text(report):
    with_positions, without = report["models"]
    yield "below the trigram model", with_positions["loss"] < report["trigram_loss"]
    yield "positions help", with_positions["loss"] < without["loss"]
    yield "a head looks at the character before", max(
        head["previous_token"] for head in with_positions["heads"]) > 0.5


def claims_saturation(report):
    runs = {(run["d_k"], run["divided"]): run for run in report["runs"]}
    plain = [runs[d, False]["jacobian_at_start"] for d in (16, 32, 64, 128, 256, 512)]
    yield "the Jacobian falls with d_k", plain == sorted(plain, reverse=True)
    yield "and not if divided", abs(runs[512, True]["jacobian_at_start"] -
                                    runs[16, True]["jacobian_at_start"]) < 0.02
    yield "the gradient of scores falls", (runs[512, False]["gradient_of_scores_at_start"] <
                                           0.7 * runs[16, False]["gradient_of_scores_at_start"])
    yield "d_k 512 learns only if divided", (runs[512, True]["right"] > 0.45 and
                                             runs[512, False]["right"] < 0.35)


def claims_copy(report):
    one = [run["right"] for run in report["runs"] if run["layers"] == 1]
    two = [run for run in report["runs"] if run["layers"] == 2]
    yield "one layer stays within 5 % of chance", all(abs(right - report["chance"]) < 0.05
                                                      for right in one)
    yield "two layers pass 90 %", all(run["right"] > 0.9 for run in two)
    yield "as many parameters", all(
        abs(run["parameters"] / report["runs"][0]["parameters"] - 1) < 0.005 for run in two)
    yield "a head of the second layer is an induction head", all(
        max(head["induction"] for head in run["heads"] if head["layer"] == 2) > 0.5 for run in two)


CLAIMS = {"points": claims_points, "text": claims_text, "saturation": claims_saturation,
          "copy": claims_copy}


def main():
    command, folder = sys.argv[1], Path(sys.argv[2])
    names = sys.argv[3:] or list(CLAIMS)
    shutil.rmtree(folder, ignore_errors=True)
    failures = 0
    for name in names:
        seconds = train(command, name, folder / f"{name}-1", 1)
        seconds_of_two = train(command, name, folder / f"{name}-2", 2)
        train(command, name, folder / f"{name}-killed", 2, kills=2)
        first = hashes(folder / f"{name}-1")
        report = json.loads((folder / f"{name}-1" / "report.json").read_text())
        checks = [("two threads, the same bytes", hashes(folder / f"{name}-2") == first),
                  ("killed and resumed, the same bytes", hashes(folder / f"{name}-killed") == first),
                  *CLAIMS[name](report)]
        print(f"{name}: {seconds:.0f} s on one thread, {seconds_of_two:.0f} s on two, "
              f"{len(first)} files")
        for what, right in checks:
            print(f"  {'ok    ' if right else 'FAILED'} {what}")
            failures += not right
    sys.exit(f"{failures} checks failed" if failures else 0)


main()
