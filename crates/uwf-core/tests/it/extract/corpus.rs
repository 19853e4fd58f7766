//! The corpus: answers in the style of real models and programs, each with its right reading. `tests/corpus/README.md` says how a case
//! is written and how its right reading is decided.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use uwf_core::document::SourceDocument;

use super::*;

/// Fewest cases in the corpus.
const MIN_CASES: usize = 2_550;

/// The file with the named schemas.
const SCHEMAS: &str = "schemas.yaml";

/// The file with cases that are read wrongly today.
const KNOWN_FAULTS: &str = "known-faults.yaml";

/// The result of reading an answer.
#[derive(Debug, Clone, PartialEq)]
enum Reading {
    /// Without `body`, any text beside the value is right.
    Value { value: Value, body: Option<String> },
    /// `says` is a part of the error.
    Refused { says: Option<String> },
}

/// The outcomes of both forms, which differ only in a fault.
#[derive(Debug, Clone)]
struct Readings {
    text: Reading,
    json: Reading,
}

struct Case {
    file: String,
    name: String,
    schema: CompiledSchema,
    prompt: String,
    answer: String,
    right: Reading,
    /// How the answer is read as long as its fault is there.
    today: Option<Readings>,
}

#[test]
fn every_answer_of_the_corpus_is_read_right() {
    let cases = cases();
    let mut faults = String::new();
    for case in cases.iter().filter(|case| case.today.is_none()) {
        let right = Readings { text: case.right.clone(), json: case.right.clone() };
        if let Some(difference) = case.difference(&right) {
            let _ = writeln!(faults, "{}: {}\n{difference}", case.file, case.name);
        }
    }
    assert!(faults.is_empty(), "answers are read wrongly:\n\n{faults}");
}

#[test]
fn text_beside_an_accepted_answer_is_the_same() {
    let mut found = 0;
    for case in cases() {
        let Extraction::Found(read) = extract::read(&case.answer, AnswerForm::Frontmatter, &case.schema, &String::new)
        else {
            continue;
        };
        assert_eq!(extract::text_beside(&case.answer, &case.schema), Some(read.text()), "{}", case.name);
        found += 1;
    }
    assert!(found >= MIN_CASES / 4, "{found} answers were accepted");
}

#[test]
fn known_faults_are_still_there() {
    let mut changes = String::new();
    for case in cases() {
        let Some(today) = &case.today else { continue };
        let right = Readings { text: case.right.clone(), json: case.right.clone() };
        if case.difference(&right).is_none() {
            let _ = writeln!(changes, "{}: read right now: move it to the file of its kind", case.name);
        } else if let Some(difference) = case.difference(today) {
            let _ = writeln!(changes, "{}: wrong in another way\n{difference}", case.name);
        }
    }
    assert!(changes.is_empty(), "{KNOWN_FAULTS} is out of date:\n\n{changes}");
}

#[test]
fn corpus_is_large_and_case_names_are_unique() {
    let cases = cases();
    assert!(cases.len() >= MIN_CASES, "{} cases, at least {MIN_CASES} are wanted", cases.len());
    let mut names = BTreeSet::new();
    let mut answers = BTreeSet::new();
    for case in &cases {
        assert!(names.insert(&case.name), "{}: the name `{}` is taken", case.file, case.name);
        let schema = case.schema.value().to_string();
        assert!(answers.insert((&case.answer, &case.prompt, schema)), "{}: {} is a copy", case.file, case.name);
    }
}

impl Case {
    fn of(file: &str, written: &Value, schemas: &Value) -> Case {
        let text = |key: &str| written[key].as_str().map(str::to_owned);
        let name = text("name").unwrap_or_else(|| panic!("{file}: a case without a name: {written}"));
        let place = format!("{file}: {name}");
        let is_fault = file == KNOWN_FAULTS;
        let mut keys = vec!["name", "schema", "answer", "prompt", "value", "body", "refused", "says"];
        keys.extend(is_fault.then_some(["cause", "today"]).into_iter().flatten());
        only(written, &keys, &place);
        let schema = &schemas[text("schema").unwrap_or_else(|| panic!("{place}: `schema` is the name of a schema"))];
        let schema = CompiledSchema::compile(schema).unwrap_or_else(|error| panic!("{place}: {error}"));
        let right = Reading::of(written, &place);
        if let Reading::Value { value, .. } = &right {
            assert!(schema.is_valid(value), "{place}: the right value does not fit the schema");
        }
        let today = is_fault.then(|| {
            assert!(text("cause").is_some(), "{place}: a fault has a `cause`");
            Readings::of(&written["today"], &place)
        });
        let answer = text("answer").unwrap_or_else(|| panic!("{place}: `answer` is a text"));
        Case { file: file.to_owned(), name, schema, prompt: text("prompt").unwrap_or_default(), answer, right, today }
    }

