//! The record of a thread: whatever stands in it, it is read, and a result that is recorded behind it is found; so are
//! settings.

use json_cas::NodeHash;
use tempfile::TempDir;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::recorded::{self, AttemptEnd, AttemptOutcome, ThreadRecord};
use uwf_engine::attempt::settings::ThreadSettings;
use uwf_engine::root::home::Home;
use uwf_testing::{FuzzTarget, dir_in_memory};

pub(crate) const SUBJECT: FuzzTarget = FuzzTarget {
    name: "record.jsonl",
    samples: &[
        br#"
{"event":"settings","workspace":"/w","agents":{"coder":"c"},"maxSteps":7,"begunAt":"0000000000001","parent":"01ARZ3NDEKTSV4RRFFQ69G5FAX"}

{"event":"begun"}

{"event":"opened","attempt":"01ARZ3NDEKTSV4RRFFQ69G5FAV","thread":"01ARZ3NDEKTSV4RRFFQ69G5FAW","expectedHead":"0000000000001","role":"worker","agent":{"name":"a","command":"a","args":["x"],"output":"text","model":null,"env":[],"ownKeys":[],"timeoutMs":1000,"idleTimeoutMs":null,"exitCodes":[[3,false]],"expectFile":null,"config":{"k":[1]}},"workspace":"/","secrets":["K"],"promptBudget":1,"outputCap":1,"earlier":["0000000000002"],"keeper":1,"bootId":"b","openedAt":1}

{"event":"started","attempt":"01ARZ3NDEKTSV4RRFFQ69G5FAV","pid":7}

{"event":"answered","attempt":"01ARZ3NDEKTSV4RRFFQ69G5FAV","bytes":12}

{"event":"finished","attempt":"01ARZ3NDEKTSV4RRFFQ69G5FAV","step":"0000000000003","finishedAt":2}

{"event":"closed","attempt":"01ARZ3NDEKTSV4RRFFQ69G5FAV","outcome":"linked","closedAt":3}
"#,
        br#"{"event":"opened","attempt":"A","thread":"01ARZ3NDEKTSV4RRFFQ69G5FAW","expectedHead":"0000000000001","role":"w","agent":{"name":"a","command":"a","args":[],"output":"step","model":null,"env":[],"ownKeys":[],"timeoutMs":null,"idleTimeoutMs":null,"exitCodes":[],"expectFile":null,"config":{}},"workspace":"/","secrets":[],"promptBudget":1,"outputCap":1,"earlier":[],"keeper":1,"bootId":"b","openedAt":1}
{"event":"gaveUp","attempt":"A","kind":"io","error":"disk full","exitCode":null}
{"event":"named","attempt":"A","step":"0000000000003"}
{"event":"finished","attempt":"OTHER","step":"0000000000004","finishedAt":2}
{"event":"ended","thread":"01ARZ3NDEKTSV4RRFFQ69G5FAW","workflow":null,"head":"0000000000003","completedAt":5,"status":"killed"}
{"event":"fini"#,
    ],
    words: &[
        "\"event\"", "\"settings\"", "\"begun\"", "\"opened\"", "\"started\"", "\"finished\"", "\"closed\"", "\"ended\"", "\"named\"", "\"attempt\"", "\"A\"",
        "\"step\"", "\"thread\"", "\"0000000000009\"", "null", "-1", "4294967296", "18446744073709551616", "{", "}", "[", "]", ",", ":", "\n", "\\", "\"", "\0",
    ],
    check,
};

thread_local! {
    static DIR: TempDir = dir_in_memory();
}

fn check(bytes: &[u8]) {
    DIR.with(|dir| {
        let home = Home::open(dir.path(), "uwf");
        let thread: ThreadId = "01ARZ3NDEKTSV4RRFFQ69G5FAW".parse().expect("an id");
        std::fs::create_dir_all(home.threads_dir()).expect("a directory");
        std::fs::write(home.record_file(&thread), bytes).expect("the record can be written");
        let _ = ThreadSettings::load(&home, &thread);
        let settings = ThreadSettings { workspace: "/elsewhere".into(), ..ThreadSettings::default() };
        ThreadRecord::read(&home, &thread).expect("a record is readable whatever is in it").end();
        let Some(before) = recorded::read(&home, &thread).expect("the same") else { return };
        let id = before.opened.attempt.clone();
        let step = NodeHash::from_u64(9);
        recorded::finished(&home, &thread, &id, step, None).expect("a line is added");
        recorded::closed(&home, &before.opened, AttemptOutcome::Linked, None, None).expect("a line is added");
        let after = recorded::read(&home, &thread).expect("readable").expect("the attempt is still there");
        let closed_at = after.closed.as_ref().expect("it is closed").closed_at;
        let closed = AttemptEnd { closed_at, ..AttemptEnd::now(&id, AttemptOutcome::Linked) };
        assert_eq!((after.result(), &after.closed, &after.opened), (Some(step), &Some(closed), &before.opened));
        assert_eq!((&after.started, &after.named), (&before.started, &before.named));
        settings.save(&home, &thread).expect("a line is added");
        assert_eq!(ThreadSettings::load(&home, &thread).expect("readable"), Some(settings));
        assert_eq!(recorded::read(&home, &thread).expect("readable"), Some(after));
    });
}
