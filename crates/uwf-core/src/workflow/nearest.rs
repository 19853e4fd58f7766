//! Finds the name somebody probably meant.

/// Symbols of a name above which no suggestion is looked for: the search is quadratic, and nobody mistypes
/// a paragraph.
const MAX_SYMBOLS: usize = 100;

/// Candidates looked at. Nobody reads through more names than that either.
const MAX_CANDIDATES: usize = 1000;

/// The candidate nearest to `wanted`, if any is near enough to be a slip: at most one edit in three symbols.
///
/// Case is ignored; of equally near candidates the first wins. A candidate equal to `wanted` is returned too.
#[must_use]
pub fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = symbols(wanted)?;
    let allowed = (wanted.len() / 3).max(1);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().take(MAX_CANDIDATES) {
        let Some(other) = symbols(candidate) else {
            continue;
        };
        if other.len().abs_diff(wanted.len()) > allowed {
            continue;
        }
        let distance = distance(&wanted, &other);
        if distance <= allowed && distance < other.len() && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `did you mean `X`?` for the nearest candidate, if there is one.
#[must_use]
pub fn did_you_mean<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<String> {
    nearest(wanted, candidates).map(|name| format!("did you mean `{name}`?"))
}

fn symbols(name: &str) -> Option<Vec<char>> {
    let symbols: Vec<char> = name.chars().flat_map(char::to_lowercase).take(MAX_SYMBOLS + 1).collect();
    (!symbols.is_empty() && symbols.len() <= MAX_SYMBOLS).then_some(symbols)
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one name into the other (optimal
/// string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let substituted = last[j] + usize::from(x != y);
            let mut least = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
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
    fn the_first_of_equals_wins_and_long_names_are_left_alone() {
        assert_eq!(nearest("cat", ["car", "cab"]), Some("car"));
        let long = "x".repeat(MAX_SYMBOLS + 1);
        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert_eq!(did_you_mean("stpe", ["step"]), Some("did you mean `step`?".to_owned()));
    }
}