    /// Where the outcomes differ from the wanted ones, in words.
    fn difference(&self, wanted: &Readings) -> Option<String> {
        let mut difference = String::new();
        for (form, name, wanted) in
            [(AnswerForm::Frontmatter, "text", &wanted.text), (AnswerForm::Json, "json", &wanted.json)]
        {
            let found = extract::read(&self.answer, form, &self.schema, &|| self.prompt.clone());
            if !wanted.is(&found) {
                let _ = writeln!(difference, "  as {name}: {}\n    wanted: {}", shown(&found), wanted.shown());
            }
        }
        (!difference.is_empty()).then(|| {
            let answer: String = self.answer.chars().take(600).collect();
            format!("{difference}  of the answer: {answer:?}\n")
        })
    }
}

impl Readings {
    fn of(written: &Value, place: &str) -> Readings {
        if written.get("text").is_none() {
            let reading = Reading::of(written, place);
            return Readings { text: reading.clone(), json: reading };
        }
        only(written, &["text", "json"], place);
        Readings { text: Reading::of(&written["text"], place), json: Reading::of(&written["json"], place) }
    }
}

impl Reading {
    fn of(written: &Value, place: &str) -> Reading {
        let text = |key: &str| written[key].as_str().map(str::to_owned);
        match (written.get("value"), written.get("refused")) {
            (Some(value), None) => {
                assert!(written.get("says").is_none(), "{place}: a value says nothing");
                Reading::Value { value: value.clone(), body: text("body") }
            }
            (None, Some(Value::Bool(true))) => {
                assert!(written.get("body").is_none(), "{place}: a refused answer has no body");
                Reading::Refused { says: text("says") }
            }
            _ => panic!("{place}: either `value` or `refused: true`"),
        }
    }

    fn is(&self, found: &Extraction) -> bool {
        match (self, found) {
            (Reading::Value { value, body }, Extraction::Found(found)) => {
                *value == found.value && body.as_ref().is_none_or(|body| body.trim_end() == found.text())
            }
            (Reading::Refused { says }, Extraction::Failed(failure)) => {
                let errors = failure.errors.join("\n");
                !errors.is_empty() && says.as_ref().is_none_or(|says| errors.contains(says))
            }
            _ => false,
        }
    }

    fn shown(&self) -> String {
        match self {
            Reading::Value { value, body: None } => value.to_string(),
            Reading::Value { value, body: Some(body) } => format!("{value} beside {:?}", body.trim_end()),
            Reading::Refused { says: None } => "refused".to_owned(),
            Reading::Refused { says: Some(says) } => format!("refused, with {says:?}"),
        }
    }
}

fn shown(found: &Extraction) -> String {
    match found {
        Extraction::Found(found) => format!("{} beside {:?}, fixes {:?}", found.value, found.text(), found.fixes),
        Extraction::Failed(failure) => format!("refused, with {:?}", failure.errors),
    }
}

/// Fails on a key that a mapping may not have, such as a misspelt one.
fn only(written: &Value, keys: &[&str], place: &str) {
    let entries = written.as_object().unwrap_or_else(|| panic!("{place}: not a mapping"));
    for key in entries.keys() {
        assert!(keys.contains(&key.as_str()), "{place}: `{key}` is not one of {keys:?}");
    }
}

/// All cases of all files.
fn cases() -> Vec<Case> {
    let files = files();
    let (_, schemas) = files.iter().find(|(name, _)| name == SCHEMAS).expect("the file with the schemas");
    let of_file = |(file, content): &(String, Value)| -> Vec<Case> {
        let list = content.as_array().unwrap_or_else(|| panic!("{file}: not a list of cases"));
        list.iter().map(|written| Case::of(file, written, schemas)).collect()
    };
    files.iter().filter(|(name, _)| name != SCHEMAS).flat_map(of_file).collect()
}

/// Names and contents of the files, sorted by name.
#[expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the fence is for the crate; its tests read files, and may panic"
)]
fn files() -> Vec<(String, Value)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = std::fs::read_dir(&directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<(String, Value)> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let document = SourceDocument::parse(&text, &name).unwrap_or_else(|problems| {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                panic!("{}", problems.join("\n"))
            });
            (name, document.value)
        })
        .collect();
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    files
}
