"""Tells the maintainer where the repository stands, and removes the clone."""

import collections
import re
import shlex

import tools
from clone import Clone, git
from step import header, main

SECONDS = 5

# Commits that are read; shown in one group (and files in one diffstat); that make a topic a group of its own.
MAX_COMMITS, MAX_SHOWN, LEAST_GROUP = 500, 12, 3

CONVENTIONAL = re.compile(r"^(?P<type>[a-z]+)(?:\((?P<scope>[^)]+)\))?(?P<breaking>!)?: (?P<text>.+)$")
TOPIC = re.compile(r"^(?P<topic>[\w./, -]{1,40}): (?P<text>.+)$")
TITLES = {
    "feat": "Features", "fix": "Fixes", "perf": "Performance", "docs": "Documentation", "refactor": "Inside",
    "test": "Inside", "build": "Inside", "ci": "Inside", "chore": "Inside", "style": "Inside", "revert": "Reverted",
}
ORDER = ["Breaking changes", "Features", "Fixes", "Performance", "Documentation", "Reverted", "Other", "Inside"]


def commits_since(clone, tag):
    """Hash, author, subject and body of each commit since the tag, newest first, merges left out."""
    asked = ["log", "-z", "--no-merges", f"--max-count={MAX_COMMITS}", "--format=%h%x1f%an%x1f%s%x1f%b", f"{tag}..HEAD" if tag else "HEAD"]
    return [record.split("\x1f") for record in git(clone, *asked).split("\0") if record.count("\x1f") == 3]


def grouped(commits):
    """Commits by group title, in the order to show them: by type where the subjects have one, else by topic."""
    conventional = [match for match in (CONVENTIONAL.match(commit[2]) for commit in commits) if match and match["type"] in TITLES]
    groups = collections.defaultdict(list)
    if commits and len(conventional) * 2 >= len(commits):
        for short, _, subject, body in commits:
            match = CONVENTIONAL.match(subject)
            title = TITLES.get(match["type"], "Other") if match else "Other"
            if match and (match["breaking"] or "BREAKING CHANGE" in body):
                title = "Breaking changes"
            text = f"{match['scope']}: {match['text']}" if match and match["scope"] else match["text"] if match else subject
            groups[title].append(f"{text} ({short})")
        return [(title, groups[title]) for title in ORDER if groups[title]], True
    topics = collections.Counter(match["topic"] for match in map(TOPIC.match, (commit[2] for commit in commits)) if match)
    for short, _, subject, _ in commits:
        match = TOPIC.match(subject)
        has_group = match and topics[match["topic"]] >= LEAST_GROUP
        groups[match["topic"] if has_group else "Other"].append(f"{match['text'] if has_group else subject} ({short})")
    if len(groups) == 1:
        return [(None, lines) for lines in groups.values()], False
    return sorted(groups.items(), key=lambda group: (group[0] == "Other", -len(group[1]), group[0])), False


