"""Runs the format check and the quick checks in the clone."""

import tools
from clone import Clone
from step import main

SECONDS = 8

# Seconds below which nothing is started any more.
LEAST = 0.3


def one(check, kind, clone, step, scratch):
    """One check within the time that is left for the step."""
    seconds = step.time_left()
    if seconds < LEAST:
        return tools.result(check.name, kind, "skipped", note="no time was left for it")
    return check.run_check(clone, seconds, scratch)


def check(step):
    place = Clone(step.thread)
    clone = place.open(step)
    formatters = tools.formatters(clone)
    formats = [one(tool, "format", clone, step, place.base) for tool in formatters]
    quicks = [one(quick, "quick", clone, step, place.base) for quick in tools.quick_checks(clone)]
    failed = [tool for tool, result in zip(formatters, formats) if result["status"] == "failed"]
    return {
        "round": len(step.outputs("check")) + 1,
        "formatting": "off" if failed else summary(formats, "clean"),
        "fixable": bool(failed) and all(tool.installed() for tool in failed),
        "quick": "failed" if any(result["status"] == "failed" for result in quicks) else summary(quicks, "passed"),
        "checks": formats + quicks,
    }


def summary(results, good):
    """What checks come to of which none failed."""
    return good if any(result["status"] == "passed" for result in results) else "unchecked"


main(check, SECONDS)
