//! By what one version of an object is told from another.

use std::fmt;

/// The tag of a version. Each write makes another one, as everything that is written has a random token in it.
///
/// Google compares a generation, which reads and writes tell and listings do not; the others compare what they list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tag {
    /// As a listing tells it, too.
    etag: String,
    generation: Option<String>,
}

impl Tag {
    /// As an answer tells it.
    pub(crate) fn new(etag: Option<String>, generation: Option<String>) -> Tag {
        Tag { etag: etag.unwrap_or_default(), generation }
    }

    /// From its text.
    pub(crate) fn parse(text: &str) -> Tag {
        match text.split_once(' ') {
            Some((etag, generation)) => Tag { etag: etag.to_owned(), generation: Some(generation.to_owned()) },
            None => Tag { etag: text.to_owned(), generation: None },
        }
    }

    /// Whether a listing shows the version with this tag. A server that gives no tags is asked again.
    pub(crate) fn is_listed_as(&self, listed: &Tag) -> bool {
        !self.etag.is_empty() && self.bare() == listed.bare()
    }

    /// Azure has quotation marks around it in an answer, and none in a listing.
    fn bare(&self) -> &str {
        self.etag.trim_matches('"')
    }

    pub(crate) fn has_generation(&self) -> bool {
        self.generation.is_some()
    }

    /// What a write is to be conditional on: the client takes of the two what its server compares.
    pub(crate) fn condition(&self) -> object_store::UpdateVersion {
        object_store::UpdateVersion { e_tag: Some(self.etag.clone()), version: self.generation.clone() }
    }
}

/// One line. Tags of HTTP have no spaces, and a generation is a number.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.etag)?;
        self.generation.as_ref().map_or(Ok(()), |generation| write!(f, " {generation}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(etag: &str, generation: Option<&str>) -> Tag {
        Tag::new(Some(etag.to_owned()), generation.map(str::to_owned))
    }

    #[test]
    fn a_tag_is_the_same_after_it_was_a_text() {
        for tag in
            [tag("\"abc\"", None), tag("\"abc\"", Some("1700")), Tag::default(), Tag::new(None, Some("1".into()))]
        {
            assert_eq!(Tag::parse(&tag.to_string()), tag);
        }
    }

    #[test]
    fn a_version_is_known_in_a_listing() {
        let read = tag("\"0x8D\"", None);
        assert!(read.is_listed_as(&tag("0x8D", None)) && !read.is_listed_as(&tag("0x8E", None)));
        assert!(tag("\"abc\"", Some("1700")).is_listed_as(&tag("\"abc\"", None)));
        assert!(!Tag::default().is_listed_as(&Tag::default()), "no tag says nothing");
    }
}
