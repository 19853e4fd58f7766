//! `uwf schedule` with systemd and cron, and where no Temporal server answers. What it does with a server is in tests/temporal.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use uwf_testing::{FinishedRun, TestHome, text};

use crate::home;

/// Exit code where no server answers; a build without Temporal has nobody to ask.
const CODE: i32 = if cfg!(feature = "temporal") { 69 } else { 78 };

/// A crontab in the file `table`.
const CRONTAB: &str = "#!/bin/sh
PATH=/usr/bin:/bin
cd \"$(dirname \"$0\")\" || exit 1
test ! -e crontab-fails || { echo 'crontab: no space left' >&2; exit 1; }
case $1 in
  -l) cat table 2> /dev/null || { echo 'no crontab for me' >&2; exit 1; } ;;
  -) cat > table.new && mv table.new table ;;
esac
";

/// A systemd that records its commands.
const SYSTEMCTL: &str = "#!/bin/sh
PATH=/usr/bin:/bin
cd \"$(dirname \"$0\")\" || exit 1
shift
case $1 in
  show) test -e on || { echo ActiveState=inactive; exit; }; printf 'ActiveState=active\\nNextElapseUSecRealtime=Mon 2031-01-06 09:00:00 UTC\\n' ;;
  enable) echo \"$*\" >> calls; test ! -e systemd-fails || { echo 'Failed to enable' >&2; exit 1; }; touch on ;;
  disable) echo \"$*\" >> calls; rm -f on ;;
esac
";

const ONE_ROLE: &str = "name: tidy
description: x
input: { type: object, properties: { level: { type: integer } }, required: [level] }
roles:
  worker: { goal: You tidy up. }
graph:
  $START: [ { role: worker } ]
  worker: [ { role: $END } ]
";

const CREATE: [&str; 10] =
    ["schedule", "create", "weekly", "--workflow", "tidy", "--cron", "0 9 * * 1", "-p", "up 100%", "--set=level=3"];

fn scheduling() -> TestHome {
    let home = home();
    home.put("tidy", ONE_ROLE);
    home.script("worker", "#!/bin/sh\nPATH=/usr/bin:/bin\ncat > prompt\npwd >> runs\necho done\n");
    home.config("agents: { w: { command: worker, output: text }, h: { command: uwf-human } }\ndefaultAgent: w\n");
    home
}

fn with_cron() -> TestHome {
    let home = scheduling();
    home.script("crontab", CRONTAB);
    home
}

fn table(home: &TestHome) -> String {
    fs::read_to_string(home.bin_dir().join("table")).unwrap_or_default()
}

/// Runs the newest line of the crontab as cron does: by `sh`, with an environment of its own.
fn run_line(home: &TestHome) -> Option<i32> {
    let table = table(home);
    let line = table.lines().last().unwrap().strip_prefix("0 9 * * 1 ").unwrap().replace("\\%", "%");
    Command::new("/bin/sh").args(["-c", &line]).env_clear().current_dir("/").status().unwrap().code()
}

fn schedules(home: &TestHome) -> Vec<Value> {
    home.json(&["schedule", "list"]).as_array().unwrap().clone()
}

#[test]
fn cron_line_starts_and_runs_threads() {
    let home = with_cron();
    fs::write(home.bin_dir().join("table"), "# mine\n5 4 * * * true\n").unwrap();
    let created = home.json(&CREATE);
    assert_eq!(created, json!({ "schedule": "weekly", "on": "cron", "cron": "0 9 * * 1" }));
    assert!(table(&home).starts_with("# mine\n5 4 * * * true\n# uwf schedule weekly of "), "{}", table(&home));
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]), "nothing starts before its time");
    assert_eq!(run_line(&home), Some(0), "{:?}", fs::read_to_string(home.root().join("schedule-weekly.log")));
    let threads = home.json(&["thread", "list", "--all", "--label", "schedule=weekly"]);
    assert_eq!((threads.as_array().unwrap().len(), &threads[0]["outcome"]), (1, &json!("succeeded")));
    let prompt = fs::read_to_string(home.work().join("prompt")).unwrap();
    assert!(prompt.contains("up 100%") && prompt.contains("level"), "{prompt}");
    let row = &schedules(&home)[0];
    let next = text(row, "next");
    assert!(next.starts_with("Mon 20") && next.ends_with(" 09:00:00 UTC"), "{next}");
    assert_eq!((&row["active"], &row["lastThread"], &row["leftOut"]), (&json!(true), &threads[0]["thread"], &json!(0)));

    let refused = home.uwf(&CREATE);
    assert!(refused.code == Some(64) && refused.stderr.contains("uwf schedule rm weekly"), "{}", refused.transcript());
    home.json(&["schedule", "rm", "weekly"]);
    assert_eq!(table(&home), "# mine\n5 4 * * * true\n");
    assert_eq!(schedules(&home), [0; 0]);
    assert_eq!(home.uwf(&["schedule", "rm", "weekly"]).code, Some(69));
    assert_eq!(home.uwf(&["schedule", "start", "weekly"]).code, Some(69));
}

