"""A search simulates the deployments that may decide: it picks those that simulating all of them picks."""

import json
import os
import subprocess
import unittest

ASSAY = os.environ["ASSAY"]


def best(*arguments):
    run = subprocess.run(
        [ASSAY, "plan", "search", "--serving-mode", "agg", "--format", "json", *arguments],
        capture_output=True, text=True)
    assert run.returncode in (0, 3), run.stderr
    table = json.loads(run.stdout)["tables"][0]
    simulated = [note for note in table["notes"] if "priced deployments decide" in note]
    return table["rows"], "".join(simulated)


class Picks(unittest.TestCase):
    def test_are_those_of_simulating_all(self):
        for model, gpus in (("qwen3-30b-a3b", "8"),):
            for engine in ("trtllm", "vllm", "sglang"):
                for load in ("4000 1000 5000 30", "4000 1000 200 12", "1000 100 150 10"):
                    isl, osl, ttft, tpot = load.split()
                    options = ["--model", model, "--gpus", gpus, "--backend", engine, "--isl", isl,
                               "--osl", osl, "--ttft", ttft, "--tpot", tpot]
                    with self.subTest(options=options):
                        some, note = best(*options)
                        every, _ = best(*options, "--simulate-all")
                        self.assertEqual(some, every)
                        count, priced = (int(word) for word in note.split() if word.isdigit())
                        self.assertLess(count, priced / 2)

    def test_all_engines_are_in_one_ranking(self):
        rows, _ = best("--model", "qwen3-8b", "--gpus", "2", "--backend", "any", "--top-n", "9")
        self.assertEqual({row[0] for row in rows}, {"trtllm", "vllm", "sglang"})
        rates = [row[5] for row in rows]
        self.assertEqual(rates, sorted(rates, reverse=True))


if __name__ == "__main__":
    unittest.main()
