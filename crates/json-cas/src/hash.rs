//! Names of nodes: XXH64, written as 13 symbols of Crockford Base32.

use std::fmt;
use std::hash::Hasher as _;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use twox_hash::XxHash64;

/// Crockford's Base32 symbols in order of value. I, L, O and U are excluded.
const SYMBOLS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Bits in one symbol.
const SYMBOL_BITS: u32 = 5;

/// Seed of the hash function; part of the format.
const SEED: u64 = 0;

/// The name of a node: 64 bits, shown as 13 upper-case symbols (the first is `0`–`F`).
///
/// Hashes are ordered by value, which is also the order of their texts. Parsing accepts upper and lower case and nothing else: it rejects
/// Crockford's look-alikes (`O` for `0`), so that one node has one name.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct NodeHash(u64);

/// A text that is not a hash.
#[derive(Debug, Clone, Eq, PartialEq, thiserror::Error)]
#[error("`{text}` is not a hash: {reason}")]
pub struct HashError {
    /// The given text, cut after 40 characters.
    pub text: String,
    /// The problem.
    pub reason: &'static str,
}

impl HashError {
    fn new(text: &str, reason: &'static str) -> Self {
        HashError { text: text.chars().take(40).collect(), reason }
    }
}

impl NodeHash {
    /// Number of symbols in the text form.
    pub const LEN: usize = 13;

    /// The hash with this value.
    pub const fn from_u64(value: u64) -> NodeHash {
        NodeHash(value)
    }

    /// The 64 bits of the hash.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Whether `text` parses as a hash.
    pub fn is_hash(text: &str) -> bool {
        NodeHash::parse(text.as_bytes()).is_ok()
    }

    /// A hash literal in source code; a bad literal in a `const` fails the build.
    ///
    /// # Panics
    /// If `text` is not a hash, so use it only in `const` items.
    pub const fn literal(text: &str) -> NodeHash {
        match NodeHash::parse(text.as_bytes()) {
            Ok(hash) => hash,
            Err(_) => panic!("not a hash literal"),
        }
    }

    /// The 13 symbols as ASCII bytes. A typed node's hash is computed over the bytes of its type's hash.
    pub fn to_ascii(self) -> [u8; NodeHash::LEN] {
        let mut text = [0; NodeHash::LEN];
        for (position, symbol) in text.iter_mut().enumerate() {
            let shift = SYMBOL_BITS * (NodeHash::LEN - 1 - position) as u32;
            *symbol = SYMBOLS[(self.0 >> shift) as usize & 31];
        }
        text
    }

    const fn parse(text: &[u8]) -> Result<NodeHash, &'static str> {
        if text.len() != NodeHash::LEN {
            return Err("a hash has 13 symbols");
        }
        let mut value: u64 = 0;
        let mut position = 0;
        while position < NodeHash::LEN {
            let symbol = VALUES[text[position] as usize];
            if symbol == NO_SYMBOL {
                return Err("a hash has only the symbols 0-9 A-Z without I, L, O, U");
            }
            if position == 0 && symbol > MAX_FIRST {
                return Err("the first symbol of a hash is 0-9 or A-F");
            }
            value = (value << SYMBOL_BITS) | symbol as u64;
            position += 1;
        }
        Ok(NodeHash(value))
    }
}

/// Largest value of the first symbol, which has only 4 of the 64 bits.
const MAX_FIRST: u8 = 15;

/// Marks a byte in [`VALUES`] that is not a symbol. No symbol has this value.
const NO_SYMBOL: u8 = 0xff;

/// The value of every byte as a symbol, in upper and lower case. A table, because listing 10,000 heads reads 130,000 symbols.
const VALUES: [u8; 256] = {
    let mut values = [NO_SYMBOL; 256];
    let mut value = 0;
    while value < SYMBOLS.len() {
        values[SYMBOLS[value] as usize] = value as u8;
        values[SYMBOLS[value].to_ascii_lowercase() as usize] = value as u8;
        value += 1;
    }
    values
};

impl fmt::Display for NodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ascii = self.to_ascii();
        f.pad(std::str::from_utf8(&ascii).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for NodeHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for NodeHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<NodeHash, HashError> {
        NodeHash::parse(text.as_bytes()).map_err(|reason| HashError::new(text, reason))
    }
}

impl Serialize for NodeHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for NodeHash {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hash".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{13}$" })
    }
}

