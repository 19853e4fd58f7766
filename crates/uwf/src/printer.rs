//! The only place that writes to stdout and stderr. Reports are data; the printer decides between text and JSON.

use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use serde_json::Value;
use uwf_core::escapes::without_escapes;
use uwf_engine::error::ErrorKind;

use crate::error::CommandError;
use crate::pager::{self, PagerArgs};
use crate::{style, terminal};

/// Columns of a terminal of unknown width.
const NARROW: usize = 80;

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// One line of JSON.
    Json,
    /// YAML.
    Yaml,
    /// Text for people.
    Text,
    /// A form of its own that a command has beside these.
    #[value(skip)]
    Own(OwnFormat),
}

/// Formats that only some commands have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnFormat {
    /// Comma-separated values, with a line of headings.
    Csv,
    /// A Mermaid flowchart.
    Mermaid,
    /// The language of Graphviz.
    Dot,
    /// A picture, as SVG.
    Svg,
    /// Markdown for the summary of a job of GitHub Actions.
    Github,
    /// Workflow commands of GitHub Actions that annotate files.
    GithubAnnotations,
}

impl OwnFormat {
    /// The name in `--format`.
    fn name(self) -> &'static str {
        match self {
            OwnFormat::Csv => "csv",
            OwnFormat::Mermaid => "mermaid",
            OwnFormat::Dot => "dot",
            OwnFormat::Svg => "svg",
            OwnFormat::Github => "github",
            OwnFormat::GithubAnnotations => "github-annotations",
        }
    }
}

/// Parses the `--format` of a command that has these formats besides the common ones.
pub(crate) fn formats(own: &'static [OwnFormat]) -> impl TypedValueParser<Value = ReportFormat> {
    let common = ReportFormat::value_variants().iter().filter_map(ReportFormat::to_possible_value);
    let names = common.chain(own.iter().map(|format| PossibleValue::new(format.name())));
    PossibleValuesParser::new(names).map(|name| {
        let own = own.iter().find(|format| format.name() == name).copied().map(ReportFormat::Own);
        own.or_else(|| ReportFormat::from_str(&name, true).ok()).unwrap_or(ReportFormat::Json)
    })
}

/// Kind of output that a command writes to stdout without `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdoutContent {
    /// A report: text on a terminal, JSON in a pipe.
    Report,
    /// A document, in this format even in a pipe.
    Document(ReportFormat),
    /// A protocol for a program on the other side. Failures are never printed to stdout.
    Protocol,
}

/// The report of a command: one value, printed as text or as data.
pub(crate) trait CommandReport: Serialize {
    /// Text for people; every line ends with a newline.
    fn text(&self) -> String;

    /// The report in one of the formats that only some commands have.
    fn own(&self, _format: OwnFormat) -> String {
        self.text()
    }

    /// Exit code of the command.
    fn exit_code(&self) -> u8 {
        0
    }
}

/// A report of any type, ready to print.
pub(crate) struct PrintableReport {
    body: ReportBody,
    exit_code: u8,
    /// Whether a long text is shown in the pager.
    is_paged: bool,
}

/// The content to print.
enum ReportBody {
    /// Nothing.
    Nothing,
    /// Text that is the same in every format.
    Verbatim(String),
    /// Bytes for a program, unchanged.
    Bytes(Vec<u8>),
    /// A short report, as data and as text.
    Short { value: Value, text: String },
    /// A long report, rendered once the format is known.
    Long(Box<dyn DynReport>),
}

/// A report of any type.
trait DynReport {
    fn render_as(&self, format: ReportFormat) -> Result<String, CommandError>;
}

impl<R: CommandReport> DynReport for R {
    fn render_as(&self, format: ReportFormat) -> Result<String, CommandError> {
        match format {
            ReportFormat::Json => serde_json::to_string(self).map(|json| json + "\n").map_err(|error| not_json(&error)),
            ReportFormat::Yaml => serde_json::to_value(self)
                .map(|value| yaml_tree::write::block(&value))
                .map_err(|error| not_json(&error)),
            ReportFormat::Text => Ok(self.text()),
            ReportFormat::Own(own) => Ok(self.own(own)),
        }
    }
}

fn not_json(error: &serde_json::Error) -> CommandError {
    CommandError::new(ErrorKind::Internal, format!("a report is not JSON: {error}"))
}

fn not_written(error: &std::io::Error) -> CommandError {
    CommandError::new(ErrorKind::Io, format!("cannot write the report: {error}"))
}

