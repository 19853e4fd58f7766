//! Which fields conditions read, and warnings about them.

use uwf_core::moderator::FieldRead;

use super::compile;

/// `role.path` of each field read; `?` is the role that ran last.
fn fields(expression: &str) -> Vec<String> {
    let name = |read: &FieldRead| format!("{}.{}", read.role.as_deref().unwrap_or("?"), read.path.join("."));
    compile(expression).field_reads().iter().map(name).collect()
}

fn warnings(expression: &str) -> Vec<String> {
    compile(expression).warnings().to_vec()
}

#[test]
fn a_field_is_known_by_role_and_path() {
    assert_eq!(
        compile("steps[-1].output.a.b > 1").field_reads(),
        [FieldRead { role: None, path: vec!["a".into(), "b".into()], text: "steps[-1].output.a.b".into() }]
    );
    assert_eq!(fields("$steps[-1].meta.status = 'x'"), ["?.status"]);
    assert_eq!(fields("$exists($$.steps[-1].output.a)"), ["?.a"]);
    assert_eq!(fields("$last('r').a.b = $first('q').c"), ["q.c", "r.a.b"]);
    assert_eq!(fields("($last('r')).a"), ["r.a"]);
    assert_eq!(fields("steps[role='r'][-1].output.a"), ["r.a"]);
    assert_eq!(fields("steps[role='r' and output.b = 1].output.a"), ["r.a", "r.b"]);
    assert_eq!(fields("steps[-1][role='r'].output.a"), ["r.a"]);
    assert_eq!(fields("steps[-1].output.items[done = false].name"), ["?.items.done", "?.items.name"]);
    assert_eq!(fields("steps[-1].output.(a > b.c)"), ["?.a", "?.b.c"]);
    assert_eq!(fields("steps[-1].output.`my field`"), ["?.my field"]);
    assert_eq!(
        fields("$filter(steps[role='p'].meta.phases, function($p) { $p.hash in steps[role='c'].meta.done })"),
        ["c.done", "p.phases", "p.phases.hash"]
    );
}

#[test]
fn fields_of_unknown_roles_are_not_reported() {
    for expression in
        ["steps[-2].output.a", "steps[0].output.a", "steps.output.a", "$last(start.prompt).a", "start.prompt"]
    {
        assert_eq!(fields(expression), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn unknown_names_are_reported() {
    assert_eq!(
        warnings("output.approved = true"),
        ["the context has no field `output`, so it is always missing; did you mean `steps[-1].output`?"]
    );
    assert_eq!(
        warnings("step[-1].output.x"),
        ["the context has no field `step`, so it is always missing; did you mean `steps`?"]
    );
    assert_eq!(
        warnings("steps[-1].approved = true"),
        ["a step has no field `approved`, so it is always missing; did you mean `steps[-1].output.approved`?"]
    );
    assert_eq!(
        warnings("steps[outptu.x = 1].role"),
        ["a step has no field `outptu`, so it is always missing; did you mean `output`?"]
    );
    assert_eq!(
        warnings("start.promt = 'x'"),
        ["the start has no field `promt`, so it is always missing; did you mean `start.prompt`?"]
    );
    assert_eq!(
        warnings("$step[-1].output.x"),
        ["the variable `$step` is never bound, so it is always missing; did you mean `$steps`?"]
    );
    assert_eq!(warnings("$map(steps, function($s) { $s.output.x })"), Vec::<String>::new());
    assert_eq!(warnings("steps[-1].output.anything.at.all"), Vec::<String>::new());
}

#[test]
fn a_negated_step_is_suspicious_whatever_the_schema() {
    assert_eq!(warnings("$not(steps[role='reviewer'])").len(), 1);
    assert_eq!(warnings("$not($last('reviewer'))").len(), 1);
    assert_eq!(warnings("$not(start.prompt = 'x')"), Vec::<String>::new());
}

#[test]
fn reads_of_input_are_known_by_path() {
    let inputs =
        |expression: &str| compile(expression).input_reads().iter().map(|read| read.path.join(".")).collect::<Vec<_>>();
    assert_eq!(inputs("start.input.a.b and $start.input.c = 1"), ["a.b", "c"]);
    assert_eq!(inputs("$$.start.input.`my field`"), ["my field"]);
    assert_eq!(inputs("$count(start.input) > 1"), [""]);
    assert_eq!(inputs("steps[-1].output.input"), Vec::<String>::new());
    assert_eq!(
        warnings("start.inptu.a"),
        ["the start has no field `inptu`, so it is always missing; did you mean `start.input`?"]
    );
}
