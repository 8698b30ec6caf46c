#!/usr/bin/env python3
"""Counts tests: count_tests.py JUNIT REPORTS prints "PASSED FAILED SKIPPED" and each test
that failed or was skipped.

JUNIT is what ctest wrote. A unit test program is one test to ctest, named unit.LAYER; its cases are
in REPORTS/LAYER.xml, which GoogleTest wrote. A program that ended without a report counts as one test.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

UNIT_PREFIX = "unit."


def ctest_outcome(case):
    return {"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")


def unit_outcome(case):
    if case.find("failure") is not None:
        return "failed"
    is_skipped = case.find("skipped") is not None or case.get("status") == "notrun"
    return "skipped" if is_skipped else "passed"


def reason(case):
    found = case.find("skipped")
    if found is None:
        found = case.find("failure")
    lines = (found.get("message") or found.text or "").splitlines() if found is not None else []
    # GoogleTest's message begins with the source line.
    return " ".join(line.strip() for line in lines if ".cc:" not in line).strip()


def unit_cases(report):
    for suite in ElementTree.parse(report).getroot():
        for case in suite.iter("testcase"):
            yield f'{case.get("classname")}.{case.get("name")}', unit_outcome(case), reason(case)


def all_cases(junit, reports):
    """Name, outcome and reason of each test."""
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        name, outcome = case.get("name"), ctest_outcome(case)
        report = reports / f"{name.removeprefix(UNIT_PREFIX)}.xml"
        if not name.startswith(UNIT_PREFIX) or not report.is_file():
            yield name, outcome, reason(case)
            continue
        cases = list(unit_cases(report))
        yield from cases
        # For example a sanitizer's report at the end.
        if outcome == "failed" and all(case[1] != "failed" for case in cases):
            yield name, outcome, ""


def main():
    junit, reports = map(pathlib.Path, sys.argv[1:3])
    count = {"passed": 0, "failed": 0, "skipped": 0}
    told = []
    for name, outcome, why in all_cases(junit, reports):
        count[outcome] += 1
        if outcome != "passed":
            told.append(f"  {outcome}: {name}: {why}" if why else f"  {outcome}: {name}")
    print(count["passed"], count["failed"], count["skipped"])
    for line in told:
        print(line)


if __name__ == "__main__":
    main()
