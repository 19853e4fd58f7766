//! The parts of a thread that a condition needs.

use uwf_core::moderator::{HistoryReads, Moderator};

use super::{compile, edge};

fn reads(expression: &str) -> HistoryReads {
    compile(expression).reads().clone()
}

#[test]
fn steps_are_read_from_end_they_count_from() {
    for expression in ["steps[-1].output.ok = false", "$steps[-1].meta", "$.steps[-1]", "$$.steps[-1].role"] {
        assert_eq!(reads(expression), HistoryReads { last: 1, ..HistoryReads::none() }, "{expression}");
    }
    assert_eq!(reads("steps[-2].role = steps[-1].role"), HistoryReads { last: 2, ..HistoryReads::none() });
    assert_eq!(reads("steps[0].output.x"), HistoryReads { first: 1, ..HistoryReads::none() });
    assert_eq!(reads("steps[-1].role = steps[3].role"), HistoryReads { first: 4, last: 1, ..HistoryReads::none() });
    assert_eq!(reads("steps[-1].output.steps[0] = 's'"), HistoryReads { last: 1, ..HistoryReads::none() });
    assert_eq!(reads("steps[-1][role='coder'].output.x"), HistoryReads { last: 1, ..HistoryReads::none() });
    assert_eq!(reads("steps[-1].output.items[$ = 1 and a.steps]"), HistoryReads { last: 1, ..HistoryReads::none() });
}

#[test]
fn counting_needs_no_steps() {
    for expression in ["$count(steps) > 5", "$count($steps) > 5", "steps[-1].($count($steps))"] {
        assert!(reads(expression).counts, "{expression}");
        assert!(!reads(expression).all, "{expression}");
    }
    let coder = HistoryReads { count_of: ["coder".into()].into(), ..HistoryReads::none() };
    assert_eq!(reads("$count(steps[role='coder']) > 2"), coder);
    assert_eq!(reads("$exists($steps['coder' = role])"), coder);
}

#[test]
fn ends_of_a_role_are_read_alone() {
    let newest = HistoryReads { last_of: ["r".into()].into(), ..HistoryReads::none() };
    for expression in
        ["$last('r').x", "steps[role='r'][-1].output.x", "$steps[role='r'][-1].meta", "$exists($last('r'))"]
    {
        assert_eq!(reads(expression), newest, "{expression}");
    }
    let oldest = HistoryReads { first_of: ["r".into()].into(), ..HistoryReads::none() };
    for expression in ["$first('r')", "steps[role='r'][0].output.x"] {
        assert_eq!(reads(expression), oldest, "{expression}");
    }
}

#[test]
fn the_start_is_always_at_hand() {
    for expression in ["start.prompt", "$start.workflow", "$.start.prompt", "$threadId = 'x' and $depth < 3", "true"] {
        assert_eq!(reads(expression), HistoryReads::none(), "{expression}");
    }
}

#[test]
fn extraction_details_are_read_separately() {
    assert_eq!(
        reads("$extractedBy(steps[-1]) = 'llm'"),
        HistoryReads { last: 1, details: true, ..HistoryReads::none() }
    );
    assert_eq!(
        reads("$frontmatter(steps[-1]).confidence < 0.5"),
        HistoryReads { last: 1, details: true, ..HistoryReads::none() }
    );
    assert_eq!(reads("$map(steps, $extractedBy)"), HistoryReads { all: true, details: true, ..HistoryReads::none() });
}

#[test]
fn anything_unclear_reads_everything() {
    for expression in [
        "steps",
        "$steps",
        "$",
        "$$",
        "*",
        "**.ok",
        "$string()",
        "$lookup('steps')",
        "$lookup($, 'steps')",
        "steps.output.ok",
        "steps[output.ok]",
        "steps[role='r']",
        "steps[role='r'].output.x",
        "steps[role='r'][-1].role",
        "steps[role='r'][-1]",
        "steps[role='r'][1].output",
        "steps[role=$steps[-1].role][-1].output",
        "steps[$count($steps) - 1].output",
        "steps[[0, 1]]",
        "steps[1.5]",
        "$count(steps.output)",
        "$count(steps[output.ok])",
        "$last(steps[-1].output.role)",
        "$map(['a'], $last)",
        "($s := steps; $s[-1])",
        "($steps := start; $steps[-1])",
        "($count := $sum; $count(steps[-1].output.n))",
        "(function() { steps[-1] })()",
        "steps[-1].%.start",
        "steps[-1].($$)",
        "steps ~> $count",
        "($f := $keys; $f())",
    ] {
        assert!(reads(expression).all, "{expression}: {:?}", reads(expression));
    }
}

#[test]
fn reads_stop_at_first_unconditional_transition() {
    let moderator = Moderator::new(vec![
        edge("a", Some("steps[-1].output.x")),
        edge("b", Some("$count(steps) > 3")),
        edge("c", None),
        edge("d", Some("steps.output.x")),
    ]);
    assert_eq!(moderator.reads(), HistoryReads { last: 1, counts: true, ..HistoryReads::none() });
    assert_eq!(Moderator::new(vec![edge("a", None)]).reads(), HistoryReads::none());
}
