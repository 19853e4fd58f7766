//! Identifies versions of an object.

use std::fmt;

/// The tag of a version. Each write produces a new tag, because all written content contains a random token.
///
/// Google compares a generation, which reads and writes return but listings don't. The others compare the tag that they list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObjectTag {
    /// Listings contain it as well.
    etag: String,
    generation: Option<String>,
}

impl ObjectTag {
    /// The tag in an answer.
    pub(crate) fn new(etag: Option<String>, generation: Option<String>) -> ObjectTag {
        ObjectTag { etag: etag.unwrap_or_default(), generation }
    }

    /// Parses the text of a tag.
    pub(crate) fn parse(text: &str) -> ObjectTag {
        match text.split_once(' ') {
            Some((etag, generation)) => ObjectTag { etag: etag.to_owned(), generation: Some(generation.to_owned()) },
            None => ObjectTag { etag: text.to_owned(), generation: None },
        }
    }

    /// Whether a listing shows the version with this tag. If a server gives no tags, the object is read again.
    pub(crate) fn is_listed_as(&self, listed: &ObjectTag) -> bool {
        !self.etag.is_empty() && self.bare() == listed.bare()
    }

    /// Azure quotes the tag in answers, but not in listings.
    fn bare(&self) -> &str {
        self.etag.trim_matches('"')
    }

    pub(crate) fn has_generation(&self) -> bool {
        self.generation.is_some()
    }

    /// The condition of a write. The client picks the part that its server compares.
    pub(crate) fn condition(&self) -> object_store::UpdateVersion {
        object_store::UpdateVersion { e_tag: Some(self.etag.clone()), version: self.generation.clone() }
    }
}

/// One line. HTTP tags contain no spaces, and a generation is a number.
impl fmt::Display for ObjectTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.etag)?;
        self.generation.as_ref().map_or(Ok(()), |generation| write!(f, " {generation}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(etag: &str, generation: Option<&str>) -> ObjectTag {
        ObjectTag::new(Some(etag.to_owned()), generation.map(str::to_owned))
    }

    #[test]
    fn tag_round_trips_through_text() {
        for tag in [
            tag("\"abc\"", None),
            tag("\"abc\"", Some("1700")),
            ObjectTag::default(),
            ObjectTag::new(None, Some("1".into())),
        ] {
            assert_eq!(ObjectTag::parse(&tag.to_string()), tag);
        }
    }

    #[test]
    fn a_version_is_known_in_a_listing() {
        let read = tag("\"0x8D\"", None);
        assert!(read.is_listed_as(&tag("0x8D", None)) && !read.is_listed_as(&tag("0x8E", None)));
        assert!(tag("\"abc\"", Some("1700")).is_listed_as(&tag("\"abc\"", None)));
        assert!(!ObjectTag::default().is_listed_as(&ObjectTag::default()), "no tag says nothing");
    }
}
