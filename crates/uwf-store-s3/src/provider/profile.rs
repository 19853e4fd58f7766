//! The files in which the AWS tools keep keys: `~/.aws/credentials` and `~/.aws/config`.
//!
//! <https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html>

use std::collections::BTreeMap;

/// The settings of one section.
pub(crate) type Settings = BTreeMap<String, String>;

/// The settings of a profile in the text of one of the files; `None` if it has no such profile. Sections are named `profile NAME` in
/// `config` and just `NAME` in `credentials`. Repeated sections are merged; the last one of repeated settings counts.
pub(crate) fn find(text: &str, profile: &str) -> Option<Settings> {
    let mut found: Option<Settings> = None;
    let mut is_in = false;
    for line in text.lines() {
        // Indented lines belong to a nested setting, such as `s3 =`.
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_in = is_profile(section.trim(), profile);
            if is_in {
                found.get_or_insert_default();
            }
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_in && !is_nested) {
            // A comment after a value must follow white space.
            let value = value.split(" #").next().unwrap_or_default().split(" ;").next().unwrap_or_default();
            found.get_or_insert_default().insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

fn is_profile(section: &str, profile: &str) -> bool {
    let name = section.strip_prefix("profile").filter(|rest| rest.starts_with([' ', '\t'])).unwrap_or(section);
    name.trim().trim_matches('"') == profile
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "\
# keys
[default]
aws_access_key_id = AKIADEFAULT
aws_secret_access_key=a/b+c=

[ team ]
aws_access_key_id = AKIATEAM # of the team
AWS_SECRET_ACCESS_KEY = with#sign
s3 =
    max_concurrent_requests = 20
[team]
aws_session_token = token
";

    fn settings(pairs: &[(&str, &str)]) -> Option<Settings> {
        Some(pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_profile_is_found_in_the_credentials() {
        let default = [("aws_access_key_id", "AKIADEFAULT"), ("aws_secret_access_key", "a/b+c=")];
        assert_eq!(find(CREDENTIALS, "default"), settings(&default));
        let team = [
            ("aws_access_key_id", "AKIATEAM"),
            ("aws_secret_access_key", "with#sign"),
            ("aws_session_token", "token"),
            ("s3", ""),
        ];
        assert_eq!(find(CREDENTIALS, "team"), settings(&team));
        assert_eq!(find(CREDENTIALS, "tea"), None);
    }

    #[test]
    fn a_profile_is_found_in_the_configuration() {
        let text = "[default]\nregion = eu-west-1\n[profile team]\nregion=eu-north-1\n[profile \"a b\"]\nregion = x\n[profiles]\nregion = y";
        assert_eq!(find(text, "default"), settings(&[("region", "eu-west-1")]));
        assert_eq!(find(text, "team"), settings(&[("region", "eu-north-1")]));
        assert_eq!(find(text, "a b"), settings(&[("region", "x")]));
        assert_eq!(find("", "default"), None);
    }
}