/// The result of a command.
pub(crate) type CommandResult = Result<PrintableReport, CommandError>;

impl PrintableReport {
    /// Nothing more to print in any format: the command has already written its result.
    pub(crate) fn nothing() -> PrintableReport {
        PrintableReport { body: ReportBody::Nothing, exit_code: 0, is_paged: false }
    }

    /// One line that is the same in every format, because a program reads it.
    pub(crate) fn line(text: &str) -> PrintableReport {
        PrintableReport { body: ReportBody::Verbatim(format!("{text}\n")), ..PrintableReport::nothing() }
    }

    /// Bytes for a program, unchanged; they may not be UTF-8.
    pub(crate) fn bytes(bytes: Vec<u8>) -> PrintableReport {
        PrintableReport { body: ReportBody::Bytes(bytes), ..PrintableReport::nothing() }
    }

    /// A report of one or two lines, as data and as text.
    pub(crate) fn value_with_text(value: Value, text: impl Into<String>) -> PrintableReport {
        PrintableReport { body: ReportBody::Short { value, text: text.into() }, ..PrintableReport::nothing() }
    }

    /// A value that is the whole report.
    pub(crate) fn value(value: Value) -> PrintableReport {
        let text = format!("{value:#}\n");
        PrintableReport::value_with_text(value, text)
    }

    /// Sets the exit code.
    pub(crate) fn exits(self, exit_code: u8) -> PrintableReport {
        PrintableReport { exit_code, ..self }
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        self.exit_code
    }

    /// A short report as data and as text, to be part of a longer one; nothing for any other report.
    pub(crate) fn into_data(self) -> (Value, String) {
        match self.body {
            ReportBody::Short { value, text } => (value, text),
            _ => (Value::Null, String::new()),
        }
    }

    /// Renders a report as text and as data.
    pub(crate) fn new(report: &impl CommandReport) -> CommandResult {
        let value = serde_json::to_value(report).map_err(|error| not_json(&error))?;
        Ok(PrintableReport::value_with_text(value, report.text()).exits(report.exit_code()))
    }

    /// Like [`PrintableReport::new`], but rendered only in the format that is printed, because the report can be long.
    pub(crate) fn long(report: impl CommandReport + 'static) -> CommandResult {
        let exit_code = report.exit_code();
        Ok(PrintableReport { body: ReportBody::Long(Box::new(report)), exit_code, is_paged: false })
    }

    /// Shows long text on a terminal in the pager, unless `paging` disables it.
    pub(crate) fn paged(self, paging: &PagerArgs) -> PrintableReport {
        PrintableReport { is_paged: !paging.no_pager, ..self }
    }

    /// The text in a format; `None` if there is nothing to print.
    fn text_in_format(&self, format: ReportFormat) -> Result<Option<String>, CommandError> {
        Ok(Some(match (&self.body, format) {
            (ReportBody::Nothing | ReportBody::Bytes(_), _) => return Ok(None),
            (ReportBody::Verbatim(line), _) => line.clone(),
            (ReportBody::Short { value, .. }, ReportFormat::Json) => format!("{value}\n"),
            (ReportBody::Short { value, .. }, ReportFormat::Yaml) => yaml_tree::write::block(value),
            (ReportBody::Short { text, .. }, ReportFormat::Text | ReportFormat::Own(_)) => text.clone(),
            (ReportBody::Long(report), format) => report.render_as(format)?,
        }))
    }
}

/// Prints reports, messages and errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandPrinter {
    asked: Option<ReportFormat>,
    stdout: StdoutContent,
    colour: bool,
}

impl CommandPrinter {
    /// A printer that uses the format of `--format`, or else of `UWF_FORMAT`, or else the command's own.
    ///
    /// # Errors
    /// `Usage` if `UWF_FORMAT` is not a format.
    pub(crate) fn new(asked: Option<ReportFormat>, stdout: StdoutContent) -> Result<CommandPrinter, CommandError> {
        let from_environment = std::env::var("UWF_FORMAT").ok().filter(|name| !name.is_empty());
        let asked = match (asked, from_environment) {
            (Some(format), _) => Some(format),
            (None, None) => None,
            (None, Some(name)) => Some(ReportFormat::from_str(&name, true).map_err(|_| {
                CommandError::usage(format!("UWF_FORMAT is `{name}`")).hint("it can be json, yaml or text")
            })?),
        };
        Ok(CommandPrinter { asked, stdout, colour: wants_colour() })
    }

