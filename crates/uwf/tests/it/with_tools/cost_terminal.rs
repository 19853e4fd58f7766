//! Costs of threads at a narrow terminal.

use crate::fixtures::review::step;
use crate::fixtures::terminal::session_with;
use crate::thread_cost::{PRICES, spending_home};

#[test]
fn agents_fit_a_narrow_terminal() {
    let home = spending_home("");
    home.json(&[
        "config",
        "set",
        "agents.long",
        "{command: sh, args: [-c, 'cat > /dev/null; echo a command that is long']}",
    ]);
    let shown = session_with(&home, 80, &[("NO_COLOR", "1")], &["agent", "list"], &[]).shown;
    let lines: Vec<&str> = shown.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
    let built_in: Vec<&str> = lines.into_iter().skip_while(|line| !line.starts_with("built in: uwf-acp,")).collect();
    assert!(built_in.len() > 1 && built_in.join(" ").ends_with(" uwf-workflow"), "{shown}");
}

#[test]
fn costs_fit_a_narrow_terminal() {
    let home = spending_home(PRICES);
    let thread = home.start("count-rounds", "count");
    step(&home, &thread, 1);
    home.file("said", "");
    step(&home, &thread, 1);
    home.json(&["thread", "step", &thread, "--agent", "p"]);
    let shown = session_with(&home, 80, &[("NO_COLOR", "1")], &["thread", "cost"], &[]).shown;
    let lines: Vec<&str> = shown.lines().filter(|line| !line.trim().is_empty()).collect();
    assert!(lines.iter().all(|line| line.trim_end().chars().count() <= 80), "{shown}");
    let row = lines.iter().find(|line| line.contains(&thread[20..])).unwrap_or_else(|| panic!("{shown}"));
    for cell in ["≥ 2.4M", "≥ 200K", "≥ 3.10 EUR + $0.25"] {
        assert!(row.contains(cell), "{cell}: {shown}");
    }
    assert!(!shown.contains("reasoning"), "{shown}");
}

#[test]
fn schedules_fit_a_narrow_terminal() {
    let home = spending_home("");
    home.script("crontab", "#!/bin/sh\ncase $1 in\n  -l) /bin/cat table 2> /dev/null || { echo 'no crontab for me' >&2; exit 1; } ;;\n  -) /bin/cat > table ;;\nesac\n");
    let create = ["schedule", "create", "every-working-day-in-the-morning", "--workflow", "count-rounds"];
    home.json(&[&create[..], &["--cron", "CRON_TZ=UTC 30 9 1-5,10-15 * 1-5", "-p", "x", "--on", "cron"]].concat());
    let listed = || session_with(&home, 80, &[("NO_COLOR", "1")], &["schedule", "list"], &[]).shown;
    for state in ["09:30", "NOT ACTIVE: your"] {
        let shown = listed();
        let lines: Vec<&str> = shown.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        assert!(lines.len() == 2 && lines.iter().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(lines[1].contains(state) && lines[1].starts_with("every-"), "{shown}");
        std::fs::write(home.work().join("table"), "").unwrap();
    }
}