#[test]
fn log_keeps_earlier_runs_within_bounds() {
    let home = with_cron();
    home.json(&CREATE);
    let log = home.root().join("schedule-weekly.log");
    for _ in 0..2 {
        assert_eq!(run_line(&home), Some(0));
    }
    let said = fs::read_to_string(&log).unwrap();
    let runs = said.lines().filter(|line| line.starts_with("--- 20") && line.ends_with(" UTC")).count();
    assert_eq!((runs, said.matches("\"done\":true").count()), (2, 2), "{said}");
    let shown = home.json(&["schedule", "show", "weekly"]);
    assert_eq!((text(&shown, "output"), text(&shown, "prompt")), (log.display().to_string(), "up 100%".to_owned()));

    let much = "x".repeat(1 << 20);
    fs::write(&log, format!("{said}{much}")).unwrap();
    assert_eq!(run_line(&home), Some(0));
    let newest = fs::read_to_string(&log).unwrap();
    assert!(newest.starts_with("--- 20") && newest.len() < 10_000, "{} bytes", newest.len());
    let older = log.with_extension("log.1");
    assert_eq!(fs::read_to_string(&older).unwrap(), format!("{said}{much}"));
    let shown = home.uwf(&["schedule", "show", "weekly", "--format", "text"]).stdout;
    for part in ["weekly\n", "  task ", "up 100%", &log.display().to_string(), &older.display().to_string()] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let unknown = home.uwf(&["schedule", "show", "weakly"]);
    assert!(unknown.code == Some(69) && unknown.stderr.contains("did you mean `weekly`?"), "{}", unknown.transcript());

    // A line of an earlier version replaces the file at each run.
    fs::write(home.bin_dir().join("table"), table(&home).replace(" >>", " >")).unwrap();
    assert_eq!(schedules(&home)[0]["active"], true);
    assert_eq!(run_line(&home), Some(0));
}

#[test]
fn time_is_left_out_while_thread_waits() {
    let home = with_cron();
    home.config("agents: { h: { command: uwf-human } }\ndefaultAgent: h\n");
    home.json(&CREATE);
    assert_eq!(run_line(&home), Some(20), "it waits for a person");
    let left_out = home.json(&["schedule", "start", "weekly"]);
    assert_eq!(left_out["leftOut"], true);
    assert_eq!(run_line(&home), Some(0));
    let row = &schedules(&home)[0];
    assert_eq!((&row["leftOut"], text(row, "lastThread")), (&json!(2), text(&left_out, "thread")));
    home.json(&["thread", "kill", &text(row, "lastThread")]);
    assert_eq!(run_line(&home), Some(20), "the next one begins");
}

#[test]
fn schedule_continues_thread_after_usage_limit() {
    let home = with_cron();
    let limited = "#!/bin/sh\nPATH=/usr/bin:/bin\ncat > /dev/null\nif [ -e tried ]; then echo done; else touch tried; echo \"limit reached|$(cat end)\"; exit 1; fi\n";
    home.script("worker", limited);
    let end = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 3600;
    home.file("end", &end.to_string());
    home.json(&CREATE);
    assert_eq!(run_line(&home), Some(30), "it is at its usage limit");
    let left_out = home.json(&["schedule", "start", "weekly"]);
    assert_eq!(left_out["leftOut"], true);
    // The hour passes.
    let mark = home.root().join(format!("marks/{}.limited", text(&left_out, "thread")));
    let ended = fs::read_to_string(&mark).unwrap().replace(&format!("\"until\":{end}000"), "\"until\":1");
    fs::write(&mark, ended).unwrap();
    fs::remove_dir_all(home.root().join("limits")).unwrap();
    assert_eq!(run_line(&home), Some(0), "{:?}", fs::read_to_string(home.root().join("schedule-weekly.log")));
    let threads = home.json(&["thread", "list", "--all"]);
    assert_eq!((threads.as_array().unwrap().len(), &threads[0]["outcome"]), (1, &json!("succeeded")));
    let row = &schedules(&home)[0];
    assert_eq!((&row["leftOut"], &row["lastThread"]), (&json!(1), &left_out["thread"]));
}

