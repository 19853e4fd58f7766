//! Expressions that are not conditions.

use uwf_core::moderator::{CompiledCondition, ConditionError};

fn error(expression: &str) -> ConditionError {
    match CompiledCondition::compile(expression) {
        Ok(_) => panic!("{expression} compiles"),
        Err(error) => error,
    }
}

#[test]
fn impure_functions_are_refused_wherever_they_hide() {
    for (expression, name, position) in [
        ("$now() > '2026'", "now", 0),
        ("1 < $millis()", "millis", 4),
        ("$random() < 0.5", "random", 0),
        ("$shuffle(steps)[0]", "shuffle", 0),
        ("$eval('1')", "eval", 0),
        ("($f := $now; $f())", "now", 7),
        ("$map(steps, function($s) { $s.($millis()) })", "millis", 31),
        ("steps[output.t < $now()]", "now", 17),
        ("steps ~> $shuffle", "shuffle", 9),
        ("steps ~> $shuffle()", "shuffle", 9),
        ("{'a': [$eval]}", "eval", 7),
        ("$random(?)", "random", 0),
        ("steps^(>$random())", "random", 8),
        ("steps ~> |$|{'x': $now()}|", "now", 18),
        ("(function() { function() { $now() } })", "now", 27),
    ] {
        let error = error(expression);
        assert!(error.message.starts_with(&format!("`${name}` ")), "{error}");
        assert_eq!((error.position, error.code), (Some(position), None), "{expression}");
    }
    assert_eq!(
        error("steps[output.t < $now()]").to_string(),
        "`steps[output.t < $now()]`: `$now` reads the clock, but a decision must depend on the recorded steps alone \
         (character 18); let a role put the time into its output, and read it there"
    );
}

#[test]
fn focus_and_index_bindings_are_refused() {
    for (expression, sign) in [
        ("steps@$s.output", '@'),
        ("steps#$i", '#'),
        ("steps[0]#$i[$i = 0]", '#'),
        ("$map([1], function($x) { steps@$a.steps@$b })", '@'),
        ("steps@$s#$i", '@'),
        ("steps#$i#$j", '#'),
    ] {
        let error = error(expression);
        let expected = format!("the `{sign}` binding can multiply the data it walks without bound");
        assert_eq!(error.message, expected, "{expression}");
        assert_eq!(error.position, expression.find(sign), "{expression}");
    }
}

#[test]
fn mistakes_report_position_and_correction() {
    let message = |expression: &str| error(expression).to_string();
    assert_eq!(
        message("$cuont(steps) > 1"),
        "`$cuont(steps) > 1`: unknown function `$cuont` (character 1); did you mean `$count`?"
    );
    assert_eq!(
        message("count(steps) > 1"),
        "`count(steps) > 1`: `count` is called like a function, but function names begin with `$` (character 1); \
         did you mean `$count(…)`?"
    );
    assert_eq!(
        message("steps[-1].output.ok == true"),
        "`steps[-1].output.ok == true`: The symbol `=` cannot be used as a unary operator (S0211, character 22); \
         JSONata writes `=` for `==`"
    );
    assert_eq!(
        message("a && b"),
        "`a && b`: The symbol `&` cannot be used as a unary operator (S0211, character 4); \
         JSONata writes `and` for `&&`"
    );
    assert_eq!(message("steps[-1"), "`steps[-1`: Expected `]` before end of expression (S0203, character 9)");
    assert_eq!(message("(1 2)"), "`(1 2)`: Expected `)`, got the number 2 (S0202, character 4)");
    assert_eq!(
        message("'ž' = steps[0].output. 'x"),
        "`'ž' = steps[0].output. 'x`: String literal must be terminated by a matching quote (S0101, character 24)"
    );
    assert_eq!(
        message("!steps"),
        "`!steps`: Unknown operator: ! (S0204, character 1); JSONata has `!=`, and `$not(…)` for a negation"
    );
    assert_eq!(message(""), "``: Unexpected end of expression (S0207, character 1)");
}

#[test]
fn an_expression_may_not_be_endless() {
    let error = error(&format!("'{}'", "x".repeat(70_000)));
    assert_eq!(error.message, "the expression has 70002 bytes, more than 65536");
    assert!(error.to_string().len() < 500);
}