    /// A printer that writes failures only to stderr.
    pub(crate) fn plain() -> CommandPrinter {
        CommandPrinter { asked: None, stdout: StdoutContent::Protocol, colour: wants_colour() }
    }

    /// Prints a report to stdout, and returns the exit code.
    pub(crate) fn report(&self, report: &PrintableReport) -> u8 {
        if let ReportBody::Bytes(bytes) = &report.body {
            let mut stdout = std::io::stdout().lock();
            return self.written(stdout.write_all(bytes).and_then(|()| stdout.flush()), report.exit_code);
        }
        let format = self.format();
        let text = match report.text_in_format(format) {
            Ok(None) => return report.exit_code,
            Ok(Some(text)) => text,
            Err(failure) => return self.failure(&failure),
        };
        let is_terminal = std::io::stdout().is_terminal();
        let text = match format {
            ReportFormat::Text => style::render(&text, is_terminal, self.colour && is_terminal),
            ReportFormat::Json | ReportFormat::Yaml | ReportFormat::Own(_) => style::data(&text, is_terminal),
        };
        if report.is_paged && format == ReportFormat::Text && pager::show(&text) {
            return report.exit_code;
        }
        let mut stdout = std::io::stdout().lock();
        self.written(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()), report.exit_code)
    }

    /// `exit_code` if the report was written; otherwise prints the failure and returns its exit code.
    pub(crate) fn written(&self, written: std::io::Result<()>, exit_code: u8) -> u8 {
        match written {
            // The reader closed the pipe, so end quietly.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => exit_code,
            Err(error) => self.failure(&not_written(&error)),
            Ok(()) => exit_code,
        }
    }

    fn format(&self) -> ReportFormat {
        let preferred = || match self.stdout {
            StdoutContent::Document(format) => format,
            StdoutContent::Report | StdoutContent::Protocol if std::io::stdout().is_terminal() => ReportFormat::Text,
            StdoutContent::Report | StdoutContent::Protocol => ReportFormat::Json,
        };
        self.asked.unwrap_or_else(preferred)
    }

    /// Whether failures are also printed to stdout, as an object.
    pub(crate) fn prints_failures_as_data(&self) -> bool {
        // A command that prints a YAML document by default prints failures only to stderr.
        let is_data = self.format() == ReportFormat::Json || self.asked == Some(ReportFormat::Yaml);
        self.stdout != StdoutContent::Protocol && is_data
    }

    /// Whether a format was requested.
    pub(crate) fn has_format(&self) -> bool {
        self.asked.is_some()
    }

    /// The arguments with which another uwf prints the requested format.
    pub(crate) fn format_arguments(&self) -> Vec<String> {
        let name = self.asked.and_then(|format| Some(format.to_possible_value()?.get_name().to_owned()));
        name.map_or_else(Vec::new, |name| vec!["--format".to_owned(), name])
    }

    /// Whether reports without their own format are printed as text.
    pub(crate) fn prints_text(&self) -> bool {
        self.format() == ReportFormat::Text
    }

    /// Prints a list row by row, as rows are found: one JSON array, or the text of each row. Ends quietly if stdout is closed.
    ///
    /// # Errors
    /// The first error of a row, after the list is closed; `Io` if stdout cannot be written.
    pub(crate) fn rows<R: CommandReport>(
        &self,
        rows: impl Iterator<Item = Result<R, CommandError>>,
    ) -> Result<(), CommandError> {
        let is_terminal = std::io::stdout().is_terminal();
        let format = self.format();
        let mut list = ReportListWriter {
            out: BufWriter::new(std::io::stdout().lock()),
            format,
            is_terminal,
            colour: self.colour && is_terminal,
            count: 0,
        };
        let mut failure = None;
        let written =
            rows.map_while(|row| row.map_err(|error| failure = Some(error)).ok()).try_for_each(|row| list.row(&row));
        match written.and_then(|()| list.close()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(not_written(&error)),
            Ok(()) => failure.map_or(Ok(()), Err),
        }
    }

    /// Prints a part of a longer report; `false` if stdout is closed.
    pub(crate) fn stream(&self, text: &str) -> Result<bool, CommandError> {
        let is_terminal = std::io::stdout().is_terminal();
        let text = match self.format() {
            ReportFormat::Text => style::render(text, is_terminal, self.colour && is_terminal),
            ReportFormat::Json | ReportFormat::Yaml | ReportFormat::Own(_) => style::data(text, is_terminal),
        };
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
            written => written.map(|()| true).map_err(|error| not_written(&error)),
        }
    }

    /// Prints a line to stderr.
    pub(crate) fn talk(&self, line: &str) {
        self.talk_raw(&format!("{line}\n"));
    }

    /// Prints to stderr without a newline.
    pub(crate) fn talk_raw(&self, text: &str) {
        let is_terminal = std::io::stderr().is_terminal();
        let rendered = style::render(text, is_terminal, self.colour && is_terminal);
        // The words of an agent may have escape sequences, which a log should not have either.
        let text = if is_terminal { Cow::Borrowed(&*rendered) } else { without_escapes(&rendered) };
        // stderr may be closed.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
    }

    /// Replaces the current line of a terminal on stderr; the text is cut to fit one line.
    pub(crate) fn live(&self, text: &str) {
        let columns = terminal::size(&std::io::stderr()).map_or(NARROW, |size| size.columns);
        self.clear_line();
        // Some terminals wrap after the last column.
        self.talk_raw(&style::dim(&style::cut(text, columns.saturating_sub(1))));
    }

    /// Clears the current line of a terminal on stderr.
    pub(crate) fn clear_line(&self) {
        let _ = std::io::stderr().lock().write_all(b"\r\x1b[2K");
    }

    /// Prints a warning to stderr.
    pub(crate) fn warn(&self, warning: &str) {
        self.talk(&format!("{} {warning}", style::yellow("warning:")));
    }

    /// Prints a failure to stderr, and with JSON or YAML output also to stdout as an object. Returns the exit code.
    pub(crate) fn failure(&self, failure: &CommandError) -> u8 {
        self.explain(failure);
        if self.prints_failures_as_data() {
            let text = match self.format() {
                ReportFormat::Yaml => yaml_tree::write::block(&failure.to_json()),
                _ => format!("{}\n", failure.to_json()),
            };
            let text = style::data(&text, std::io::stdout().is_terminal());
            // stdout may be closed, and this failure may be about just that.
            let mut stdout = std::io::stdout().lock();
            let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        }
        failure.kind.exit_code()
    }

    /// Prints a failure only to stderr, for a command whose report on stdout includes it.
    pub(crate) fn explain(&self, failure: &CommandError) {
        let label = match failure.kind {
            // Not an error: the thread waits for a person.
            ErrorKind::Waiting => style::yellow("waiting:"),
            _ => style::red("error:"),
        };
        self.talk(&format!("{label} {}", failure.error));
        for hint in &failure.hints {
            self.talk(&format!("{} {hint}", style::dim("hint:")));
        }
    }
}

