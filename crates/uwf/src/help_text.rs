//! Help as printed: laid out once for the available columns, with the commands in groups.
//!
//! Clap wraps each line of a text after the options separately, which breaks text that was wrapped in the source. So this module joins the
//! lines of its paragraphs and rows, and wraps them at the width that clap uses.

use clap::Command;
use clap::builder::StyledStr;
use unicode_width::UnicodeWidthStr;

use crate::terminal;

/// Columns if the width is unknown.
const USUAL_WIDTH: usize = 100;

/// Longer lines are harder to read.
const MAX_WIDTH: usize = 110;

/// Minimum columns for a text beside a command; with fewer, the text is printed below the command.
const MIN_BESIDE: usize = 24;

/// Minimum indentation of a line that continues the text above it.
const CONTINUED: usize = 10;

/// Columns between a command and its description.
const GAP: usize = 2;

/// Commands under a heading.
type Section = (&'static str, &'static [&'static str]);

/// The headings for the commands of each group.
const SECTIONS: &[(&str, &[Section])] = &[
    (
        "uwf",
        &[
            ("Run", &["run", "thread", "worker", "schedule", "hook"]),
            ("Inspect", &["top", "serve", "log", "otel", "cas"]),
            ("Author", &["workflow", "init", "schema", "agent", "skill"]),
            ("Operate", &["setup", "config", "doctor", "recover", "gc", "pack"]),
            ("Share", &["store", "gateway", "connect", "notify", "api", "mcp"]),
            ("Help", &["help", "completions", "man"]),
        ],
    ),
    (
        "uwf thread",
        &[
            (
                "Run",
                &[
                    "start", "step", "run", "retry", "answer", "take", "pause", "resume", "limit", "label", "fork",
                    "merge", "kill",
                ],
            ),
            (
                "Inspect",
                &["list", "ps", "show", "live", "steps", "read", "step-details", "why", "cost", "diff", "eval"],
            ),
            ("Operate", &["verify", "repair", "rm"]),
        ],
    ),
];

/// Width of help in columns.
pub(crate) fn width() -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    let size = terminal::size(&std::io::stdout()).or_else(|| terminal::size(&std::io::stderr()));
    size.map(|size| size.columns).or_else(columns).unwrap_or(USUAL_WIDTH).min(MAX_WIDTH)
}

/// The commands, with help that fits into `width` columns.
pub(crate) fn laid_out(root: Command, width: usize) -> Command {
    let mut root = root.term_width(width);
    root.build();
    each_laid_out(root, width)
}

fn each_laid_out(mut command: Command, width: usize) -> Command {
    if let Some(text) = command.get_after_help().map(|text| wrapped(&text.to_string(), width)) {
        command = command.after_help(text);
    }
    if let Some(text) = command.get_after_long_help().map(|text| wrapped(&text.to_string(), width)) {
        command = command.after_long_help(text);
    }
    let path = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_owned();
    if let Some((_, sections)) = SECTIONS.iter().find(|(group, _)| *group == path) {
        let template = sectioned(&command, sections, width);
        command = command.help_template(template);
    }
    let usage = command.render_usage().to_string();
    if usage.lines().any(|line| line.width() > width) {
        command = command.override_usage(hanging(usage.trim_start_matches("Usage: "), "Usage: ".len(), width));
    }
    command.mut_subcommands(|below| each_laid_out(below, width))
}

/// A template for clap that lists the commands under their headings.
fn sectioned(command: &Command, sections: &[Section], width: usize) -> StyledStr {
    let header = command.get_styles().get_header();
    let literal = command.get_styles().get_literal();
    let column = command.get_subcommands().map(|below| below.get_name().len()).max().unwrap_or_default() + 2 + GAP;
    let mut template = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (heading, names) in sections {
        template.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        for below in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let (name, about) = (below.get_name(), below.get_about().map(ToString::to_string).unwrap_or_default());
            let pad = column - 2 - name.len();
            template.push_str(&format!("  {literal}{name}{literal:#}{:pad$}{}\n", "", hanging(&about, column, width)));
        }
    }
    template.push_str(&format!("\n{header}Options:{header:#}\n{{options}}{{after-help}}"));
    template.into()
}

