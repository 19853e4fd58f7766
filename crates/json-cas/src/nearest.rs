//! Suggests the name that was probably meant.

/// Longest name, in symbols, for which a suggestion is searched. The search is quadratic, and names are short.
const MAX_SYMBOLS: usize = 100;

/// Most candidates examined, so that the search ends soon.
const MAX_CANDIDATES: usize = 1000;

/// The candidate nearest to `wanted`, if any is near enough to be a typo: at most one edit per three symbols, where a swap of neighbours
/// counts as one.
///
/// Case is ignored. The first of several equally near candidates wins. A candidate equal to `wanted` is returned as well.
#[must_use]
pub fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let (wanted, symbols) = lowercase(wanted)?;
    let allowed = (symbols / 3).max(1);
    let distances = candidates.into_iter().take(MAX_CANDIDATES).filter_map(|candidate| {
        let (name, length) = lowercase(candidate).filter(|(_, length)| length.abs_diff(symbols) <= allowed)?;
        let distance = strsim::osa_distance(&wanted, &name);
        // A name of one or two symbols is never replaced completely.
        (distance <= allowed && distance < length).then_some((distance, candidate))
    });
    distances.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// `did you mean `X`?` for the nearest candidate, if there is one.
#[must_use]
pub fn did_you_mean<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    nearest(wanted, candidates).map(|name| format!("did you mean `{name}`?"))
}

/// The name in lower case and its number of symbols; `None` if it is empty or too long.
fn lowercase(name: &str) -> Option<(String, usize)> {
    let lower: String = name.chars().flat_map(char::to_lowercase).take(MAX_SYMBOLS + 1).collect();
    let symbols = lower.chars().count();
    (1..=MAX_SYMBOLS).contains(&symbols).then_some((lower, symbols))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        for (wanted, found) in [
            ("reviewr", Some("reviewer")),
            ("Reviewer", Some("reviewer")),
            ("planenr", Some("planner")),
            ("tester", Some("tester")),
            ("paln", None),
            ("plan", None),
            ("", None),
            ("qa", None),
        ] {
            assert_eq!(nearest(wanted, ["planner", "reviewer", "tester"]), found, "{wanted}");
        }
    }

    #[test]
    fn a_short_name_is_not_replaced_altogether() {
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("ab", ["ba"]), Some("ba"));
    }

    #[test]
    fn first_tie_wins_and_long_names_are_skipped() {
        assert_eq!(nearest("cat", ["car", "cab"]), Some("car"));
        let long = "x".repeat(MAX_SYMBOLS + 1);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(did_you_mean("stpe", ["step"]), Some("did you mean `step`?".to_owned()));
    }
}