/// A list being written to stdout.
struct ReportListWriter<'o> {
    out: BufWriter<StdoutLock<'o>>,
    format: ReportFormat,
    is_terminal: bool,
    colour: bool,
    count: usize,
}

impl ReportListWriter<'_> {
    fn row<R: CommandReport>(&mut self, row: &R) -> std::io::Result<()> {
        let value = || serde_json::to_value(row).map_err(std::io::Error::other);
        let text = match self.format {
            ReportFormat::Json => format!("{}{}", if self.count == 0 { "[" } else { "," }, value()?),
            ReportFormat::Yaml => yaml_tree::write::block(&Value::Array(vec![value()?])),
            ReportFormat::Text => row.text(),
            ReportFormat::Own(own) => row.own(own),
        };
        self.count += 1;
        self.write(&text)
    }

    fn close(&mut self) -> std::io::Result<()> {
        match (self.format, self.count) {
            (ReportFormat::Json, 0) => self.write("[]\n")?,
            (ReportFormat::Json, _) => self.write("]\n")?,
            (ReportFormat::Yaml, 0) => self.write("[]\n")?,
            (ReportFormat::Yaml | ReportFormat::Text | ReportFormat::Own(_), _) => {}
        }
        self.out.flush()
    }

    fn write(&mut self, text: &str) -> std::io::Result<()> {
        let text = match self.format {
            ReportFormat::Text => style::render(text, self.is_terminal, self.colour),
            ReportFormat::Json | ReportFormat::Yaml | ReportFormat::Own(_) => style::data(text, self.is_terminal),
        };
        self.out.write_all(text.as_bytes())
    }
}

fn wants_colour() -> bool {
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !no_colour && !dumb
}
