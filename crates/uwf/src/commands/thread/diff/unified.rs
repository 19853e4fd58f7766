//! A unified diff of two texts, as git prints it.

use std::fmt::{self, Write};

use imara_diff::{Algorithm, BasicLineDiffPrinter, Diff, InternedInput, Token, UnifiedDiffConfig, UnifiedDiffPrinter};

/// The diff of two named texts; empty if they are the same.
pub(super) fn unified(before: (&str, &str), after: (&str, &str)) -> String {
    let input = InternedInput::new(before.1, after.1);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let printer = GitPrinter(BasicLineDiffPrinter(&input.interner));
    let hunks = diff.unified_diff(&printer, UnifiedDiffConfig::default(), &input).to_string();
    if hunks.is_empty() { hunks } else { format!("--- {}\n+++ {}\n{hunks}", before.0, after.0) }
}

/// Prints line ranges as git does, and everything else as imara-diff does.
struct GitPrinter<'i>(BasicLineDiffPrinter<'i, str>);

impl UnifiedDiffPrinter for GitPrinter<'_> {
    fn display_header(
        &self,
        mut f: impl Write,
        start_before: u32,
        start_after: u32,
        len_before: u32,
        len_after: u32,
    ) -> fmt::Result {
        writeln!(f, "@@ -{} +{} @@", line_range(start_before, len_before), line_range(start_after, len_after))
    }

    fn display_context_token(&self, f: impl Write, token: Token) -> fmt::Result {
        self.0.display_context_token(f, token)
    }

    fn display_hunk(&self, f: impl Write, before: &[Token], after: &[Token]) -> fmt::Result {
        self.0.display_hunk(f, before, after)
    }
}

/// A range of lines, counted from `start`, which is 0 for the first line. An empty range names the line before it.
fn line_range(start: u32, length: u32) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_git() {
        let lines = |range: std::ops::RangeInclusive<u32>| range.map(|line| format!("{line}\n")).collect::<String>();
        let diff = |before: &str, after: &str| unified(("a", before), ("b", after));
        assert_eq!(diff("1\n", "1\n"), "");
        assert_eq!(diff("", "1\n"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+1\n");
        assert_eq!(diff("1\n2\n", ""), "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-1\n-2\n");
        let (before, after) = (lines(1..=20), format!("0\n{}{}", lines(1..=14), lines(16..=20)));
        assert_eq!(
            diff(&before, &after),
            "--- a\n+++ b\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -12,7 +13,6 @@\n 12\n 13\n 14\n-15\n 16\n 17\n 18\n"
        );
    }
}