/// A text with each paragraph and row wrapped once.
fn wrapped(text: &str, width: usize) -> String {
    let mut blocks: Vec<String> = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match blocks.last_mut() {
            Some(above) if continues(above, line, indent) => {
                above.push(' ');
                above.push_str(line.trim_start());
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    let lines: Vec<String> = blocks.iter().map(|block| of_block(block, width)).collect();
    lines.join("\n")
}

fn continues(above: &str, line: &str, indent: usize) -> bool {
    let is_row = above.starts_with(' ');
    let is_heading = above.ends_with(':') && !above.contains(". ") && !is_row;
    let is_prose = !is_row && indent == 0;
    !above.is_empty() && !line.is_empty() && !is_heading && (is_prose || is_row && indent >= CONTINUED)
}

fn of_block(block: &str, width: usize) -> String {
    let indent = block.len() - block.trim_start().len();
    if indent == 0 {
        return hanging(block, 0, width);
    }
    let row = block.trim_start();
    let Some((command, text)) = row.split_once("  ").map(|(command, text)| (command, text.trim_start())) else {
        return format!("{:indent$}{}", "", broken(row, indent, width));
    };
    let column = block.width() - text.width();
    if block.width() <= width {
        return block.to_owned();
    }
    if column + MIN_BESIDE <= width {
        let pad = column - indent;
        return format!("{:indent$}{command:<pad$}{}", "", hanging(text, column, width));
    }
    let below = indent + 4;
    format!("{:indent$}{}\n{:below$}{}", "", broken(command, indent, width), "", hanging(text, below, width))
}

/// Words in lines of at most `width` columns. The first line is already at `column`; the others are indented to it.
fn hanging(text: &str, column: usize, width: usize) -> String {
    in_lines(text.split_whitespace(), column, column, width, "")
}

/// A command line in several lines that a shell joins again: broken between words, but not between an option and its value.
fn broken(command: &str, indent: usize, width: usize) -> String {
    if indent + command.width() <= width {
        return command.to_owned();
    }
    let (mut quote, mut is_option, mut at) = (None, false, 0);
    let words = command.split(|symbol: char| {
        if quote.is_none() && (at == 0 || command[..at].ends_with(' ')) {
            is_option = matches!(symbol, '-' | '<') && !is_option;
        }
        at += symbol.len_utf8();
        match (quote, symbol) {
            (None, '\'' | '"') => quote = Some(symbol),
            (Some(open), _) if open == symbol => quote = None,
            _ => {}
        }
        quote.is_none() && symbol == ' ' && !is_option
    });
    in_lines(words, indent, indent + 4, width, " \\")
}

fn in_lines<'w>(words: impl Iterator<Item = &'w str>, first: usize, column: usize, width: usize, end: &str) -> String {
    let (mut lines, mut at) = (String::new(), first);
    let mut is_first = true;
    for word in words {
        if is_first {
            is_first = false;
        } else if at + 1 + word.width() + end.width() > width {
            lines.push_str(&format!("{end}\n{:column$}", ""));
            at = column;
        } else {
            lines.push(' ');
            at += 1;
        }
        lines.push_str(word);
        at += word.width();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that are wider than `width`, and lines in the middle of a text that end before a word that would have fitted.
    fn badly_wrapped(help: &str, width: usize) -> Vec<String> {
        let lines: Vec<&str> = help.lines().collect();
        let columns = |line: &str| line.chars().count();
        let mut bad: Vec<String> =
            lines.iter().filter(|line| columns(line) > width).map(|line| (*line).to_owned()).collect();
        for pair in lines.windows(2) {
            let [above, line] = pair else { continue };
            let indent = |line: &str| columns(line) - columns(line.trim_start());
            let is_text =
                indent(line) == 0 && indent(above) == 0 || indent(line) >= 10 && indent(line) >= indent(above);
            let starts_anew = above.ends_with(':')
                || above.starts_with("```")
                || ["[", "- ", "```", "-"].iter().any(|mark| line.trim_start().starts_with(mark));
            let Some(word) = line.split_whitespace().next().filter(|_| is_text && !starts_anew && !above.is_empty())
            else {
                continue;
            };
            // An option has its text in the next line.
            let is_option = above.trim_start().starts_with(['-', '<', '[']) && indent(line) > indent(above);
            if !is_option && columns(above) + 1 + columns(word) <= width {
                bad.push(format!("{above}\n{line}"));
            }
        }
        bad
    }

    /// The badly wrapped lines in both helps of a command and of all below it.
    fn badly_wrapped_below(command: &mut Command, width: usize, bad: &mut Vec<String>) {
        for help in [command.render_help(), command.render_long_help()] {
            let path = command.get_bin_name().unwrap_or_default();
            bad.extend(
                badly_wrapped(&help.to_string(), width).into_iter().map(|line| format!("{width} {path}: {line}")),
            );
        }
        for below in command.get_subcommands_mut() {
            badly_wrapped_below(below, width, bad);
        }
    }

    #[test]
    fn help_of_every_command_is_wrapped_once() {
        let mut bad = Vec::new();
        for width in [80, 100] {
            badly_wrapped_below(&mut laid_out(crate::cli::command(), width), width, &mut bad);
        }
        bad.extend(badly_wrapped(&crate::topics::reference(crate::cli::command()), 100));
        assert!(bad.is_empty(), "{} lines:\n{}", bad.len(), bad.join("\n"));
    }

    #[test]
    fn sections_list_each_command_once() {
        let mut root = crate::cli::command();
        root.build();
        for (path, sections) in SECTIONS {
            let group = path.split(' ').skip(1).fold(&root, |at, word| at.find_subcommand(word).expect("a group"));
            let mut listed: Vec<&str> = sections.iter().flat_map(|(_, names)| names.iter().copied()).collect();
            let visible = group.get_subcommands().filter(|below| !below.is_hide_set());
            let mut there: Vec<&str> = visible.map(Command::get_name).collect();
            listed.sort_unstable();
            there.sort_unstable();
            assert_eq!(listed, there, "{path}");
        }
    }

    #[test]
    fn rows_and_paragraphs_are_wrapped_once() {
        let text =
            "Examples:\n  uwf run a   a text that is\n              longer\n\nA paragraph that was\nwrapped before.";
        assert_eq!(
            wrapped(text, 40),
            "Examples:\n  uwf run a   a text that is longer\n\nA paragraph that was wrapped before."
        );
        assert_eq!(wrapped("  uwf run a    some words here", 28), "  uwf run a\n      some words here");
        assert_eq!(
            wrapped("  uwf run -p 'a b c' --one two three", 26),
            "  uwf run -p 'a b c' \\\n      --one two three"
        );
    }
}
