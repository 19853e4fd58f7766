//! Nodes in the order in which they can be removed.

use crate::hash::Hash;

/// Nodes of which none refers to one of its own layer, or of one before it.
#[derive(Debug, Clone, Default)]
pub struct Layers(pub(super) Vec<Vec<Hash>>);

impl Layers {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// All nodes, in their order.
    pub fn nodes(&self) -> Vec<Hash> {
        self.0.concat()
    }

    /// Some of them after the first `from`, layer by layer.
    pub fn part(&self, mut from: usize, mut most: usize) -> Vec<&[Hash]> {
        let mut part = Vec::new();
        for layer in &self.0 {
            let rest = &layer[from.min(layer.len())..];
            from = from.saturating_sub(layer.len());
            let some = &rest[..most.min(rest.len())];
            most -= some.len();
            if !some.is_empty() {
                part.push(some);
            }
        }
        part
    }

    /// Keeps those that are to be removed.
    pub fn retain(&mut self, mut is_kept: impl FnMut(Hash) -> bool) {
        self.0.iter_mut().for_each(|layer| layer.retain(|hash| is_kept(*hash)));
        self.0.retain(|layer| !layer.is_empty());
    }

    /// Forgets the first ones.
    pub fn forget(&mut self, mut count: usize) {
        self.0.retain_mut(|layer| {
            let gone = count.min(layer.len());
            count -= gone;
            layer.drain(..gone);
            !layer.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_to_the_layers() {
        let hash = Hash::from_u64;
        let mut layers = Layers(vec![vec![hash(1), hash(2)], vec![hash(3)], vec![hash(4), hash(5), hash(6)]]);
        assert_eq!(layers.len(), 6);
        assert_eq!(layers.part(0, 2), [&[hash(1), hash(2)]]);
        assert_eq!(layers.part(1, 3), [&[hash(2)][..], &[hash(3)], &[hash(4)]]);
        assert_eq!(layers.part(5, 9), [&[hash(6)]]);
        assert_eq!(layers.part(6, 9), Vec::<&[Hash]>::new());
        layers.retain(|node| node != hash(3));
        layers.forget(3);
        assert_eq!(layers.nodes(), [hash(5), hash(6)]);
        layers.forget(2);
        assert!(layers.is_empty());
    }
}
