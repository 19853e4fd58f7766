//! `@` and `--last` name the newest thread; `ls`, `step`, `show` and `read` are short forms.

use serde_json::json;
use uwf_testing::text;

use crate::fixtures::answering::counting_home;

#[test]
fn at_sign_names_newest_thread_everywhere() {
    let home = counting_home(2);
    let none = home.uwf(&["thread", "show", "@"]);
    assert_eq!(none.code, Some(69));
    assert!(none.stderr.contains("no thread exists yet"), "{}", none.stderr);

    let [first, second, third] = ["one", "two", "three"].map(|prompt| home.start("count-rounds", prompt));
    for (typed, meant) in [("@", &third), ("@1", &third), ("@2", &second), ("@3", &first)] {
        assert_eq!(&text(&home.json(&["thread", "show", typed]), "thread"), meant, "{typed}");
    }
    assert_eq!(text(&home.json(&["thread", "step", "@"]), "thread"), third);
    assert_eq!(text(&home.json(&["run", "@2"]), "thread"), second);
    assert_eq!(text(&home.json(&["thread", "pause", "@"]), "thread"), third);
    assert_eq!(text(&home.json(&["thread", "resume", "@"]), "thread"), third);
    assert_eq!(home.json(&["thread", "eval", "@", "$count(steps)"]), json!(1));
    assert_eq!(home.json(&["thread", "steps", "@"])["thread"], third.as_str());
    let fork = text(&home.json(&["thread", "fork", "@"]), "thread");
    assert_eq!(text(&home.json(&["thread", "kill", "@"]), "thread"), fork, "a fork is the newest now");
    assert_eq!(text(&home.json(&["thread", "show", "@"]), "thread"), fork, "a finished thread is one too");
    home.json(&["thread", "rm", "@"]);
    assert_eq!(text(&home.json(&["thread", "show", "@"]), "thread"), third);
    assert!(home.uwf(&["thread", "read", "@"]).stdout.contains("three"));
}

#[test]
fn the_flag_last_is_the_same() {
    let home = counting_home(2);
    let [first, second] = ["one", "two"].map(|prompt| home.start("count-rounds", prompt));
    assert_eq!(text(&home.json(&["thread", "show", "--last"]), "thread"), second);
    assert_eq!(text(&home.json(&["thread", "step", "--last"]), "thread"), second);
    assert_eq!(home.json(&["thread", "eval", "--last", "$count(steps)"]), json!(1));
    assert_eq!(text(&home.json(&["run", "--last"]), "thread"), second);
    let fork = text(&home.json(&["thread", "fork", "--last", "--from-role", "worker"]), "thread");
    assert_eq!(text(&home.json(&["thread", "kill", "--last", "--format", "json"]), "thread"), fork);
    assert_eq!(text(&home.json(&["show", "@3"]), "thread"), first);
    for args in [
        &["thread", "show", "--last", "@2"][..],
        &["thread", "eval", "--last", "@2", "1"],
        &["run", "--last", "-p", "x"],
        &["thread", "show"],
        &["thread", "eval", "@"],
        &["thread", "fork"],
        &["run"],
    ] {
        assert_eq!(home.uwf(args).code, Some(64), "{args:?}");
    }
}

#[test]
fn unknown_thread_name_lists_valid_forms() {
    let home = counting_home(2);
    home.start("count-rounds", "one");
    for (typed, code, said) in [
        ("@2", 69, "`@2` names no thread: only one thread exists"),
        ("@0", 64, "@ is the newest thread, @2 the one before"),
        ("@-1", 64, "@ is the newest thread, @2 the one before"),
        ("@99999999999999999999999", 64, "@ is the newest thread, @2 the one before"),
        ("@two", 64, "@ is the newest thread, @2 the one before"),
    ] {
        let ran = home.uwf(&["thread", "show", typed]);
        assert_eq!(ran.code, Some(code), "{typed}");
        assert!(ran.stderr.contains(said), "{typed}: {}", ran.stderr);
    }
}

#[test]
fn id_without_plausible_time_is_never_newest() {
    let home = counting_home(2);
    let thread = home.start("count-rounds", "one");
    let head = home.head(&thread).unwrap();
    let index = home.root().join("threads.yaml");
    // Begins with a time of the year 10889, which no clock has made.
    let strange = format!("7{}", &"Z".repeat(25));
    std::fs::write(&index, format!("{thread}: \"{head}\"\n{strange}: \"{head}\"\n")).unwrap();
    assert_eq!(text(&home.json(&["thread", "show", "@"]), "thread"), thread);
    assert_eq!(text(&home.json(&["thread", "show", "@2"]), "thread"), strange);
}

#[test]
fn short_forms_do_what_the_long_ones_do() {
    let home = counting_home(2);
    let thread = home.start("count-rounds", "one");
    assert_eq!(text(&home.json(&["step", &thread]), "role"), "worker");
    for (short, long) in [
        (&["ls"][..], &["thread", "list"][..]),
        (&["ps"], &["thread", "ps"]),
        (&["ls", "--format", "text"], &["thread", "list", "--format", "text"]),
        (&["show", "@"], &["thread", "show", "@"]),
        (&["read", "@"], &["thread", "read", "@"]),
        (&["read", "@", "--format", "json"], &["thread", "read", "@", "--format", "json"]),
        (&["step", "@", "--dry-run"], &["thread", "step", "@", "--dry-run"]),
    ] {
        let (short, long) = (home.uwf(short), home.uwf(long));
        assert_eq!((short.code, &short.stdout), (Some(0), &long.stdout));
    }
}
