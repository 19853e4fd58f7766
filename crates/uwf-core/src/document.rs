//! YAML and JSON files that people write for uwf. All are read by the same rules, and every problem is reported with line and column.

pub(crate) mod by_schema;
mod duration;
pub(crate) mod fields;
mod one_or_many;
mod positions;
mod problem;
mod read;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use by_schema::SchemaReadOptions;
pub(crate) use duration::DurationText;
pub use duration::parse_duration;
pub(crate) use json_cas::pointer::join;
pub use one_or_many::OneOrMany;
pub use positions::SourcePositions;
pub(crate) use problem::ProblemCollector;
pub use problem::{FileProblem, SchemaSeverity};
pub use read::{EMPTY_FILE, has_no_content};
pub(crate) use read::{as_written, parse, to_json};
use yaml_tree::{TextPosition, YamlNode};

/// The value of a file with the place of each part, for error messages.
#[derive(Clone, Debug)]
pub struct SourceDocument {
    /// The whole file as JSON.
    pub value: Value,
    positions: SourcePositions,
    root: YamlNode,
}

impl SourceDocument {
    /// Parses the text of a file. `origin` is the file's name in messages.
    ///
    /// # Errors
    /// Everything that makes the text unreadable, in order of place; never empty.
    pub fn parse(text: &str, origin: &str) -> Result<SourceDocument, Vec<FileProblem>> {
        let mut problems = ProblemCollector::new(origin);
        let Some(root) = parse(text, &mut problems) else { return Err(problems.finish()) };
        let value = to_json(&root, &mut problems);
        if problems.has_errors() {
            return Err(problems.finish());
        }
        let mut positions = SourcePositions::none(origin);
        positions.set_tree("", &root);
        Ok(SourceDocument { value, positions, root })
    }

    /// The file as a `T`, and everything that is wrong with it. A key that `T` lacks is an error. `what` names the file.
    #[must_use]
    pub fn read<T: JsonSchema + DeserializeOwned>(&self, what: &str) -> (Option<T>, Vec<FileProblem>) {
        let mut problems = ProblemCollector::new(self.positions.file());
        let reading = SchemaReadOptions { name: what, rule: DurationText::fault, refuses_unknown: true, hidden: &[] };
        let value = by_schema::read(&by_schema::schema_of_type::<T>(), &self.root, &reading, &mut problems);
        (value.and_then(|value| serde_json::from_value(value).ok()), problems.finish())
    }

    /// An error about the part at a JSON pointer (RFC 6901), or about the nearest existing part around it. The place of a part with a key
    /// is its key.
    #[must_use]
    pub fn error(&self, pointer: &str, code: &'static str, message: String, hint: Option<String>) -> FileProblem {
        self.problem(SchemaSeverity::Error, pointer, code, message, hint)
    }

    /// Like [`SourceDocument::error`], for a problem that does not make the file unusable.
    #[must_use]
    pub fn warning(&self, pointer: &str, code: &'static str, message: String, hint: Option<String>) -> FileProblem {
        self.problem(SchemaSeverity::Warning, pointer, code, message, hint)
    }

    fn problem(
        &self,
        severity: SchemaSeverity,
        pointer: &str,
        code: &'static str,
        message: String,
        hint: Option<String>,
    ) -> FileProblem {
        let place = (self.positions.file(), self.positions.key(pointer));
        FileProblem::at_position(place, severity, code, &message, hint.as_deref())
    }

    /// The place of the part at a JSON pointer: `file:line:column`.
    #[must_use]
    pub fn place(&self, pointer: &str) -> String {
        let TextPosition { line, column } = self.positions.key(pointer);
        format!("{}:{line}:{column}", self.positions.file())
    }

    /// The JSON pointer of `key` below `pointer`.
    #[must_use]
    pub fn below(pointer: &str, key: &str) -> String {
        join(pointer, key)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_found_again_by_its_pointer() {
        let document = SourceDocument::parse("a:\n  - b/c: no\n    d: 0123\n", "f.yaml").unwrap();
        assert_eq!(document.value, json!({"a": [{"b/c": "no", "d": "0123"}]}));
        let at = SourceDocument::below("/a/0", "b/c");
        assert_eq!(document.place(&at), "f.yaml:2:5");
        assert_eq!(document.place("/a/0"), "f.yaml:2:5");
        let problem = document.error("/a/0/d/x", "odd", "it is odd".to_owned(), None);
        assert_eq!(problem.to_string(), "f.yaml:3:8: error[odd]: it is odd");
    }

    #[test]
    fn syntax_errors_report_their_line() {
        let problems = SourceDocument::parse("a: 1\na: 2\n", "f.yaml").unwrap_err();
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            ["f.yaml:2:1: error[duplicate-key]: the key `a` is here a second time; the first is at line 1"]
        );
    }
}
