"""Turns a JUnit file of ctest or Vitest into result lines: passed|failed|skipped, name, reason.

ctest counts a test that skips itself as passed. Here it is skipped, with the reason it printed.
"""

import sys
import xml.etree.ElementTree as ElementTree


def skip_reason(output):
    """GoogleTest prints 'file:line: Skipped', then the message, then '[  SKIPPED ]'."""
    lines = iter((output or "").splitlines())
    for line in lines:
        if line.endswith(": Skipped"):
            message = []
            for following in lines:
                if following.startswith("[") or not following.strip():
                    break
                message.append(following.strip())
            if message:
                return " ".join(message)
    return "no reason given"


def result(case):
    # GoogleTest adds bytes of parameters that it can't print, among them padding.
    name = case.get("name").split("# GetParam() = ")[0]
    skipped, failure = case.find("skipped"), case.find("failure")
    if failure is None:
        failure = case.find("error")
    if failure is not None:
        return "failed", name, failure.get("message", "")
    if case.get("status") is None:  # Vitest says no more
        return ("passed" if skipped is None else "skipped"), name, "" if skipped is None else "skipped"
    if case.get("status") == "run":
        return "passed", name, ""
    why = skipped.get("message", "") if skipped is not None else case.get("status")
    # A test that said itself that it skips; everything else that did not run is a failure.
    if why.startswith("SKIP_"):
        return "skipped", name, skip_reason(case.findtext("system-out"))
    if case.get("status") == "disabled":
        return "skipped", name, "disabled"
    return "failed", name, why or "did not run"


def main():
    for case in ElementTree.parse(sys.argv[1]).getroot().iter("testcase"):
        print("\t".join(" ".join(field.split()) for field in result(case)))


main()