#[test]
fn cron_line_stays_active_under_another_path() {
    let home = with_cron();
    home.json(&CREATE);
    let path = format!("{}:/opt/elsewhere", home.bin_dir().display());
    let listed = home.command(&["schedule", "list"]).env("PATH", path).output().unwrap();
    assert_eq!(FinishedRun::from(listed).json()[0]["active"], true);
    fs::write(home.bin_dir().join("table"), table(&home).replace("0 9 * * 1 cd", "0 8 * * 1 cd")).unwrap();
    let row = &schedules(&home)[0];
    assert_eq!((&row["active"], &row["why"]), (&json!(false), &json!("its line in your crontab was changed")));
}

#[test]
fn two_timers_at_once_start_one_thread() {
    let home = with_cron();
    home.config("agents: { h: { command: uwf-human } }\ndefaultAgent: h\n");
    home.json(&CREATE);
    let mut both = [(); 2].map(|()| home.command(&["schedule", "start", "weekly"]).spawn().unwrap());
    let codes = both.each_mut().map(|timer| timer.wait().unwrap().code().unwrap());
    assert_eq!(codes.iter().sum::<i32>(), 20, "one waits, one left its time out: {codes:?}");
    assert_eq!(home.json(&["thread", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn refused_schedule_leaves_nothing() {
    let home = with_cron();
    home.config("x-none: 1\n");
    let with = |args: &[&str]| {
        let refused = home.uwf(&[&CREATE[..5], args].concat());
        assert_ne!(refused.code, Some(0), "{args:?}: {}", refused.transcript());
        assert_eq!((table(&home), schedules(&home).len()), (String::new(), 0), "{args:?}");
        refused.stderr
    };
    let (cron, task) = (["--cron", "0 9 * * 1"], ["-p", "x", "--set", "level=1"]);
    let unset = with(&[&cron[..], &task].concat());
    assert!(unset.contains("no agent is configured") && !unset.contains("--agent"), "{unset}");
    home.config("agents: { w: { command: worker, output: text } }\ndefaultAgent: w\n");
    assert!(with(&[&["--cron", "0 25 * * *"], &task[..]].concat()).contains("`25` is not an hour: use 0 to 23"));
    assert!(with(&[&["--cron", "0 9 30 2 *"], &task[..]].concat()).contains("no month has such a day"));
    assert!(with(&[&cron[..], &["-p", "x"]].concat()).contains("level"));
    let zone = with(&[&["--cron", "CRON_TZ=Asia/Tokyo 0 9 * * *"], &task[..]].concat());
    assert!(zone.contains("cron uses the time zone of this machine"), "{zone}");
    fs::write(home.bin_dir().join("crontab-fails"), "").unwrap();
    assert!(with(&[&cron[..], &task, &["--on", "cron"]].concat()).contains("no space left"));
}

#[test]
fn gc_keeps_the_workflow_of_a_schedule() {
    let home = with_cron();
    let hash = text(&home.json(&["workflow", "show", "tidy"]), "hash");
    home.json(&["workflow", "rm", "tidy"]);
    home.json(&[&["schedule", "create", "weekly", "--workflow", &hash], &CREATE[5..]].concat());
    home.json(&["gc", "--grace", "0s"]);
    assert_eq!(run_line(&home), Some(0), "{:?}", fs::read_to_string(home.root().join("schedule-weekly.log")));
}

#[test]
fn machine_without_timers_says_so() {
    let home = scheduling();
    let refused = home.uwf(&CREATE);
    assert!(refused.code == Some(78) && refused.stderr.contains("--on temporal"), "{}", refused.transcript());
}

#[test]
fn crontab_in_other_encoding_stays() {
    let home = with_cron();
    let latin = b"# M\xfcll abholen\n5 4 * * * true\n";
    fs::write(home.bin_dir().join("table"), latin).unwrap();
    let refused = home.uwf(&[&CREATE[..], &["--on", "cron"]].concat());
    assert!(refused.code == Some(78) && refused.stderr.contains("not UTF-8"), "{}", refused.transcript());
    assert_eq!(fs::read(home.bin_dir().join("table")).unwrap(), latin);
    assert_eq!(schedules(&home), [0; 0]);
}

#[test]
fn schedule_is_removed_without_its_timer() {
    let home = with_cron();
    home.json(&CREATE);
    fs::remove_file(home.bin_dir().join("crontab")).unwrap();
    assert_eq!(schedules(&home)[0]["why"], "program `crontab` is not on PATH");
    home.json(&["schedule", "rm", "weekly"]);
    assert_eq!(schedules(&home), [0; 0]);
}

#[test]
fn lost_timer_is_named() {
    let home = with_cron();
    home.json(&CREATE);
    fs::write(home.bin_dir().join("table"), "").unwrap();
    assert_eq!(schedules(&home)[0]["active"], false);
    let listed = home.uwf(&["schedule", "list", "--format", "text"]).stdout;
    assert!(listed.contains("NOT ACTIVE: your crontab has no such line"), "{listed}");
    let shown = home.uwf(&["schedule", "show", "weekly", "--format", "text"]).stdout;
    let again = shown.split_once("To create it again:\n").unwrap().1.trim();
    assert!(again.contains("uwf schedule create weekly --workflow "), "{again}");
    let mut shell = std::process::Command::new("sh");
    home.prepare(&mut shell);
    let uwf = format!("uwf() {{ {} \"$@\"; }}; ", uwf_testing::uwf_program());
    let created = shell.args(["-c", &format!("{uwf}{again}")]).output().unwrap();
    assert!(created.status.success(), "{again}: {}", String::from_utf8_lossy(&created.stderr));
    assert_eq!(schedules(&home)[0]["active"], true, "{again}");
    home.json(&["schedule", "rm", "weekly"]);
}

#[test]
fn systemd_timer_starts_threads() {
    let home = scheduling();
    home.script("systemctl", SYSTEMCTL);
    let units = home.work().join("units");
    let uwf = |args: &[&str]| {
        let done = home.command(args).env("XDG_CONFIG_HOME", &units).output().unwrap();
        (
            done.status.code(),
            format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr)),
        )
    };
    fs::write(home.bin_dir().join("systemd-fails"), "").unwrap();
    let (code, said) = uwf(&CREATE);
    assert!(code == Some(74) && said.contains("Failed to enable"), "{said}");
    let unit = |kind: &str| units.join("systemd/user/uwf-weekly").with_extension(kind);
    assert!(!unit("timer").exists() && !unit("service").exists(), "a refused timer leaves no files");
    fs::remove_file(home.bin_dir().join("systemd-fails")).unwrap();

    let (code, said) = uwf(&CREATE);
    assert!(code == Some(0) && said.contains("\"on\":\"systemd\""), "{said}");
    let timer = fs::read_to_string(unit("timer")).unwrap();
    assert!(timer.contains("\nOnCalendar=mon *-*-* 9:0:00 UTC\n") && timer.contains("\nPersistent=true\n"), "{timer}");
    let service = fs::read_to_string(unit("service")).unwrap();
    assert!(service.contains(" schedule start weekly\n") && service.contains("\nKillMode=process\n"), "{service}");
    let (_, listed) = uwf(&["schedule", "list"]);
    assert!(listed.contains("\"next\":\"Mon 2031-01-06 09:00:00 UTC\""), "{listed}");
    let (code, said) = uwf(&["schedule", "rm", "weekly"]);
    assert!(code == Some(0) && !unit("timer").exists() && !unit("service").exists(), "{said}");
    let calls = fs::read_to_string(home.bin_dir().join("calls")).unwrap();
    assert!(calls.ends_with("enable --now uwf-weekly.timer\ndisable --now uwf-weekly.timer\n"), "{calls}");
}

#[test]
fn systemd_unit_of_another_root_stays() {
    let (first, second) = (scheduling(), scheduling());
    let shared = first.work().join("units");
    let run = |home: &TestHome, units: &Path, args: &[&str]| {
        FinishedRun::from(home.command(args).env("XDG_CONFIG_HOME", units).output().unwrap())
    };
    for home in [&first, &second] {
        home.script("systemctl", SYSTEMCTL);
    }
    assert_eq!(run(&first, &shared, &CREATE).code, Some(0));
    let units =
        || ["timer", "service"].map(|kind| fs::read(shared.join(format!("systemd/user/uwf-weekly.{kind}"))).unwrap());
    let before = units();
    let owner = format!("uwf-weekly.timer belongs to a schedule of the storage root {}", first.root().display());
    let refused = run(&second, &shared, &CREATE);
    assert!(refused.code == Some(78) && refused.stderr.contains(&owner), "{}", refused.transcript());
    assert_eq!(schedules(&second), [0; 0]);

    // Both had created it before uwf looked at the owner.
    assert_eq!(run(&second, &second.work().join("units"), &CREATE).code, Some(0));
    let listed = run(&second, &shared, &["schedule", "list"]).json();
    assert_eq!((&listed[0]["active"], &listed[0]["why"]), (&json!(false), &json!(owner)));
    let removed = run(&second, &shared, &["schedule", "rm", "weekly"]);
    assert!(removed.code == Some(0) && removed.stderr.contains(&owner), "{}", removed.transcript());
    assert_eq!((schedules(&second).len(), units() == before), (0, true));
    assert_eq!(run(&first, &shared, &["schedule", "rm", "weekly"]).code, Some(0));
    assert!(!shared.join("systemd/user/uwf-weekly.service").exists());
}

#[test]
fn commands_without_server_fail_and_create_nothing() {
    let home = home();
    home.config("temporal: { address: '127.0.0.1:1' }\n");
    home.transcript(&["init", "workflow", "develop"]);
    home.transcript(&["workflow", "put", "develop.yaml"]);
    let create = ["schedule", "create", "weekly", "--workflow", "develop", "--cron", "0 9 * * 1", "-p", "tidy up"];
    for args in [&create[..], &["schedule", "list"], &["schedule", "rm", "weekly"]] {
        let done = home.uwf(args);
        assert_eq!(done.code, Some(CODE), "{args:?}: {}", done.stderr);
        let says = if cfg!(feature = "temporal") { "127.0.0.1:1" } else { "--features temporal" };
        assert!(done.stderr.contains(says), "{args:?}: {}", done.stderr);
    }
    assert_eq!(home.json(&["thread", "list", "--all"]), json!([]));
}

#[test]
fn a_name_that_none_can_be_is_refused() {
    let home = home();
    for name in ["a/b", "-x"] {
        let done = home.uwf(&["schedule", "rm", "--", name]);
        assert_eq!(done.code, Some(64), "{}", done.stderr);
    }
}

#[test]
fn list_here_has_schedules_of_project() {
    let home = with_cron();
    let names = |dir: &std::path::Path, args: &[&str]| {
        let listed = home.command(&[&["schedule", "list"], args].concat()).current_dir(dir).output().unwrap();
        String::from_utf8(listed.stdout).unwrap()
    };
    let [app, other] = ["app", "other"].map(|name| {
        let dir = home.work().join(name);
        fs::create_dir_all(dir.join(".git")).unwrap();
        let create =
            ["schedule", "create", name, "--workflow", "tidy", "--cron", "0 9 * * 1", "-p", "x", "--set=level=3"];
        assert!(home.command(&create).current_dir(&dir).output().unwrap().status.success());
        dir
    });
    let here = names(&app, &["--here"]);
    assert!(here.contains("\"schedule\":\"app\"") && !here.contains("\"schedule\":\"other\""), "{here}");
    assert!(names(&other, &[]).contains("\"schedule\":\"app\""));
    let shown = names(&app, &["--here", "--format", "text"]);
    assert!(
        shown.contains("app       tidy      0 9 * * 1  Mon 20")
            && shown.contains(" 09:00:00 UTC\n")
            && !shown.contains("other"),
        "{shown}"
    );
}
