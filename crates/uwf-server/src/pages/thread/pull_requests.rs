//! Links to the pull requests that the steps of a thread name.

use maud::{Markup, html};
use serde_json::Value;
use url::Url;
use uwf_core::workflow::{RESULTS, picked_copy};
use uwf_engine::views::timeline::TimedStep;

use crate::markdown::web_links;

/// Most links.
const MOST: usize = 5;

/// Links to the pull requests and merge requests that outputs and texts of these steps name, in their order.
pub(super) fn links(steps: &[TimedStep]) -> Markup {
    let mut found: Vec<(Url, String)> = Vec::new();
    for timed in steps {
        let output = &timed.step.output;
        // Only the picked copy of a group counts.
        let picked = picked_copy(output).and_then(|number| output[RESULTS].get(number - 1));
        texts(picked.unwrap_or(output), &mut |text| add(text, &mut found));
        add(timed.step.message.as_deref().unwrap_or_default(), &mut found);
    }
    html! {
        @for (address, name) in &found { a href=(address) rel="noopener noreferrer" { (name) } }
    }
}

fn texts(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, each)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn add(text: &str, found: &mut Vec<(Url, String)>) {
    for link in web_links::find(text) {
        let Ok(address) = Url::parse(&text[link]) else { continue };
        let Some(name) = name(&address) else { continue };
        if found.len() < MOST && found.iter().all(|(_, known)| *known != name) {
            found.push((address, name));
        }
    }
}

/// `owner/repository#12` for the address of a pull request of a forge, also of one of its tabs.
fn name(address: &Url) -> Option<String> {
    let parts: Vec<&str> = address.path_segments()?.filter(|part| !part.is_empty() && *part != "-").collect();
    let at = parts.iter().position(|part| matches!(*part, "pull" | "pulls" | "merge_requests" | "pull-requests"))?;
    let number = parts.get(at + 1).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    (at >= 2).then(|| format!("{}#{number}", parts[..at].join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_pull_requests_get_short_names() {
        let mut found = Vec::new();
        for text in [
            "Opened <https://github.com/o/r/pull/12>.",
            "see [the request](https://github.com/o/r/pull/12/files)",
            "https://gitlab.com/group/sub/r/-/merge_requests/3",
            "https://codeberg.org/o/r/pulls/7,",
            "https://github.com/o/r/issues/4",
            "https://github.com/o/r/pull/new",
            "javascript://x/o/r/pull/1",
            "https://pull/1",
        ] {
            add(text, &mut found);
        }
        let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names, ["o/r#12", "group/sub/r#3", "o/r#7"]);
        assert_eq!(found[0].0.as_str(), "https://github.com/o/r/pull/12");
    }
}
