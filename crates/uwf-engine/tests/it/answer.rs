//! `thread answer`: a person plays the next role, and the head moves as in every step.

use std::sync::Barrier;

use json_cas::SwapOutcome;
use serde_json::json;
use uwf_core::agent_name::AgentName;
use uwf_core::node::TypedPayload;
use uwf_core::thread::ThreadId;
use uwf_engine::attempt::recorded::{self, AttemptOutcome};
use uwf_engine::error::{Error, ErrorKind};
use uwf_engine::root::home::Home;
use uwf_engine::thread::load::Thread;
use uwf_engine::verbs::answer::{self, AnswerPrecondition, OpenQuestion, PersonAnswer};
use uwf_engine::verbs::step::StepReport;
use uwf_engine::verbs::{kill, pause};

use crate::memory::{Machine, failure};

/// Answers, and does something else once the answer is stored and before the head moves.
fn while_answering(machine: &Machine, asked: &OpenQuestion, meanwhile: &dyn Fn()) -> Result<StepReport, Error> {
    let given = PersonAnswer {
        output: &|_| unreachable!("nothing was left over"),
        store: &|attempt| {
            let step = machine.store(asked, attempt, &json!({"text": "It rains."}));
            meanwhile();
            step
        },
    };
    answer::record(&machine.home, asked, &given)
}

#[test]
fn answer_reports_its_step_and_next_role() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let before = machine.thread(&id).head;
    let report = machine.answer(&id, json!({"text": "It rains."})).unwrap();
    assert_eq!((report.role.as_deref(), report.agent.as_ref().map(AgentName::short)), (Some("writer"), Some("person")));
    assert_eq!((report.done, report.adopted), (false, false));
    let step = machine.thread(&id).last.clone().unwrap();
    assert_eq!((step.start, step.prev, report.head == before), (before, None, false));
    assert_eq!(machine.home.store().get(step.output).unwrap().payload, json!({"text": "It rains."}));
}

#[test]
fn second_answer_to_question_is_too_late() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let asked = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap();
    let first = machine.answer_as(&asked, json!({"text": "It rains."})).unwrap();
    let error = machine.answer_as(&asked, json!({"text": "It pours."})).unwrap_err();
    let message = format!("role `writer` was played by another process meanwhile: the head is {} now", first.head);
    assert_eq!(failure(&error), (ErrorKind::Busy, message.as_str()));
    assert_eq!(machine.steps(&id).len(), 1);
}

#[test]
fn one_of_many_concurrent_answers_wins() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let asked = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap();
    let barrier = Barrier::new(6);
    let heard = std::thread::scope(|scope| {
        let people: Vec<_> = (0..6)
            .map(|number| {
                let (machine, asked, barrier) = (&machine, &asked, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    machine.answer_as(asked, json!({"text": format!("Draft of {number}.")}))
                })
            })
            .collect();
        people.into_iter().map(|person| person.join().unwrap()).collect::<Vec<_>>()
    });
    let refused: Vec<ErrorKind> =
        heard.iter().filter_map(|heard| heard.as_ref().err()).map(|error| error.kind).collect();
    assert_eq!(refused, [ErrorKind::Busy; 5]);
    assert_eq!(machine.steps(&id).len(), 1);
}

#[test]
fn head_moved_elsewhere_is_not_moved_again() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let asked = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap();
    let elsewhere = machine.home.store().put(&end_of_another(&machine, &id)).unwrap();
    let error = while_answering(&machine, &asked, &|| move_to(&machine.home, &id, elsewhere)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy);
    assert!(error.message.ends_with(&format!("(head is {elsewhere})")), "{}", error.message);
    // What was answered is kept, and found by its hash.
    let attempt = recorded::read(&machine.home, &id).unwrap().unwrap();
    assert_eq!(attempt.closed.as_ref().unwrap().outcome, AttemptOutcome::Quarantined);
    let kept = attempt.finished.unwrap().step;
    assert_eq!(error.hints, [format!("`uwf thread step-details {kept}` shows it")]);
    assert!(machine.home.store().has(kept).unwrap());
}

/// A StartNode that is another one's.
fn end_of_another(machine: &Machine, id: &ThreadId) -> json_cas::NodeDraft {
    let mut start = machine.thread(id).start.clone();
    start.prompt = "On snow.".to_owned();
    start.draft()
}

fn move_to(home: &Home, id: &ThreadId, to: json_cas::NodeHash) {
    let version = home.heads().read(id.as_str()).unwrap().unwrap().version;
    assert_eq!(home.heads().swap(id.as_str(), &version, to).unwrap(), SwapOutcome::Done);
}

#[test]
fn answer_to_killed_thread_is_kept_for_fork() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let asked = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap();
    let other = machine.beside();
    let error = while_answering(&machine, &asked, &|| assert!(kill::kill(&other.home, &id, None).is_ok())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.starts_with(&format!("thread {id} ended meanwhile: step ")), "{}", error.message);
    let kept = recorded::read(&machine.home, &id).unwrap().unwrap().finished.unwrap().step;
    assert_eq!(error.hints, [format!("`uwf thread fork {kept}` continues from it")]);
    assert_eq!(Thread::load_at(&machine.home, id.clone(), kept).unwrap().position(), "writer");
}

#[test]
fn invalid_output_never_becomes_step() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let head = machine.thread(&id).head;
    let error = machine.answer(&id, json!({"text": 7})).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Data);
    assert!(error.message.contains("/text"), "{}", error.message);
    assert_eq!(machine.thread(&id).head, head);
    machine.answer(&id, json!({"text": "It rains."})).unwrap();
}

#[test]
fn step_of_other_role_is_rejected_without_change() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    let asked = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap();
    let wrong = OpenQuestion { role: "editor".to_owned(), ..asked.clone() };
    let given = PersonAnswer {
        output: &|_| unreachable!("nothing was left over"),
        store: &|attempt| machine.store(&wrong, attempt, &json!({"approved": true})),
    };
    let error = answer::record(&machine.home, &asked, &given).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AgentFailed);
    assert_eq!(machine.thread(&id).head, asked.head);
}

#[test]
fn a_paused_thread_asks_nobody() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    pause::pause(&machine.home, &id, Some("until Monday"), None).unwrap();
    let error = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::Waiting, format!("thread {id} is paused: until Monday").as_str()));
    pause::resume(&machine.home, &id, None).unwrap();
    assert_eq!(answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap().role, "writer");
}

#[test]
fn a_thread_that_has_ended_asks_nobody() {
    let machine = Machine::with_essay();
    let id = machine.start("essay");
    machine.approved(&id);
    let error = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap_err();
    assert_eq!(failure(&error), (ErrorKind::NotFound, format!("thread {id} has ended").as_str()));
    assert_eq!(error.hints[0], format!("`uwf thread show {id}` shows how"));
}

#[test]
fn program_role_is_stepped_not_answered() {
    let machine = Machine::with_essay();
    let config = "agents:\n  person: { command: uwf-human }\n  robot: { command: uwf-mock }\ndefaultAgent: robot\n";
    std::fs::write(machine.home.config_file(), config).unwrap();
    let id = machine.start("essay");
    let error = answer::asked(&machine.home, &id, AnswerPrecondition::default()).unwrap_err();
    let message = format!("thread {id} does not wait for a person: its next role `writer` is played by `robot`");
    assert_eq!(failure(&error), (ErrorKind::Usage, message.as_str()));
    assert_eq!(error.hints, [format!("step it: `uwf thread step {id}`")]);
}