impl<'de> Deserialize<'de> for NodeHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NodeHash, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The hash of a payload under a type: XXH64 over `type_bytes ++ cbor`.
///
/// This is the raw function of the format's test vectors, which allow any bytes as a type. In a store, the type is always
/// [`NodeHash::to_ascii`] of the type's hash.
pub fn hash_bytes(type_bytes: &[u8], cbor: &[u8]) -> NodeHash {
    let mut hasher = XxHash64::with_seed(SEED);
    hasher.write(type_bytes);
    hasher.write(cbor);
    NodeHash(hasher.finish())
}

/// XXH64 of `bytes` alone: the hash of a self-typed node's payload.
pub fn xxh64(bytes: &[u8]) -> NodeHash {
    NodeHash(XxHash64::oneshot(SEED, bytes))
}

/// The beginning of a hash, as people type it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct HashPrefix {
    low: u64,
    high: u64,
}

impl HashPrefix {
    /// Minimum length: a shorter prefix matches by accident in every store.
    pub(crate) const MIN_LEN: usize = 4;

    /// Whether `hash` begins with this prefix.
    pub fn matches(&self, hash: NodeHash) -> bool {
        (self.low..=self.high).contains(&hash.0)
    }

    /// All hashes that begin with this prefix.
    pub fn range(&self) -> RangeInclusive<NodeHash> {
        NodeHash(self.low)..=NodeHash(self.high)
    }
}

impl FromStr for HashPrefix {
    type Err = HashError;

    fn from_str(text: &str) -> Result<HashPrefix, HashError> {
        if text.len() < HashPrefix::MIN_LEN {
            return Err(HashError::new(text, "give at least 4 symbols"));
        }
        if text.len() > NodeHash::LEN {
            return Err(HashError::new(text, "a hash has 13 symbols"));
        }
        let padded = |fill: u8| {
            let mut symbols = [fill; NodeHash::LEN];
            symbols[..text.len()].copy_from_slice(text.as_bytes());
            NodeHash::parse(&symbols).map_err(|reason| HashError::new(text, reason))
        };
        Ok(HashPrefix { low: padded(b'0')?.0, high: padded(b'Z')?.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_at_both_ends() {
        assert_eq!(NodeHash::from_u64(0).to_string(), "0000000000000");
        assert_eq!(NodeHash::from_u64(u64::MAX).to_string(), "FZZZZZZZZZZZZ");
        assert_eq!("fzzzzzzzzzzzz".parse::<NodeHash>().unwrap(), NodeHash::from_u64(u64::MAX));
        let pinned = const { NodeHash::literal("0000000000010") };
        assert_eq!(pinned.as_u64(), 32);
        assert_eq!(format!("{pinned:?}|{pinned:>15}"), "0000000000010|  0000000000010");
    }

    #[test]
    fn empty_input_has_the_published_hash() {
        assert_eq!(xxh64(b"").as_u64(), 0xEF46_DB37_51D8_E999);
        assert_eq!(hash_bytes(b"ab", b"c"), xxh64(b"abc"));
    }

    #[test]
    fn bad_texts_say_why() {
        let message = |text: &str| text.parse::<NodeHash>().unwrap_err().to_string();
        assert_eq!(message("ABC"), "`ABC` is not a hash: a hash has 13 symbols");
        assert_eq!(
            message("0000000000O00"),
            "`0000000000O00` is not a hash: a hash has only the symbols 0-9 A-Z without I, L, O, U"
        );
        assert_eq!(message("G000000000000"), "`G000000000000` is not a hash: the first symbol of a hash is 0-9 or A-F");
        assert!(!NodeHash::is_hash("é00000000000"));
    }

    #[test]
    fn prefixes_cover_their_range() {
        let prefix: HashPrefix = "0zk4".parse().unwrap();
        assert!(prefix.matches(NodeHash::literal("0ZK4000000000")));
        assert!(prefix.matches(NodeHash::literal("0ZK4ZZZZZZZZZ")));
        assert!(!prefix.matches(NodeHash::literal("0ZK5000000000")));
        assert_eq!(
            "0ZK".parse::<HashPrefix>().unwrap_err().to_string(),
            "`0ZK` is not a hash: give at least 4 symbols"
        );
        assert!("0ZKé".parse::<HashPrefix>().is_err());
    }

    #[test]
    fn serde_uses_the_text() {
        let hash = NodeHash::literal("0ZK4000000000");
        let text = serde_json::to_string(&hash).unwrap();
        assert_eq!(text, "\"0ZK4000000000\"");
        assert_eq!(serde_json::from_str::<NodeHash>(&text).unwrap(), hash);
    }
}
