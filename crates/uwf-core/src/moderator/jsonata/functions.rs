//! Facts about JSONata's functions.

use super::names;

/// Why a function is forbidden, and what to use instead.
pub(super) fn refusal(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "now" | "millis" => Some((
            "reads the clock, but a decision must depend on the recorded steps alone",
            "let a role put the time into its output, and read it there",
        )),
        "random" | "shuffle" => Some((
            "draws random numbers, but a decision must depend on the recorded steps alone",
            "let a role draw, and read its output",
        )),
        "eval" => Some((
            "runs text as an expression, which can't be checked before the thread runs",
            "write the expression out, as a condition of its own",
        )),
        _ => None,
    }
}

/// Every built-in function, sorted, with the number of arguments from which it never uses the context value for a missing first argument.
/// If JSONata decides by the types of the arguments, this is the full number of parameters.
const BUILTIN: &[(&str, usize)] = &[
    ("abs", 1),
    ("append", 0),
    ("assert", 0),
    ("average", 0),
    ("base64decode", 1),
    ("base64encode", 1),
    ("boolean", 1),
    ("ceil", 1),
    ("contains", 2),
    ("count", 0),
    ("decodeUrl", 1),
    ("decodeUrlComponent", 1),
    ("distinct", 0),
    ("each", 2),
    ("encodeUrl", 1),
    ("encodeUrlComponent", 1),
    ("error", 0),
    ("eval", 2),
    ("exists", 0),
    ("filter", 0),
    ("floor", 1),
    ("formatBase", 2),
    ("formatInteger", 2),
    ("formatNumber", 3),
    ("fromMillis", 3),
    ("join", 0),
    ("keys", 1),
    ("length", 1),
    ("lookup", 2),
    ("lowercase", 1),
    ("map", 0),
    ("match", 3),
    ("max", 0),
    ("merge", 0),
    ("millis", 0),
    ("min", 0),
    ("not", 1),
    ("now", 0),
    ("number", 1),
    ("pad", 3),
    ("parseInteger", 2),
    ("power", 2),
    ("random", 0),
    ("reduce", 0),
    ("replace", 4),
    ("reverse", 0),
    ("round", 1),
    ("shuffle", 0),
    ("sift", 2),
    ("single", 0),
    ("sort", 0),
    ("split", 3),
    ("spread", 1),
    ("sqrt", 1),
    ("string", 1),
    ("substring", 3),
    ("substringAfter", 2),
    ("substringBefore", 2),
    ("sum", 0),
    ("toMillis", 2),
    ("trim", 1),
    ("type", 0),
    ("uppercase", 1),
    ("zip", 0),
];

/// Functions that keep an expression plain, with the number of arguments they may have.
///
/// Each does work linear in its arguments and returns a scalar or a part of an argument, so neither time nor memory can multiply. These are
/// therefore left out: `$distinct`, `$keys` and `$merge` (quadratic in distinct members), `$pad` and `$formatNumber` (size set by a
/// number), `$join`, `$append`, `$split`, `$replace`, `$zip`, `$spread`, the encodings (build new values), every function with a callback
/// (`$map`, `$filter`, `$reduce`, `$sort`, `$each`, `$sift`, `$single`, `$match`), and `$string` with indentation.
const PLAIN: &[(&str, usize)] = &[
    ("abs", 1),
    ("average", 1),
    ("boolean", 1),
    ("ceil", 1),
    ("contains", 2),
    ("count", 1),
    ("exists", 1),
    ("extractedBy", 1),
    ("first", 1),
    ("floor", 1),
    ("frontmatter", 1),
    ("last", 1),
    ("length", 1),
    ("lookup", 2),
    ("lowercase", 1),
    ("max", 1),
    ("min", 1),
    ("not", 1),
    ("number", 1),
    ("outcome", 1),
    ("power", 2),
    ("round", 2),
    ("sqrt", 1),
    ("string", 1),
    ("substring", 3),
    ("substringAfter", 2),
    ("substringBefore", 2),
    ("sum", 1),
    ("trim", 1),
    ("type", 1),
    ("uppercase", 1),
];

fn find(table: &[(&str, usize)], name: &str) -> Option<usize> {
    table.binary_search_by_key(&name, |(name, _)| name).ok().map(|index| table[index].1)
}

/// Whether a call with this many arguments keeps an expression plain.
pub(super) fn is_plain(name: &str, arguments: usize) -> bool {
    find(PLAIN, name).is_some_and(|most| arguments <= most)
}

/// Whether a function exists.
pub(super) fn exists(name: &str) -> bool {
    find(BUILTIN, name).is_some() || names::FUNCTIONS.contains(&name)
}

/// Whether a call with this many arguments may read the context value. Functions that the expression defines may.
pub(super) fn reads_context(name: &str, arguments: usize) -> bool {
    if names::FUNCTIONS.contains(&name) {
        return false;
    }
    find(BUILTIN, name).is_none_or(|enough| arguments < enough)
}

/// All functions an expression can call.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name).chain(names::FUNCTIONS)
}

#[cfg(test)]
mod tests {
    use jsonata_core::evaluator::Evaluator;
    use jsonata_core::value::JValue;

    use super::*;

    #[test]
    fn the_tables_are_sorted() {
        for table in [BUILTIN, PLAIN] {
            assert!(table.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }

    #[test]
    fn builtins_match_library_and_exclude_own_functions() {
        let taken = |name: &str| Evaluator::new().register_fn(name, |_: &[JValue]| Ok(JValue::Undefined)).is_err();
        for (name, _) in BUILTIN {
            assert!(taken(name), "the library has no ${name}");
        }
        for name in names::FUNCTIONS {
            assert!(!taken(name), "the library has ${name} now");
        }
    }

    #[test]
    fn plain_functions_exist_and_are_not_refused() {
        for (name, _) in PLAIN {
            assert!(exists(name) && refusal(name).is_none(), "{name}");
        }
    }
}
