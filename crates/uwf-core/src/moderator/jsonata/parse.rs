//! Parses expressions and explains syntax errors.

use jsonata_core::ast::AstNode;
use jsonata_core::parser;

use super::super::analysis::ConditionError;

/// Locating an error parses the text once per character. Longer texts than this, in bytes, get no location.
const LOCATE_BYTES: usize = 2000;

/// Parses an expression.
pub(super) fn parse(expression: &str) -> Result<AstNode, ConditionError> {
    parser::parse(expression).map_err(|error| {
        let raw = error.to_string();
        let (code, message) = split_code(&raw);
        ConditionError {
            expression: expression.to_owned(),
            message: readable(message),
            code: code.map(str::to_owned),
            position: locate(expression, &raw, code),
            hint: hint(expression),
        }
    })
}

/// Separates JSONata's code from a message. The library puts the code in front, or after words of its own (`Invalid syntax: S0213: …`), or
/// leaves it out.
pub(super) fn split_code(message: &str) -> (Option<&str>, &str) {
    let mut from = 0;
    while let Some(colon) = message[from..].find(':').map(|at| from + at) {
        if colon >= 5 && message.is_char_boundary(colon - 5) {
            let code = &message[colon - 5..colon];
            let bytes = code.as_bytes();
            let starts_word = colon == 5 || message.as_bytes()[colon - 6] == b' ';
            if starts_word && bytes[0].is_ascii_uppercase() && bytes[1..].iter().all(u8::is_ascii_digit) {
                return (Some(code), message[colon + 1..].trim_start());
            }
        }
        from = colon + 1;
    }
    (None, message)
}

/// Replaces the library's names of tokens by their signs, which authors know.
fn readable(message: &str) -> String {
    if let Some(token) = message.strip_prefix("Syntax error: ") {
        return format!("unexpected {}", sign(token));
    }
    let (rest, got) = match message.split_once(", got ") {
        Some((rest, token)) => (rest, format!(", got {}", sign(token))),
        None => (message, String::new()),
    };
    rest.split(' ').map(sign).collect::<Vec<_>>().join(" ") + &got
}

/// A token as it is written in an expression. Other words stay as they are.
fn sign(token: &str) -> String {
    const SIGNS: [(&str, &str); 32] = [
        ("Ampersand", "&"),
        ("At", "@"),
        ("Caret", "^"),
        ("Colon", ":"),
        ("ColonEqual", ":="),
        ("Comma", ","),
        ("Dot", "."),
        ("DotDot", ".."),
        ("Equal", "="),
        ("GreaterThan", ">"),
        ("GreaterThanOrEqual", ">="),
        ("Hash", "#"),
        ("LeftBrace", "{"),
        ("LeftBracket", "["),
        ("LeftParen", "("),
        ("LessThan", "<"),
        ("LessThanOrEqual", "<="),
        ("Minus", "-"),
        ("NotEqual", "!="),
        ("Percent", "%"),
        ("Pipe", "|"),
        ("Plus", "+"),
        ("Question", "?"),
        ("QuestionColon", "?:"),
        ("QuestionQuestion", "??"),
        ("RightBrace", "}"),
        ("RightBracket", "]"),
        ("RightParen", ")"),
        ("Semicolon", ";"),
        ("Slash", "/"),
        ("Star", "*"),
        ("TildeArrow", "~>"),
    ];
    if let Ok(found) = SIGNS.binary_search_by_key(&token, |(name, _)| name) {
        return format!("`{}`", SIGNS[found].1);
    }
    let inside = |kind: &str| token.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')');
    let text = |kind: &str| inside(kind)?.strip_prefix('"')?.strip_suffix('"');
    if let Some(name) = text("Identifier") {
        format!("`{name}`")
    } else if let Some(name) = text("Variable") {
        format!("`${name}`")
    } else if let Some(text) = text("String") {
        format!("the text '{text}'")
    } else if let Some(number) = inside("Number") {
        format!("the number {}", number.trim_end_matches(".0"))
    } else {
        token.to_owned()
    }
}

/// Finds where the parser gave up: the start of the token from which every longer prefix fails in the same way. The library doesn't report
/// positions.
fn locate(expression: &str, error: &str, code: Option<&str>) -> Option<usize> {
    if matches!(code, Some("S0203" | "S0207")) {
        return Some(expression.trim_end().chars().count());
    }
    if expression.len() > LOCATE_BYTES {
        return None;
    }
    let mut at = expression.len();
    for (byte, _) in expression.char_indices().rev() {
        match parser::parse(&expression[..byte]) {
            Err(other) if other.to_string() == error => at = byte,
            _ => break,
        }
    }
    let before = &expression[..at];
    let word = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
    let start = if word.len() < before.len() {
        word.len()
    } else {
        before.char_indices().next_back().map_or(0, |(byte, _)| byte)
    };
    Some(expression[..start].chars().count())
}

/// A hint for authors who use the syntax of another language.
fn hint(expression: &str) -> Option<String> {
    for (foreign, own) in [("==", "="), ("&&", "and"), ("||", "or")] {
        if expression.contains(foreign) {
            return Some(format!("JSONata writes `{own}` for `{foreign}`"));
        }
    }
    let negated = expression.replace("!=", "").contains('!');
    negated.then(|| "JSONata has `!=`, and `$not(…)` for a negation".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_anywhere_in_message() {
        assert_eq!(split_code("S0202: Expected x"), (Some("S0202"), "Expected x"));
        assert_eq!(
            split_code("Invalid syntax: S0213: The literal value 1 cannot"),
            (Some("S0213"), "The literal value 1 cannot")
        );
        assert_eq!(split_code("Invalid number: 1e999"), (None, "Invalid number: 1e999"));
        assert_eq!(split_code("no code: XS0213: x"), (None, "no code: XS0213: x"));
        assert_eq!(split_code("žluť: ŠS021: x"), (None, "žluť: ŠS021: x"));
        assert_eq!(split_code(""), (None, ""));
    }

    #[test]
    fn tokens_are_named_as_authors_write_them() {
        assert_eq!(readable("Expected RightParen, got Identifier(\"foo\")"), "Expected `)`, got `foo`");
        assert_eq!(readable("Expected Colon, got String(\"a b\")"), "Expected `:`, got the text 'a b'");
        assert_eq!(readable("Expected Colon, got Number(2.0)"), "Expected `:`, got the number 2");
        assert_eq!(readable("Syntax error: Variable(\"x\")"), "unexpected `$x`");
        assert_eq!(readable("Syntax error: Pipe"), "unexpected `|`");
        assert_eq!(readable("The symbol Caret cannot be used"), "The symbol `^` cannot be used");
        assert_eq!(readable("Expected parameter name, got Eof"), "Expected parameter name, got Eof");
    }
}