def numbers(version):
    """The three numbers of a version or a tag such as v1.2.3, None when it has none."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", version or "")
    return tuple(int(part or 0) for part in found.groups()) if found else None


def proposed(last, groups, is_conventional):
    """The next version by the rules of semantic versioning, when the commits say what they are."""
    if not last or not is_conventional:
        return None
    major, minor, patch = last
    titles = {title for title, _ in groups}
    if "Breaking changes" in titles:
        return f"{major + 1}.0.0" if major else f"0.{minor + 1}.0"
    return f"{major}.{minor + 1}.0" if "Features" in titles else f"{major}.{minor}.{patch + 1}"


def judge(survey, check, patch, next_version, clone):
    """What keeps the release from being made, and what is left to do before it."""
    blockers, todo = [], []
    for result in check["checks"]:
        if result["status"] == "failed" and (result["kind"] == "quick" or not patch):
            blockers.append(f"{result['name']} failed{': ' + result['note'] if result['note'] else ''}")
    if check["formatting"] == "off" and patch:
        blockers.append("formatting is still off after the formatters ran")
    if patch and check["formatting"] == "clean":
        todo.append(f"apply the formatting patch: `git apply {shlex.quote(patch)}`")
    version, tag = survey["version"], survey["lastTag"]
    if survey["commits"] == 0:
        todo.append(f"nothing has changed since {tag}: there is nothing to release")
    elif version and numbers(version) is not None and numbers(version) == numbers(tag):
        better = f" to {next_version}" if next_version else ""
        todo.append(f"raise the version in {survey['versionFile']}{better}: {tag} is out already")
    if survey["changelog"] is None:
        todo.append("add a changelog")
    elif version and survey["commits"] and version not in tools.read(clone, survey["changelog"]):
        waiting = re.search("unreleased", tools.read(clone, survey["changelog"]), re.IGNORECASE)
        what = f"turn the unreleased part of {survey['changelog']} into" if waiting else f"in {survey['changelog']}, describe"
        todo.append(f"{what} {version}")
    if survey["licence"] is None:
        todo.append("add a licence: without one nobody may use it")
    if survey["readme"] is None:
        todo.append("add a README")
    if survey["uncommitted"]:
        todo.append(f"commit or drop what is only in the working copy: {some(survey['uncommitted'])}")
    return blockers, todo


def report(step):
    survey, check = step.last("survey"), step.last("check")
    fixes = [fix for fix in step.outputs("fix") if fix["filesChanged"]]
    patch = fixes[-1]["patch"] if fixes else None
    place = Clone(step.thread)
    clone = place.open(step)
    commits = commits_since(clone, survey["lastTag"])
    groups, is_conventional = grouped(commits)
    next_version = proposed(numbers(survey["lastTag"]), groups, is_conventional)
    blockers, todo = judge(survey, check, patch, next_version, clone)
    verdict = "not-ready" if blockers else "almost" if todo else "ready"
    summary = headline(survey, verdict, blockers, todo)
    told = {
        "verdict": verdict,
        "version": survey["version"],
        "summary": summary,
        "nextSteps": [f"repair: {blocker}" for blocker in blockers] + todo,
        "patch": patch,
    }
    stat = git(clone, "diff", "--stat=90", f"--stat-count={MAX_SHOWN}", "HEAD").rstrip()
    parts = [
        [f"# Release check: {survey['name']} {survey['version'] or ''}".rstrip(), "", f"**{summary}**", ""],
        facts(survey, commits, next_version),
        changes(survey, commits, groups),
        checks(step.outputs("check")),
        fixed(fixes, stat, patch, survey["repository"]),
        steps(told["nextSteps"], survey),
    ]
    place.remove()
    return header(told) + "\n".join(line for part in parts for line in part)


def headline(survey, verdict, blockers, todo):
    """The verdict in one sentence."""
    if verdict == "ready":
        return f"Ready: {survey['version'] or survey['head'][:9]} can be released."
    if verdict == "almost":
        return f"Almost ready: {count(len(todo), 'thing')} to do first."
    return f"Not ready: {blockers[0]}" + (f", and {count(len(blockers) - 1, 'more problem')}." if len(blockers) > 1 else ".")


def count(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def some(names, most=5):
    """A list that stays short."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def facts(survey, commits, next_version):
    since = f"since {survey['lastTag']}" if survey["lastTag"] else "so far (no tag yet)"
    people = [name for name, _ in collections.Counter(commit[1] for commit in commits).most_common()]
    version = f"{survey['version']} ({survey['versionFile']})" if survey["version"] else "not declared"
    if next_version:
        version += ", as its commits ask for" if next_version == survey["version"] else f"; its commits ask for {next_version}"
    languages = some([f"{language['files']} {language['name']}" for language in survey["languages"]])
    rows = [
        ("repository", f"{survey['repository']}, {survey['branch'] or 'no branch'} at {survey['head'][:9]}"),
        ("version", version),
        (since, f"{count(survey['commits'], 'commit')}{' by ' + some(people) if people else ''}, "
                f"{count(survey['filesChanged'], 'file')}, +{survey['insertions']} −{survey['deletions']}"),
        ("files", languages or "in no known language"),
        ("documents", ", ".join(survey[name] or f"no {name}" for name in ("readme", "changelog", "licence"))),
    ]
    return ["| | |", "|---|---|", *(f"| {name} | {cell(text)} |" for name, text in rows), ""]


def changes(survey, commits, groups):
    lines = [f"## What changed {'since ' + survey['lastTag'] if survey['lastTag'] else 'so far'}", ""]
    if not commits:
        return [*lines, "Nothing.", ""]
    for title, entries in groups:
        lines += [f"### {title}", ""] if title else []
        lines += [f"- {entry}" for entry in entries[:MAX_SHOWN]]
        if len(entries) > MAX_SHOWN:
            lines.append(f"- … and {len(entries) - MAX_SHOWN} more")
        lines.append("")
    return lines


def checks(rounds):
    """The last round of checks, with what an earlier one said where that was different."""
    first = {result["name"]: result["status"] for result in rounds[0]["checks"]}
    lines = ["## Checks", "", "| check | result | seconds | |", "|---|---|---|---|"]
    for result in rounds[-1]["checks"]:
        status = result["status"]
        if first.get(result["name"], status) != status:
            status += f" (was {first[result['name']]})"
        note = "; ".join(text for text in (result["note"], some(result["files"])) if text)
        lines.append(f"| {result['name']} | {status} | {result['seconds']:.1f} | {cell(note)} |")
    return [*lines, ""]


def fixed(fixes, stat, patch, repository):
    if not fixes:
        return []
    by = ", ".join(sorted({tool for fix in fixes for tool in fix["tools"]}))
    return ["## What was fixed", "", f"Changed by {by}, only in a temporary clone; the repository itself was not touched.", "", "```", stat, "```", "",
            "Take it over with", "", "```sh", f"git -C {shlex.quote(repository)} apply {shlex.quote(patch)}", "```", ""]


def steps(next_steps, survey):
    if not next_steps:
        version = survey["version"] or "VERSION"
        return ["## Next steps", "", f"1. `git tag -a v{version.lstrip('v')}`, then push the tag.", ""]
    return ["## Next steps", "", *(f"{number}. {text}" for number, text in enumerate(next_steps, 1)), ""]


def cell(text):
    """A text that fits into a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ")


main(report, SECONDS)
